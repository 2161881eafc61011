//! The ordinary life of a client: most operations come to their end at once and are asked for again; some are sent
//! twice at once, some conflict, some fail, some outlive their lease, some clients hang up or never come back. Each
//! operation has a key of its own, as in production; labels are few, because the test application remembers them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use idem_tests::{Connection, Request};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// Between the beginnings of two operations, where the first one is over by then. A pace that is always the same keeps
/// what is there at once the same.
const TURN: Duration = Duration::from_millis(250);
/// For one answer.
const PATIENCE: Duration = Duration::from_secs(12);
/// For an operation; then nobody comes back for it.
const PERSISTENCE: Duration = Duration::from_secs(8);
/// Longer than a lease, in milliseconds.
const LONG: u64 = 2_600;

/// What everybody asks, and what came of it.
pub(crate) struct Field {
    pub(crate) apps: Vec<SocketAddr>,
    pub(crate) operations: AtomicU64,
    pub(crate) answers: Mutex<BTreeMap<String, u64>>,
}

impl Field {
    /// All answers, and those that say that nothing can be done now.
    pub(crate) fn refused(&self) -> (u64, u64) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = answers.iter().filter(|(end, _)| end.starts_with("503"));
        (
            answers.values().sum(),
            refused.map(|(_, count)| count).sum(),
        )
    }
}

pub(crate) struct Client {
    field: Arc<Field>,
    rng: Rng,
    number: u32,
    count: u64,
}

/// One request of an operation.
#[derive(Clone)]
struct Wish {
    path: &'static str,
    key: Option<String>,
    script: Value,
}

impl Client {
    pub(crate) fn new(field: Arc<Field>, number: u32) -> Self {
        Self {
            field,
            rng: Rng::with_seed(number.into()),
            number,
            count: 0,
        }
    }

    /// Performs operations until then.
    pub(crate) async fn live(mut self, end: Instant) {
        sleep(TURN.mul_f64(self.rng.f64())).await;
        let mut turns = interval(TURN);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < end {
            turns.tick().await;
            self.count += 1;
            self.perform().await;
            self.field.operations.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn perform(&mut self) {
        match self.rng.u32(..26) {
            0..8 => {
                let wish = self.brief();
                self.pursue(&wish).await;
                self.ask(&wish).await;
            }
            8..10 => self.ask_twice("/brief/script").await,
            10..12 => self.ask_twice("/brief-wait/script").await,
            12..14 => self.conflict().await,
            14..16 => {
                let mut wish = self.brief();
                wish.script["sleep_ms"] = self.rng.u64(..200).into();
                self.hang_up(&wish).await;
            }
            16 => self.fail().await,
            17 => self.be_refused().await,
            18..21 => {
                let wish = self.stepwise("/brief-steps/script");
                self.pursue(&wish).await;
                self.ask(&wish).await;
            }
            21..23 => self.hold().await,
            23..25 => {
                let wish = self.stepwise("/brief-background/script");
                self.hang_up(&wish).await;
            }
            _ => {
                let mut wish = self.wish("/optional/script");
                wish.key = None;
                self.ask(&wish).await;
            }
        }
    }

    /// Some body, mostly short, sometimes too long for one message.
    fn wish(&mut self, path: &'static str) -> Wish {
        let length = match self.rng.u32(..20) {
            0 => self.rng.usize(20_000..40_000),
            1..4 => self.rng.usize(1_000..5_000),
            _ => self.rng.usize(..200),
        };
        let label = format!("client-{}", self.number);
        Wish {
            path,
            key: Some(format!("key-{}-{}", self.number, self.count)),
            script: json!({
                "label": label,
                "status": 201,
                "headers": [["Content-Type", "text/plain"], ["X-Client", label]],
                "body": "x".repeat(length),
                "effects": 1,
            }),
        }
    }

    fn brief(&mut self) -> Wish {
        self.wish("/brief/script")
    }

    /// Transactions and calls; in some of them a worker's heart stops, or a step fails for good.
    fn stepwise(&mut self, path: &'static str) -> Wish {
        let mut wish = self.wish(path);
        let mut steps = vec![
            json!({ "name": "reserve", "kind": "transaction" }),
            json!({ "name": "charge", "kind": "call", "sleep_ms": self.rng.u64(..40) }),
            json!({ "name": "order", "kind": "transaction" }),
        ];
        match self.rng.u32(..30) {
            0 => steps[2]["fail"] = "err".into(),
            1 => steps[2]["fail"] = "panic".into(),
            2 | 3 => {
                wish.script["heartbeat"] = false.into();
                // The second step is finished before the lease runs out, so that whoever takes over does not outlive it.
                steps[0]["sleep_ms"] = 1_200.into();
                steps[1]["sleep_ms"] = 1_200.into();
            }
            _ => {}
        }
        wish.script["steps"] = steps.into();
        wish
    }

    async fn conflict(&mut self) {
        let one = self.brief();
        let mut other = one.clone();
        other.script["effects"] = 2.into();
        let (left, right) = self.two();
        tokio::join!(self.send(left, &one), self.send(right, &other));
    }

    async fn ask_twice(&mut self, path: &'static str) {
        let mut wish = self.wish(path);
        wish.script["sleep_ms"] = self.rng.u64(..100).into();
        let (left, right) = self.two();
        tokio::join!(
            self.send(left, &wish),
            self.send(right, &wish),
            self.send(left, &wish)
        );
    }

    /// An error, a panic or a timeout; it is asked for once more, and does the same again.
    async fn fail(&mut self) {
        let mut wish = self.brief();
        match self.rng.u32(..3) {
            0 => wish.script["fail"] = "err".into(),
            1 => wish.script["fail"] = "panic".into(),
            _ => wish.script["sleep_ms"] = 1_100.into(),
        }
        self.ask(&wish).await;
        self.ask(&wish).await;
    }

    /// By the domain, which is recorded; or by us.
    async fn be_refused(&mut self) {
        let mut wish = self.brief();
        match self.rng.u32(..4) {
            0 => wish.key = None,
            1 => wish.key = Some("two, keys".into()),
            _ => wish.script["status"] = 402.into(),
        }
        self.ask(&wish).await;
        self.ask(&wish).await;
    }

    /// A call that is not repeated; some outlive their lease, and then a reconciler or an operator says how it ended.
    async fn hold(&mut self) {
        let mut wish = self.wish("/brief-hold/script");
        wish.script["call"] = (self.rng.u32(..10) > 0).into();
        if self.rng.u32(..12) == 0 {
            wish.script["heartbeat"] = false.into();
            wish.script["sleep_ms"] = LONG.into();
        }
        self.pursue(&wish).await;
    }

    /// Until there is a last word, or nobody has patience.
    async fn pursue(&mut self, wish: &Wish) {
        let until = Instant::now() + PERSISTENCE;
        let mut pause = 20;
        while self
            .ask(wish)
            .await
            .is_none_or(|status| status == 409 || status >= 500)
            && Instant::now() < until
        {
            sleep(Duration::from_millis(self.rng.u64(10..=pause))).await;
            pause = (pause * 2).min(1_000);
        }
    }

    async fn ask(&mut self, wish: &Wish) -> Option<u16> {
        let (app, _) = self.two();
        self.send(app, wish).await
    }

    /// Two applications, in some order.
    fn two(&mut self) -> (SocketAddr, SocketAddr) {
        let one = self.rng.usize(..self.field.apps.len());
        let other = (one + 1) % self.field.apps.len();
        (self.field.apps[one], self.field.apps[other])
    }

    async fn send(&self, app: SocketAddr, wish: &Wish) -> Option<u16> {
        let request = self.request(wish);
        let answer = timeout(PATIENCE, idem_tests::send(app, &request)).await;
        let Ok(Ok(response)) = answer else {
            self.count("lost");
            return None;
        };
        let end = match (response.code().as_str(), response.is_replay()) {
            ("", false) => response.status.to_string(),
            ("", true) => format!("{} replay", response.status),
            (code, _) => format!("{} {code}", response.status),
        };
        self.count(&end);
        Some(response.status)
    }

    /// Goes away in the middle of it, without good-bye.
    async fn hang_up(&mut self, wish: &Wish) {
        let (app, _) = self.two();
        let bytes = self.request(wish).encode();
        let pause = Duration::from_millis(self.rng.u64(..60));
        // A request without its end is no request.
        let length = bytes.len() - usize::from(self.rng.u32(..4) == 0);
        let leave = async {
            let mut connection = Connection::open(app).await?;
            connection.write(&bytes[..length]).await?;
            sleep(pause).await;
            connection.reset()
        };
        let _ = timeout(PATIENCE, leave).await;
        self.count("hung up");
    }

    fn request(&self, wish: &Wish) -> Request {
        let request = Request::post(wish.path)
            .bearer(&format!("tenant-{}:anything", self.number))
            .json(&wish.script);
        match &wish.key {
            Some(key) => request.key(key),
            None => request,
        }
    }

    fn count(&self, end: &str) {
        let mut answers = self
            .field
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match answers.get_mut(end) {
            Some(count) => *count += 1,
            None => {
                answers.insert(end.into(), 1);
            }
        }
    }
}
