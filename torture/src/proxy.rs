//! A TCP proxy that does harm when told to: cuts every connection at once, cuts one after some bytes, delays. Knows no
//! protocol, and decides nothing by itself.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the server.
    Up,
    /// To the client.
    Down,
}

/// The proxy; gone when dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    listener: JoinHandle<()>,
}

struct State {
    server: Mutex<Option<SocketAddr>>,
    /// Counts how often everything was cut.
    era: watch::Sender<u64>,
    /// The next connection that sends something that way is cut after so many bytes.
    cut: Mutex<Option<(Way, usize)>>,
    slow: Mutex<Option<(Instant, Duration)>>,
}

/// One connection's own.
struct Pipe<'a> {
    state: &'a State,
    /// Which way, and how many bytes until it is cut.
    left: Option<(Way, usize)>,
}

impl Proxy {
    /// One that leads nowhere yet.
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            server: Mutex::default(),
            era: watch::Sender::new(0),
            cut: Mutex::default(),
            slow: Mutex::default(),
        });
        let listener = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self {
            address,
            state,
            listener,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where new connections go from now on; nowhere, and they are closed.
    pub(crate) fn lead_to(&self, server: Option<SocketAddr>) {
        *lock(&self.state.server) = server;
    }

    pub(crate) fn cut_all(&self) {
        self.state.era.send_modify(|era| *era += 1);
    }

    pub(crate) fn cut_one(&self, way: Way, after: usize) {
        *lock(&self.state.cut) = Some((way, after));
    }

    /// Everything takes so much longer, for so long.
    pub(crate) fn slow_down(&self, by: Duration, during: Duration) {
        *lock(&self.state.slow) = Some((Instant::now() + during, by));
    }

    /// No harm is left over.
    pub(crate) fn heal(&self) {
        *lock(&self.state.cut) = None;
        *lock(&self.state.slow) = None;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.cut_all();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        let Some(server) = *lock(&state.server) else {
            continue;
        };
        let mut era = state.era.subscribe();
        let now = *era.borrow();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut client = client;
            let Ok(mut server) = TcpStream::connect(server).await else {
                return;
            };
            let mut pipe = Pipe {
                state: &state,
                left: None,
            };
            tokio::select! {
                _ = era.wait_for(|era| *era != now) => {
                    // As from a host that is gone: without good-bye.
                    let _ = client.set_zero_linger();
                    let _ = server.set_zero_linger();
                }
                _ = pipe.run(&mut client, &mut server) => {}
            }
        });
    }
}

impl Pipe<'_> {
    /// Until one of the two goes away, or the cut.
    async fn run(&mut self, client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut up, mut down) = (vec![0; 1 << 14], vec![0; 1 << 14]);
        loop {
            let goes_on = tokio::select! {
                count = client.read(&mut up) => self.pass(Way::Up, &up[..count?], server).await?,
                count = server.read(&mut down) => self.pass(Way::Down, &down[..count?], client).await?,
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// False where the connection is to end.
    async fn pass(&mut self, way: Way, bytes: &[u8], to: &mut TcpStream) -> io::Result<bool> {
        if bytes.is_empty() {
            return Ok(false);
        }
        if let Some(delay) = self.state.delay() {
            tokio::time::sleep(delay).await;
        }
        if self.left.is_none() {
            self.left = lock(&self.state.cut).take_if(|(chosen, _)| *chosen == way);
        }
        match &mut self.left {
            Some((chosen, left)) if *chosen == way => {
                let count = bytes.len().min(*left);
                to.write_all(&bytes[..count]).await?;
                *left -= count;
                Ok(*left > 0)
            }
            _ => {
                to.write_all(bytes).await?;
                Ok(true)
            }
        }
    }
}

impl State {
    fn delay(&self) -> Option<Duration> {
        let slow = lock(&self.slow);
        let (until, by) = slow.as_ref()?;
        (Instant::now() < *until).then_some(*by)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
