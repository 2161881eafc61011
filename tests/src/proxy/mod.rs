//! A proxy between the application and its database server: it reads the wire, counts round trips, cuts a connection at a chosen
//! statement and can make the server unreachable.

mod mysql;
mod postgres;
mod protocol;
mod pump;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{Backend, Database};

/// A statement as the server was told to run it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Which connection, counted from 0.
    pub connection: usize,
    /// Which round trip of that connection. Only exact while [`Proxy::hold`] is on.
    pub round: usize,
    /// Its text; a message may hold several statements.
    pub sql: String,
}

/// Where to cut a connection.
#[derive(Clone, Debug)]
pub enum Cut {
    /// In front of the first message whose SQL contains this: the server never sees it. One word stands for itself, and
    /// not for a longer one: `COMMIT` is not in `READ COMMITTED`.
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
    backend: Backend,
    server: String,
    sent: Mutex<Vec<Sent>>,
    rounds: Mutex<Vec<(usize, usize)>>,
    cut: Mutex<Option<Cut>>,
    hold: Mutex<Option<Duration>>,
    next: AtomicUsize,
    is_up: AtomicBool,
    /// Counts how often the proxy was taken down: a connection lives within one.
    era: watch::Sender<u64>,
    open: watch::Sender<usize>,
}

/// Counts as an open connection for as long as it lives.
struct Open<'a>(&'a State);

impl Proxy {
    /// A proxy to the server of this database.
    pub async fn to(database: &Database) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            backend: database.backend(),
            server: server_of(database.url()),
            sent: Mutex::default(),
            rounds: Mutex::default(),
            cut: Mutex::default(),
            hold: Mutex::default(),
            next: AtomicUsize::new(0),
            is_up: AtomicBool::new(true),
            era: watch::Sender::new(0),
            open: watch::Sender::new(0),
        });
        let url = way(database, address);
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
    pub async fn take_down(&self) {
        self.state.is_up.store(false, Ordering::SeqCst);
        self.state.era.send_modify(|era| *era += 1);
        let mut open = self.state.open.subscribe();
        let _ = open.wait_for(|open| *open == 0).await;
    }

    /// Accepts connections again.
    pub fn bring_up(&self) {
        self.state.is_up.store(true, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.state.era.send_modify(|era| *era += 1);
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
        if holds(sql, text) { cut.take() } else { None }
    }
}

fn holds(sql: &str, text: &str) -> bool {
    let is_in_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    match text.chars().all(is_in_word) {
        true => sql.split(|sign| !is_in_word(sign)).any(|word| word == text),
        false => sql.contains(text),
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        if !state.is_up.load(Ordering::SeqCst) {
            continue;
        }
        let mut era = state.era.subscribe();
        let now = *era.borrow();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let _open = Open::new(&state);
            let number = state.next.fetch_add(1, Ordering::Relaxed);
            let Ok(server) = TcpStream::connect(&state.server).await else {
                return;
            };
            tokio::select! {
                _ = era.wait_for(|era| *era != now) => {}
                _ = pump::run(client, server, number, &state) => {}
            }
        });
    }
}

impl<'a> Open<'a> {
    fn new(state: &'a State) -> Self {
        state.open.send_modify(|open| *open += 1);
        Self(state)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

/// The database through the proxy. mysql_async would take a socket instead, where the server tells it of one.
fn way(database: &Database, address: SocketAddr) -> String {
    let url = with_address(database.url(), address);
    match (database.backend(), url.contains('?')) {
        (Backend::Mysql, false) => format!("{url}?prefer_socket=false"),
        (Backend::Mysql, true) => format!("{url}&prefer_socket=false"),
        _ => url,
    }
}

/// `HOST:PORT` of the server that a URL names.
pub fn server_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let authority = rest.split(['/', '?']).next().expect("a server");
    let server = authority
        .rsplit_once('@')
        .map_or(authority, |(_, server)| server);
    match (server.contains(':'), scheme) {
        (true, _) => server.into(),
        (false, "mysql") => format!("{server}:3306"),
        (false, _) => format!("{server}:5432"),
    }
}

/// The same database by another way.
pub fn with_address(url: &str, address: SocketAddr) -> String {
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
