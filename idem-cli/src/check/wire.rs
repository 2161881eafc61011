//! HTTP/1.1, one connection a request, so that a body can be held back, cut short, or left behind. Knows no keys.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, Either, join_all, select};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::answer::Answer;
use super::flush::Watched;
use super::place::Place;
use super::tls::{self, Stream};

/// More than anybody's answer to a client.
const LARGEST_BODY: usize = 16 << 20;
/// How long those who are ready wait for one that does not get as far.
const STRAGGLER: Duration = Duration::from_secs(5);
/// How long a server has a request before its client goes.
pub(super) const HEAD_START: Duration = Duration::from_millis(300);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WireError {
    #[error("no connection: {0}")]
    Connect(#[source] io::Error),
    #[error("no TLS: {0}")]
    Tls(#[from] tls::TlsError),
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    #[error("no answer within {}", humantime::format_duration(*.0))]
    Silent(Duration),
    #[error("an answer of more than {LARGEST_BODY} bytes")]
    TooLarge,
    #[error("this cannot be sent: {0}")]
    Request(#[from] hyper::http::Error),
}

/// A request, ready to be sent.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The way to a server.
pub(super) struct Wire {
    place: Place,
    tls: Option<tls::Client>,
    patience: Duration,
}

/// A connection. Closed when dropped.
struct Line {
    sender: SendRequest<Upload>,
    driver: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Wire {
    pub(super) fn to(place: &Place, patience: Duration) -> Result<Self, WireError> {
        let tls = match place.is_secure {
            true => Some(tls::Client::to(&place.host)?),
            false => None,
        };
        Ok(Self {
            place: place.clone(),
            tls,
            patience,
        })
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) async fn send(&self, request: &Outgoing) -> Result<Answer, WireError> {
        self.patiently(async {
            let mut line = self.open(None).await?;
            line.ask(self.prepared(request, Upload::whole(&request.body))?)
                .await
        })
        .await
    }

    /// So many times the same, over as many connections: all but the last byte of each, and then all last bytes.
    pub(super) async fn send_together(
        &self,
        request: &Outgoing,
        times: usize,
    ) -> Result<Vec<Answer>, WireError> {
        let opened = join_all((0..times).map(|_| self.patiently(self.open(None)))).await;
        let barrier = Arc::new(Barrier::new(times));
        let asked = opened.into_iter().map(|line| {
            let barrier = Arc::clone(&barrier);
            self.patiently(async move {
                let everybody = async move {
                    let _ = timeout(STRAGGLER, barrier.wait()).await;
                };
                let upload = Upload::held(&request.body, Box::pin(everybody));
                line?.ask(self.prepared(request, upload)?).await
            })
        });
        join_all(asked).await.into_iter().collect()
    }

    /// Sends all of it, and resets the connection so long after it has left. Says whether an answer came first: then
    /// nobody hung up on anything.
    pub(super) async fn send_and_hang_up(
        &self,
        request: &Outgoing,
        after: Duration,
    ) -> Result<bool, WireError> {
        let sent = Arc::new(Notify::new());
        let watch = (Arc::clone(&sent), request.body.len());
        let mut line = self.patiently(self.open(Some(watch))).await?;
        let answer = line.ask(self.prepared(request, Upload::whole(&request.body))?);
        let gone = async {
            sent.notified().await;
            if !after.is_zero() {
                sleep(after).await;
            }
        };
        self.patiently(async {
            match select(pin!(answer), pin!(gone)).await {
                Either::Left((answer, _)) => answer.map(|_| true),
                Either::Right(_) => Ok(false),
            }
        })
        .await
    }

    /// Announces the whole body, sends half of it, and goes.
    pub(super) async fn send_half(&self, request: &Outgoing) -> Result<(), WireError> {
        let mut line = self.patiently(self.open(None)).await?;
        let upload = Upload::half(&request.body);
        let answer = line.ask(self.prepared(request, upload)?);
        let _ = timeout(HEAD_START, answer).await;
        drop(line);
        sleep(HEAD_START).await;
        Ok(())
    }

    async fn patiently<T>(
        &self,
        work: impl Future<Output = Result<T, WireError>>,
    ) -> Result<T, WireError> {
        let done = timeout(self.patience, work).await;
        done.unwrap_or(Err(WireError::Silent(self.patience)))
    }

    /// With a watch it is reset at its end, and tells when so many bytes and a head are sent.
    async fn open(&self, watch: Option<(Arc<Notify>, usize)>) -> Result<Line, WireError> {
        let address = (self.place.host.as_str(), self.place.port);
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(WireError::Connect)?;
        stream.set_nodelay(true).map_err(WireError::Connect)?;
        if watch.is_some() {
            stream.set_zero_linger().map_err(WireError::Connect)?;
        }
        let stream: Box<dyn Stream> = match &self.tls {
            Some(client) => Box::new(client.connect(stream).await?),
            None => Box::new(stream),
        };
        let stream = match watch {
            Some((sent, body)) => Box::new(Watched::new(stream, sent, body)),
            None => stream,
        };
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // How it ended is told to whoever waits for the answer.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Line { sender, driver })
    }

    fn prepared(&self, request: &Outgoing, body: Upload) -> Result<Request<Upload>, WireError> {
        let mut prepared = Request::builder()
            .method(&request.method)
            .uri(&request.target)
            .body(body)?;
        let headers = prepared.headers_mut();
        headers.clone_from(&request.headers);
        if !headers.contains_key(HOST) {
            let host = HeaderValue::try_from(self.place.authority.as_str());
            headers.insert(HOST, host.map_err(hyper::http::Error::from)?);
        }
        Ok(prepared)
    }
}

impl Line {
    async fn ask(&mut self, request: Request<Upload>) -> Result<Answer, WireError> {
        let response = self.sender.send_request(request).await?;
        whole(response).await
    }
}

async fn whole(response: Response<Incoming>) -> Result<Answer, WireError> {
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            body.extend_from_slice(&data);
        }
        if body.len() > LARGEST_BODY {
            return Err(WireError::TooLarge);
        }
    }
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: body.into(),
        at: Instant::now(),
    })
}

/// A body whose last part goes when its gate is open.
struct Upload {
    first: Option<Bytes>,
    gate: Option<BoxFuture<'static, ()>>,
    last: Option<Bytes>,
}

impl Upload {
    fn whole(body: &Bytes) -> Self {
        Self {
            first: None,
            gate: None,
            last: Some(body.clone()).filter(|body| !body.is_empty()),
        }
    }

    fn held(body: &Bytes, gate: BoxFuture<'static, ()>) -> Self {
        Self::split(body, body.len().saturating_sub(1), gate)
    }

    fn half(body: &Bytes) -> Self {
        Self::split(body, body.len() / 2, Box::pin(pending()))
    }

    fn split(body: &Bytes, at: usize, gate: BoxFuture<'static, ()>) -> Self {
        let part = |part: Bytes| Some(part).filter(|part| !part.is_empty());
        Self {
            first: part(body.slice(..at)),
            gate: Some(gate),
            last: part(body.slice(at..)),
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some(gate) = &mut self.gate {
            ready!(gate.as_mut().poll(context));
            self.gate = None;
        }
        Poll::Ready(self.last.take().map(|last| Ok(Frame::data(last))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.last.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = |part: &Option<Bytes>| part.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact((length(&self.first) + length(&self.last)) as u64)
    }
}
