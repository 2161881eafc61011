//! One connection: whole requests, half requests, and hanging up.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Request, Response};

const PATIENCE: Duration = Duration::from_secs(30);
const HEADERS: usize = 64;

/// A connection to a server.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

struct Head {
    response: Response,
    length: Option<usize>,
    is_chunked: bool,
}

impl Connection {
    /// A new connection.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends a request and waits for its response.
    pub async fn send(&mut self, request: &Request) -> io::Result<Response> {
        // A server that refuses early may have closed its side before we are through: its answer counts.
        let written = self.write(&request.encode()).await;
        match self.read(request.is_head()).await {
            Err(error) => Err(written.err().unwrap_or(error)),
            answered => answered,
        }
    }

    /// Sends some bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Waits for a response.
    pub async fn read(&mut self, is_head: bool) -> io::Result<Response> {
        timeout(PATIENCE, self.read_patiently(is_head)).await?
    }

    /// Goes away with a reset, as a client that crashes.
    pub fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    async fn read_patiently(&mut self, is_head: bool) -> io::Result<Response> {
        let Head {
            mut response,
            length,
            is_chunked,
        } = loop {
            match self.take_head()? {
                // Only `100 Continue` comes in front of the answer.
                Some(head) if head.response.status >= 200 => break head,
                Some(_) => {}
                None => self.fill().await?,
            }
        };
        let has_no_body = is_head || matches!(response.status, 204 | 304);
        response.body = match length {
            _ if has_no_body => Vec::new(),
            _ if is_chunked => self.chunks().await?,
            Some(length) => self.exactly(length).await?,
            None => self.rest().await?,
        };
        Ok(response)
    }

    fn take_head(&mut self) -> io::Result<Option<Head>> {
        let mut lines = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Response::new(&mut lines);
        let status = parsed.parse(&self.buffer).map_err(invalid)?;
        let httparse::Status::Complete(end) = status else {
            return Ok(None);
        };
        let headers = parsed
            .headers
            .iter()
            .map(|line| (line.name.to_owned(), line.value.to_vec()))
            .collect();
        let response = Response {
            status: parsed.code.unwrap_or_default(),
            headers,
            body: Vec::new(),
        };
        let length = response
            .header("Content-Length")
            .and_then(|length| length.parse().ok());
        let is_chunked = response.header("Transfer-Encoding") == Some("chunked");
        self.buffer.drain(..end);
        Ok(Some(Head {
            response,
            length,
            is_chunked,
        }))
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let (start, size) = loop {
                match httparse::parse_chunk_size(&self.buffer).map_err(|_| invalid("chunk size"))? {
                    httparse::Status::Complete((start, size)) => {
                        break (start, usize::try_from(size).map_err(invalid)?);
                    }
                    httparse::Status::Partial => self.fill().await?,
                }
            };
            self.buffer.drain(..start);
            let chunk = self.exactly(size).await?;
            self.exactly(2).await?;
            if chunk.is_empty() {
                return Ok(body);
            }
            body.extend(chunk);
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn rest(&mut self) -> io::Result<Vec<u8>> {
        while self.stream.read_buf(&mut self.buffer).await? > 0 {}
        Ok(std::mem::take(&mut self.buffer))
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error.to_string())
}
