//! A client: it performs operations, and asks again with the same key until it knows. Where it is impolite, it is as
//! clients are: it sends duplicates at once, and hangs up. What answers mean is the history's business.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use idem_tests::{Connection, Request};
use tokio::time::{Instant, sleep, timeout};

use crate::ground::Ground;
use crate::history::{Answer, Attempt, End, Meaning};
use crate::plan::{Operation, Wishes, stream};
use crate::slot::Slot;

/// For one answer.
const PATIENCE: Duration = Duration::from_secs(12);
/// For an operation while there is harm; afterwards it is asked for again.
const PERSISTENCE: Duration = Duration::from_secs(15);

pub(crate) struct Client {
    pub(crate) ground: Arc<Ground>,
    pub(crate) rng: Rng,
    /// Whether it comes back only when it was told to.
    pub(crate) is_patient: bool,
    /// Whether it sends duplicates and hangs up.
    pub(crate) is_rude: bool,
    pub(crate) is_after_the_harm: bool,
}

/// One of an operation's requests.
#[derive(Clone, Copy)]
struct Asked<'a> {
    operation: &'a Operation,
    place: usize,
    variant: usize,
}

/// Performs operations until then.
pub(crate) async fn perform(
    ground: Arc<Ground>,
    mut wishes: Wishes,
    seed: u64,
    number: u32,
    end: Instant,
) {
    let mut rng = stream(seed, "client", number.into());
    while Instant::now() < end {
        let Some(operation) = wishes.next() else {
            return;
        };
        let operation = Arc::new(operation);
        let place = ground.history.operation(&operation);
        let until = (Instant::now() + PERSISTENCE).min(end + PERSISTENCE / 3);
        let variants = (0..operation.variants.len()).map(|variant| {
            let mut client = Client {
                ground: Arc::clone(&ground),
                rng: rng.fork(),
                is_patient: number.is_multiple_of(3),
                is_rude: true,
                is_after_the_harm: false,
            };
            let operation = Arc::clone(&operation);
            async move { client.live(&operation, place, variant, until).await }
        });
        join_all(variants).await;
    }
}

impl Client {
    async fn live(&mut self, operation: &Operation, place: usize, variant: usize, until: Instant) {
        let manners = operation.manners;
        if manners.leaves {
            let asked = Asked {
                operation,
                place,
                variant,
            };
            self.ask(asked, 0).await;
            return;
        }
        for _ in 0..=manners.asks_again {
            if !self.pursue(operation, place, variant, until).await {
                return;
            }
            sleep(Duration::from_millis(manners.rests)).await;
        }
    }

    /// Until there is a last word; false if there is none by then.
    pub(crate) async fn pursue(
        &mut self,
        operation: &Operation,
        place: usize,
        variant: usize,
        until: Instant,
    ) -> bool {
        let asked = Asked {
            operation,
            place,
            variant,
        };
        let mut attempts = 0;
        loop {
            let ends = if self.is_rude && self.rng.u32(..6) == 0 {
                self.ask_twice(asked, attempts).await
            } else {
                vec![self.ask(asked, attempts).await]
            };
            let answers = ends.iter().filter_map(|end| match end {
                End::Answer(answer) => Some(answer),
                End::Lost(_) | End::HungUp => None,
            });
            let mut told = None;
            for answer in answers {
                if answer.meaning() != Meaning::Later {
                    return true;
                }
                told = answer.retry_after.or(told);
            }
            attempts += 1;
            let pause = self.pause(attempts, told);
            if Instant::now() + pause >= until {
                return false;
            }
            sleep(pause).await;
        }
    }

    fn pause(&mut self, attempts: u32, told: Option<u64>) -> Duration {
        let most = 20 << attempts.min(5);
        let backoff = Duration::from_millis(self.rng.u64(10..=most));
        match told {
            Some(seconds) if self.is_patient => Duration::from_secs(seconds) + backoff / 8,
            _ => backoff,
        }
    }

    /// At once, of two applications, or of one twice if there is no other.
    async fn ask_twice(&mut self, asked: Asked<'_>, attempts: u32) -> Vec<End> {
        let ground = Arc::clone(&self.ground);
        let mut slots = ground.serving(asked.operation);
        self.rng.shuffle(&mut slots);
        let (Some(one), Some(other)) = (slots.first(), slots.last()) else {
            return Vec::new();
        };
        let (left, right) = tokio::join!(
            self.send(asked, one, attempts, None),
            self.send(asked, other, attempts + 1, None),
        );
        vec![left, right]
    }

    async fn ask(&mut self, asked: Asked<'_>, attempts: u32) -> End {
        let ground = Arc::clone(&self.ground);
        let Some(slot) = self.rng.choice(ground.serving(asked.operation)) else {
            return End::Lost("nobody has a handler for it".into());
        };
        let at_first = attempts == 0 && asked.operation.manners.hangs_up_at_first;
        let hang_up = if !self.is_rude {
            None
        } else if at_first {
            // All of it is sent, and there is time to read it.
            Some(Duration::from_millis(60))
        } else if self.rng.u32(..15) == 0 {
            Some(Duration::from_millis(self.rng.u64(..60)))
        } else {
            None
        };
        self.send(asked, slot, attempts, hang_up).await
    }

    async fn send(
        &self,
        asked: Asked<'_>,
        slot: &Slot,
        attempts: u32,
        hang_up: Option<Duration>,
    ) -> End {
        let address = slot.front.address();
        let request = request(asked.operation, asked.variant, attempts);
        let history = &self.ground.history;
        let started = history.now();
        let end = match hang_up {
            Some(after) => {
                let _ = timeout(PATIENCE, leave(address, &request, after)).await;
                End::HungUp
            }
            None => match timeout(PATIENCE, idem_tests::send(address, &request)).await {
                Ok(Ok(response)) => End::Answer(Answer::of(&response, asked.operation)),
                Ok(Err(error)) => End::Lost(error.to_string()),
                Err(_) => End::Lost(format!("no answer in {PATIENCE:?}")),
            },
        };
        history.attempt(Attempt {
            operation: asked.place,
            variant: asked.variant,
            app: slot.number,
            is_after_the_harm: self.is_after_the_harm,
            started,
            ended: history.now(),
            end: end.clone(),
        });
        end
    }
}

/// Sends a request, or most of it, and goes away.
async fn leave(address: SocketAddr, request: &Request, after: Duration) -> std::io::Result<()> {
    let bytes = request.encode();
    let mut connection = Connection::open(address).await?;
    // A request without its end is no request: half of those who leave did not ask.
    let is_whole = after.as_millis().is_multiple_of(2);
    let length = if is_whole {
        bytes.len()
    } else {
        bytes.len() - 1
    };
    connection.write(&bytes[..length]).await?;
    sleep(after).await;
    connection.reset()
}

/// A retry may spell its JSON in another way: it is the same request.
fn request(operation: &Operation, variant: usize, attempts: u32) -> Request {
    let script = &operation.variants[variant].script;
    let body = match attempts % 3 {
        1 => format!("{script:#}"),
        2 => format!(" {script}\n"),
        _ => script.to_string(),
    };
    let key = match attempts % 2 {
        0 => operation.key.clone(),
        _ => format!("\"{}\"", operation.key),
    };
    Request::post(operation.path)
        .bearer(&format!("{}:anything", operation.tenant))
        .key(key)
        .typed("application/json", body)
}
