//! An HTTP endpoint of the tests' own: whoever starts it sees each request, and says what is answered, or that nothing is.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What it does with a request.
#[derive(Clone)]
pub enum Reaction {
    /// These bytes, and the connection stays.
    Answer(String),
    /// Nothing ever comes.
    Silence,
    /// The connection is reset.
    Reset,
}

/// A request that has arrived.
#[derive(Clone, Debug)]
pub struct Got {
    /// Method and target.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// All of it.
    pub body: Vec<u8>,
    /// Which connection it came over.
    pub connection: usize,
}

/// Listens until it is dropped.
pub struct Hook {
    address: SocketAddr,
    listener: JoinHandle<()>,
}

impl Hook {
    /// Asks what to do with each request, once it is there as a whole.
    pub async fn start(react: impl Fn(Got) -> Reaction + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        Self {
            address,
            listener: tokio::spawn(listen(listener, Arc::new(react))),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Got {
    /// The one value of this header.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} comes twice");
        Some(String::from_utf8(value.clone()).expect("text"))
    }
}

impl Reaction {
    /// An answer with these further header lines, each with its line end.
    pub fn answer(status: u16, headers: &str) -> Self {
        let rest = match status {
            204 | 304 => "\r\n",
            _ => "content-length: 2\r\n\r\nok",
        };
        Self::Answer(format!("HTTP/1.1 {status} Whatever\r\n{headers}{rest}"))
    }
}

async fn listen(
    listener: TcpListener,
    react: Arc<impl Fn(Got) -> Reaction + Send + Sync + 'static>,
) {
    let mut connection = 0;
    while let Ok((stream, _)) = listener.accept().await {
        let react = Arc::clone(&react);
        tokio::spawn(async move { serve(stream, connection, &*react).await });
        connection += 1;
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    react: &(impl Fn(Got) -> Reaction + Sync),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(got) = read(&mut stream, &mut buffer, connection).await? {
        match react(got) {
            Reaction::Answer(answer) => stream.write_all(answer.as_bytes()).await?,
            // Until the other side has had enough.
            Reaction::Silence => while stream.read_buf(&mut buffer).await? > 0 {},
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
