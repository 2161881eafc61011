//! An HTTP endpoint of the tests' own: it keeps what it gets, and answers as it is told, or not at all.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What it does with a request.
#[derive(Clone)]
pub(crate) enum Reaction {
    /// These bytes, and the connection stays.
    Answer(String),
    /// Nothing ever comes.
    Silence,
    /// The connection is reset.
    Reset,
}

/// A request that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Which connection it came over.
    pub(crate) connection: usize,
}

/// Listens until it is dropped.
pub(crate) struct Hook {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

struct Shared {
    reaction: Mutex<Reaction>,
    got: Mutex<Vec<Got>>,
}

impl Hook {
    pub(crate) async fn start(reaction: Reaction) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            reaction: Mutex::new(reaction),
            got: Mutex::default(),
        });
        let listen = listen(listener, Arc::clone(&shared));
        Self {
            address,
            shared,
            listener: tokio::spawn(listen),
        }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hooks?a=b", self.address)
    }

    pub(crate) fn react(&self, reaction: Reaction) {
        *self.shared.reaction.lock().unwrap() = reaction;
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap().clone()
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Got {
    /// The one value of this header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} comes twice");
        Some(String::from_utf8(value.clone()).expect("text"))
    }
}

/// An answer with these further header lines, each with its line end.
pub(crate) fn answer(status: u16, headers: &str) -> Reaction {
    let rest = match status {
        204 | 304 => "\r\n",
        _ => "content-length: 2\r\n\r\nok",
    };
    Reaction::Answer(format!("HTTP/1.1 {status} Whatever\r\n{headers}{rest}"))
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connection = 0;
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { serve(stream, connection, &shared).await });
        connection += 1;
    }
}

async fn serve(mut stream: TcpStream, connection: usize, shared: &Shared) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(got) = read(&mut stream, &mut buffer, connection).await? {
        shared.got.lock().unwrap().push(got);
        let reaction = shared.reaction.lock().unwrap().clone();
        match reaction {
            Reaction::Answer(answer) => stream.write_all(answer.as_bytes()).await?,
            Reaction::Silence => tokio::time::sleep(Duration::from_secs(3600)).await,
            Reaction::Reset => {
                stream.set_zero_linger()?;
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn read(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Got>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = request.parse(buffer) {
            let mut got = Got {
                line: format!("{} {}", request.method.unwrap(), request.path.unwrap()),
                headers: Vec::new(),
                body: Vec::new(),
                connection,
            };
            for header in request.headers {
                let value = header.value.to_vec();
                got.headers.push((header.name.to_lowercase(), value));
            }
            let length = got.header("content-length").expect("a length");
            let end = head + length.parse::<usize>().expect("a number");
            while buffer.len() < end {
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
            got.body = buffer[head..end].to_vec();
            buffer.drain(..end);
            return Ok(Some(got));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
