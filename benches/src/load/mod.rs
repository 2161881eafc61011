//! Our own closed loop of HTTP clients: each connection sends its next request when it has its answer. In a thread of
//! its own, as little work as possible: it shares the cores with what it measures.

mod client;
mod latencies;

use std::fmt;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

use crate::Outcome;
use crate::traffic::Traffic;

use client::Client;
pub(crate) use latencies::Latencies;

/// How long a load goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Elapsed(Duration),
    /// So many answers on each connection.
    Answers(u64),
}

/// What is to be sent, where to, by how many at once.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) traffic: Traffic,
    pub(crate) until: Until,
}

/// What came of it.
pub(crate) struct Measured {
    path: &'static str,
    elapsed: Duration,
    pub(crate) latencies: Latencies,
}

impl Load {
    /// Any answer that is not the expected one is an error.
    pub(crate) async fn run(self) -> Outcome<Measured> {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || {
            let _ = sender.send(self.run_here());
        });
        receiver.await?
    }

    fn run_here(&self) -> Outcome<Measured> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        LocalSet::new().block_on(&runtime, self.all_connections())
    }

    async fn all_connections(&self) -> Outcome<Measured> {
        let mut clients = Vec::new();
        for number in 0..self.connections {
            clients.push(Client::connect(self.address, &self.traffic, number).await?);
        }
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for client in clients {
            tasks.spawn_local(client.run(start, self.until));
        }
        let mut latencies = Latencies::default();
        while let Some(done) = tasks.join_next().await {
            latencies.append(done??);
        }
        let elapsed = match self.until {
            Until::Elapsed(duration) => duration,
            Until::Answers(_) => start.elapsed(),
        };
        Ok(Measured {
            path: self.traffic.path(),
            elapsed,
            latencies,
        })
    }
}

impl Measured {
    /// Answers in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.count() as f64 / self.elapsed.as_secs_f64()
    }

    /// The median latency, in seconds.
    pub(crate) fn p50(&self) -> f64 {
        self.latencies.quantile(0.5)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, rate, p50) = (self.path, self.rate(), self.p50() * 1e3);
        write!(formatter, "{path}: {rate:.0}/s, p50 {p50:.2} ms")
    }
}
