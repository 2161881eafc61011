//! The one connection to a RabbitMQ: made when it is wanted, and made anew when it is lost. Publishes
//! nothing.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use lapin::runtime::default_runtime;
use lapin::tcp::{AMQPUriTcpExt, TLSConfig};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, Error};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::dispatcher::{self, DefaultGuard, Dispatch};

/// How long an attempt to connect may take. A broker that is starting takes connections that it answers
/// late.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many attempts that were left may still hold a connection to a broker that says nothing.
const MOST_LEFT: usize = 4;

/// In seconds, unless the URL says something else: one that is gone without a word is noticed after two.
const HEARTBEAT: u16 = 10;

thread_local! {
    /// Of the thread that the client has for a connection, and ends with it. There it logs what it reads, whole
    /// messages included, which may hold somebody's secrets.
    static SILENCE: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

pub(super) struct Link {
    uri: AMQPUri,
    state: Mutex<State>,
    /// Shared with the thread that the client has for each connection.
    lines: Arc<()>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    attempt: Option<Attempt>,
}

/// Goes on when whoever waited for it has no time left. It cannot be called off once its TCP connection
/// stands, only be left, and then it ends with that.
struct Attempt {
    since: Instant,
    task: JoinHandle<Result<Connection, Error>>,
}

impl Link {
    pub(super) fn to(mut uri: AMQPUri) -> Self {
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        Self {
            uri,
            state: Mutex::default(),
            lines: Arc::default(),
        }
    }

    /// The connection. May be dropped while it waits: who comes next waits on.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Error> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection
            && connection.status().connected()
        {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        let is_late = |attempt: &mut Attempt| attempt.since.elapsed() > PATIENCE;
        if let Some(attempt) = state.attempt.take_if(is_late) {
            attempt.task.abort();
        }
        if state.attempt.is_none() && Arc::strong_count(&self.lines) > MOST_LEFT {
            let silent = "connections that the broker has taken and does not answer are still open";
            return Err(io::Error::other(silent).into());
        }
        let attempt = state.attempt.get_or_insert_with(|| Attempt {
            since: Instant::now(),
            task: tokio::spawn(connect(self.uri.clone(), Arc::clone(&self.lines))),
        });
        let outcome = (&mut attempt.task).await;
        state.attempt = None;
        let connection = Arc::new(outcome.map_err(io::Error::other)??);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

async fn connect(uri: AMQPUri, line: Arc<()>) -> Result<Connection, Error> {
    let reach = async move |uri: AMQPUri, runtime| {
        let _line = &line;
        SILENCE.with_borrow_mut(|silence| {
            silence.get_or_insert_with(|| dispatcher::set_default(&Dispatch::none()));
        });
        let is_secret = uri.scheme == AMQPScheme::AMQPS;
        let stream = uri.connect_with_config_async(TLSConfig::default(), &runtime);
        let stream = timeout(PATIENCE, stream).await.map_err(io::Error::from)??;
        // Without TLS built in, the client connects in plain, whatever the scheme says; nothing is sent yet.
        if is_secret && matches!(stream, AsyncTcpStream::Plain(_)) {
            let plain = "amqps needs one of lapin's TLS features";
            return Err(io::Error::new(io::ErrorKind::Unsupported, plain).into());
        }
        Ok::<_, Error>(stream)
    };
    let properties = ConnectionProperties::default();
    Connection::connector(uri, default_runtime()?, reach, properties).await
}
