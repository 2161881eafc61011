//! A server over raw TCP that keeps its promise about keys, and breaks off where a test says. It counts effects.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What becomes of the next request; without any, it is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Turn {
    /// The connection is accepted and closed, and nothing of it read.
    CloseUnread,
    /// A part of the request is read.
    CloseHalfRead,
    /// All of it is read, and nothing done.
    CloseBefore,
    /// The operation is done, and nothing said.
    CloseBehind,
    /// It is done, and half of the head said.
    CutHead,
    /// It is done, and half of the body said.
    CutBody,
    /// It is done, and nothing said while the client stays.
    Stall,
    /// This is said, and nothing done.
    Say(&'static str),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Instant,
}

/// The server; gone when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    listener: JoinHandle<()>,
}

struct State {
    turns: Mutex<VecDeque<Turn>>,
    received: Mutex<Vec<Received>>,
    count: watch::Sender<usize>,
    /// By key.
    records: Mutex<HashMap<Vec<u8>, Record>>,
    key_header: &'static str,
    marker: &'static str,
}

/// The body that a key was used for, and the number of its effect.
type Record = (Vec<u8>, usize);

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let mut found = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_slice());
        assert!(found.next().is_none(), "{name} stands there twice");
        value
    }
}

impl Server {
    pub(crate) async fn start(turns: &[Turn]) -> Self {
        let names = ("idempotency-key", "Idempotent-Replayed: true");
        Self::at(([127, 0, 0, 1], 0).into(), turns, names).await
    }

    pub(crate) async fn at(
        address: SocketAddr,
        turns: &[Turn],
        (key_header, marker): (&'static str, &'static str),
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            turns: Mutex::new(turns.iter().copied().collect()),
            received: Mutex::default(),
            count: watch::Sender::new(0),
            records: Mutex::default(),
            key_header,
            marker,
        });
        let shared = Arc::clone(&state);
        let listener = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _ = state.talk(stream).await;
                });
            }
        });
        Self {
            address,
            state,
            listener,
        }
    }

    /// An address where nobody listens.
    pub(crate) async fn nowhere() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        listener.local_addr().expect("an address")
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/orders", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        lock(&self.state.received).clone()
    }

    /// How many operations were done.
    pub(crate) fn effects(&self) -> usize {
        lock(&self.state.records).len()
    }

    /// Returns when so many whole requests have come.
    pub(crate) async fn has_received(&self, count: usize) {
        let mut seen = self.state.count.subscribe();
        seen.wait_for(|seen| *seen >= count)
            .await
            .expect("a server");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl State {
    async fn talk(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            let turn = lock(&self.turns).front().copied();
            if matches!(turn, Some(Turn::CloseUnread | Turn::CloseHalfRead)) {
                if turn == Some(Turn::CloseHalfRead) {
                    stream.read_u8().await?;
                }
                lock(&self.turns).pop_front();
                return Ok(());
            }
            let Some(request) = read(&mut stream, &mut bytes).await? else {
                return Ok(());
            };
            let turn = lock(&self.turns).pop_front();
            let answer = match turn {
                Some(Turn::Say(answer)) => answer.to_owned(),
                Some(Turn::CloseBefore) => String::new(),
                _ => self.serve(&request),
            };
            lock(&self.received).push(request);
            self.count.send_modify(|count| *count += 1);
            let said = match turn {
                Some(Turn::CloseBefore | Turn::CloseBehind) => 0,
                Some(Turn::CutHead) => answer.len() / 4,
                Some(Turn::CutBody) => answer.len() - 5,
                Some(Turn::Stall) => {
                    let _ = stream.read_u8().await;
                    0
                }
                Some(Turn::Say(_)) | None => answer.len(),
                Some(Turn::CloseUnread | Turn::CloseHalfRead) => 0,
            };
            stream.write_all(&answer.as_bytes()[..said]).await?;
            if said < answer.len() || answer.is_empty() {
                return Ok(());
            }
        }
    }

    /// What a server that follows the draft does.
    fn serve(&self, request: &Received) -> String {
        let is_idempotent = matches!(&*request.method, "GET" | "PUT" | "DELETE");
        let Some(key) = request.header(self.key_header) else {
            return match is_idempotent {
                true => answer("200 OK", "", "fine"),
                false => problem("400 Bad Request", "idempotency-key-missing"),
            };
        };
        let mut records = lock(&self.records);
        let next = records.len();
        match records.get(key) {
            Some((body, _)) if *body != request.body => {
                problem("422 Unprocessable Content", "idempotency-key-reused")
            }
            Some((_, number)) => answer("201 Created", self.marker, &format!("order {number}")),
            None => {
                records.insert(key.to_vec(), (request.body.clone(), next));
                answer("201 Created", "", &format!("order {next}"))
            }
        }
    }
}

fn answer(status: &str, header: &str, body: &str) -> String {
    let header = match header {
        "" => String::new(),
        header => format!("{header}\r\n"),
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{header}content-length: {length}\r\n\r\n{body}")
}

fn problem(status: &str, code: &str) -> String {
    let body = format!(r#"{{"code":"{code}","retryable":false}}"#);
    answer(status, "content-type: application/problem+json", &body)
}

/// The next whole request, or nothing where the client has gone.
async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<Option<Received>> {
    loop {
        if let Some((request, length)) = parse(bytes) {
            bytes.drain(..length);
            return Ok(Some(request));
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(bytes: &[u8]) -> Option<(Received, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes).expect("HTTP") {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return None,
    };
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), header.value.to_vec()))
        .collect();
    let mut received = Received {
        method: request.method?.to_owned(),
        headers,
        body: Vec::new(),
        at: Instant::now(),
    };
    let length = received.header("content-length").map_or(0, |length| {
        std::str::from_utf8(length)
            .expect("digits")
            .parse()
            .expect("a number")
    });
    received.body = bytes.get(head..head + length)?.to_vec();
    Some((received, head + length))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics under it")
}
