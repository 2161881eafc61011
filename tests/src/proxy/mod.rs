//! A proxy between the application and PostgreSQL: it reads the wire, counts round trips, cuts a connection at a chosen
//! statement and can make the server unreachable.

mod message;
mod pump;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::config::Host;

use crate::{Backend, Database};

/// A statement as the server was told to run it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Which connection, counted from 0.
    pub connection: usize,
    /// Which round trip of that connection. Only exact while [`Proxy::hold`] is on.
    pub round: usize,
    /// Its text; a simple query may hold several statements.
    pub sql: String,
}

/// Where to cut a connection.
#[derive(Clone, Debug)]
pub enum Cut {
    /// In front of the first message whose SQL contains this: the server never sees it.
    Before(String),
    /// Behind it: the server has answered, the client never sees the answer.
    After(String),
}

/// The proxy; gone when dropped.
pub struct Proxy {
    state: Arc<State>,
    url: String,
    listener: JoinHandle<()>,
}

struct State {
    server: String,
    sent: Mutex<Vec<Sent>>,
    rounds: Mutex<Vec<(usize, usize)>>,
    cut: Mutex<Option<Cut>>,
    hold: Mutex<Option<Duration>>,
    next: AtomicUsize,
    is_up: watch::Sender<bool>,
}

impl Proxy {
    /// A proxy to the server of this database.
    pub async fn to(database: &Database) -> Self {
        assert_eq!(database.backend(), Backend::Postgres, "SQLite has no wire");
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            server: server_of(database.url()),
            sent: Mutex::default(),
            rounds: Mutex::default(),
            cut: Mutex::default(),
            hold: Mutex::default(),
            next: AtomicUsize::new(0),
            is_up: watch::Sender::new(true),
        });
        let url = with_address(database.url(), address);
        let listener = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self {
            state,
            url,
            listener,
        }
    }

    /// The database's URL through this proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Forgets what was sent so far.
    pub fn clear(&self) {
        lock(&self.state.sent).clear();
        lock(&self.state.rounds).clear();
    }

    /// What was sent since [`Self::clear`], in order.
    pub fn sent(&self) -> Vec<Sent> {
        lock(&self.state.sent).clone()
    }

    /// Round trips since [`Self::clear`], also those that only prepare.
    pub fn round_trips(&self) -> usize {
        lock(&self.state.rounds).len()
    }

    /// Keeps every answer of the server back until the client has been quiet for so long. What a client sends before
    /// it has an answer does not depend on the answer, so this makes round trips countable.
    pub fn hold(&self, quiet: Duration) {
        *lock(&self.state.hold) = Some(quiet);
    }

    /// Cuts one connection, the first that comes there.
    pub fn cut(&self, cut: Cut) {
        *lock(&self.state.cut) = Some(cut);
    }

    /// Whether a cut is still to come.
    pub fn is_cut_pending(&self) -> bool {
        lock(&self.state.cut).is_some()
    }

    /// Closes all connections and refuses new ones.
    pub fn take_down(&self) {
        self.state.is_up.send_replace(false);
    }

    /// Accepts connections again.
    pub fn bring_up(&self) {
        self.state.is_up.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.state.is_up.send_replace(false);
    }
}

impl State {
    fn record(&self, connection: usize, round: usize, sql: Option<&str>) {
        let mut rounds = lock(&self.rounds);
        if !rounds.contains(&(connection, round)) {
            rounds.push((connection, round));
        }
        if let Some(sql) = sql {
            lock(&self.sent).push(Sent {
                connection,
                round,
                sql: sql.into(),
            });
        }
    }

    /// Takes the cut if it is to come at this SQL.
    fn take_cut(&self, sql: &str) -> Option<Cut> {
        let mut cut = lock(&self.cut);
        let (Cut::Before(text) | Cut::After(text)) = cut.as_ref()?;
        if sql.contains(text.as_str()) {
            cut.take()
        } else {
            None
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        if !*state.is_up.borrow() {
            continue;
        }
        let number = state.next.fetch_add(1, Ordering::Relaxed);
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut is_up = state.is_up.subscribe();
            let Ok(server) = TcpStream::connect(&state.server).await else {
                return;
            };
            tokio::select! {
                _ = is_up.wait_for(|is_up| !is_up) => {}
                _ = pump::run(client, server, number, &state) => {}
            }
        });
    }
}

fn server_of(url: &str) -> String {
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => format!("{host}:{port}"),
        other => panic!("the proxy speaks TCP, not {other:?}"),
    }
}

fn with_address(url: &str, address: SocketAddr) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (authority, path) = rest.split_once('/').expect("a database");
    match authority.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{user}@{address}/{path}"),
        None => format!("{scheme}://{address}/{path}"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
