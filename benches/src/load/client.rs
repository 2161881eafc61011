//! One connection of the load: request, answer, request, answer. Keeps nothing but how long each took.

use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;
use crate::traffic::{Keys, Template, Traffic, fresh_keys, key_text};

use super::{Latencies, Until};

const HEADERS: usize = 32;
const BUFFER: usize = 128 * 1024;

pub(super) struct Client {
    stream: TcpStream,
    template: Template,
    keys: KeySource,
    response: usize,
    buffer: Vec<u8>,
    filled: usize,
}

/// Which key is next on this connection, and whether it is known by then.
struct KeySource {
    keys: Keys,
    current: u64,
    /// How often the current one has been sent.
    sent: u64,
}

struct Head {
    status: u16,
    is_replay: bool,
    /// Head and body together.
    size: usize,
    body: usize,
}

impl Client {
    pub(super) async fn connect(
        address: SocketAddr,
        traffic: &Traffic,
        number: usize,
    ) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            template: traffic.template(),
            keys: KeySource::new(traffic.keys.clone(), number as u64),
            response: traffic.response(),
            buffer: vec![0; BUFFER],
            filled: 0,
        })
    }

    pub(super) async fn run(mut self, start: Instant, until: Until) -> Outcome<Latencies> {
        let mut latencies = Latencies::default();
        loop {
            if let Until::Answers(count) = until
                && latencies.count() as u64 >= count
            {
                return Ok(latencies);
            }
            let sent = Instant::now();
            self.exchange().await?;
            let answered = Instant::now();
            if let Until::Elapsed(duration) = until
                && answered - start > duration
            {
                // This one did not come in time, so it does not count.
                return Ok(latencies);
            }
            latencies.push(answered - sent);
        }
    }

    async fn exchange(&mut self) -> Outcome {
        let (key, is_known) = self.keys.next();
        self.template.wire[self.template.key.clone()].copy_from_slice(key_text(key).as_bytes());
        self.stream.write_all(&self.template.wire).await?;
        let head = loop {
            match self.head()? {
                Some(head) => break head,
                None => self.fill().await?,
            }
        };
        while self.filled < head.size {
            self.fill().await?;
        }
        let is_expected = head.status == 200
            && head.is_replay == is_known
            && self.filled == head.size
            && head.body == self.response;
        if !is_expected {
            let answer = String::from_utf8_lossy(&self.buffer[..self.filled.min(1000)]);
            return Err(format!("an answer that is not the expected one: {answer}").into());
        }
        self.filled = 0;
        Ok(())
    }

    fn head(&self) -> Outcome<Option<Head>> {
        let mut lines = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Response::new(&mut lines);
        let httparse::Status::Complete(end) = parsed.parse(&self.buffer[..self.filled])? else {
            return Ok(None);
        };
        let value = |name: &str| {
            let line = parsed
                .headers
                .iter()
                .find(|line| line.name.eq_ignore_ascii_case(name));
            line.and_then(|line| std::str::from_utf8(line.value).ok())
        };
        let length: usize = value("Content-Length")
            .ok_or("an answer without a length")?
            .parse()?;
        Ok(Some(Head {
            status: parsed.code.unwrap_or_default(),
            is_replay: value("Idempotent-Replayed") == Some("true"),
            size: end + length,
            body: length,
        }))
    }

    async fn fill(&mut self) -> Outcome {
        match self.stream.read(&mut self.buffer[self.filled..]).await? {
            0 => Err("the application hung up, or its answer is too long".into()),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }
}

impl KeySource {
    fn new(keys: Keys, number: u64) -> Self {
        let current = match &keys {
            Keys::Recorded(range) => range.start + number % (range.end - range.start),
            Keys::New(range) => range.start,
            Keys::Fresh | Keys::Retried(_) => 0,
        };
        Self {
            keys,
            current,
            sent: 0,
        }
    }

    fn next(&mut self) -> (u64, bool) {
        match &self.keys {
            Keys::Fresh => (fresh_keys(1).start, false),
            Keys::New(_) => {
                self.current += 1;
                (self.current - 1, false)
            }
            Keys::Recorded(range) => {
                let key = self.current;
                self.current += 1;
                if self.current >= range.end {
                    self.current = range.start;
                }
                (key, true)
            }
            Keys::Retried(retries) => {
                if self.sent == 0 {
                    self.current = fresh_keys(1).start;
                }
                let is_known = self.sent > 0;
                self.sent = (self.sent + 1) % (retries + 1);
                (self.current, is_known)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_attempt_is_followed_by_its_retries() {
        let mut keys = KeySource::new(Keys::Retried(2), 0);
        let sent: Vec<_> = (0..6).map(|_| keys.next()).collect();
        let known: Vec<_> = sent.iter().map(|(_, is_known)| *is_known).collect();
        assert_eq!(known, [false, true, true, false, true, true]);
        assert_eq!(sent[0].0, sent[2].0);
        assert_ne!(sent[2].0, sent[3].0);
    }

    #[test]
    fn connections_start_at_different_records_and_go_round() {
        let mut keys = KeySource::new(Keys::Recorded(10..13), 4);
        let sent: Vec<_> = (0..4).map(|_| keys.next()).collect();
        assert_eq!(sent, [(11, true), (12, true), (10, true), (11, true)]);
    }
}
