//! The operations that this process is working on, single-flight: the first request of a key asks
//! the database, the others wait for what it is told, without a connection.
//!
//! No SQL, no HTTP.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::fingerprint::Fingerprint;
use crate::store::Record;

/// The key's row, which stands for scope and key.
type RowId = [u8; 16];

/// What the first request of a key has been told so far.
#[derive(Debug, Clone)]
enum Progress {
    /// It is still asking the database.
    Claiming,
    /// It holds the claim and runs the handler.
    Running,
    /// The same request is in flight in another process.
    Elsewhere,
    /// There is a record.
    Recorded(Arc<Record>),
    /// It is over without a record, or without an answer: the next one asks.
    Over,
}

#[derive(Debug, Clone)]
struct Flight {
    fingerprint: Fingerprint,
    progress: watch::Receiver<Progress>,
}

/// The table of operations of one process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flights(Arc<Mutex<HashMap<RowId, Flight>>>);

/// What a request finds that enters the table.
#[derive(Debug)]
pub(crate) enum Entered {
    /// It is the first, and asks the database.
    First(First),
    /// The same request is in flight in this process.
    Behind(Behind),
    /// The same request is in flight in another process.
    Elsewhere,
    /// Another request with this key is in flight.
    KeyHeld,
    /// There is a record, of whatever fingerprint.
    Recorded(Arc<Record>),
}

impl Flights {
    /// Enters the table, and waits until the first request of the key knows where it stands.
    pub(crate) async fn enter(&self, row: RowId, fingerprint: &Fingerprint) -> Entered {
        loop {
            let mut flight = match self.lock().entry(row) {
                Entry::Occupied(flight) => flight.get().clone(),
                Entry::Vacant(place) => {
                    let (progress, watched) = watch::channel(Progress::Claiming);
                    place.insert(Flight {
                        fingerprint: fingerprint.clone(),
                        progress: watched,
                    });
                    return Entered::First(First {
                        flights: self.clone(),
                        row,
                        progress,
                    });
                }
            };
            let same = flight.fingerprint == *fingerprint;
            let known = flight
                .progress
                .wait_for(|progress| !matches!(progress, Progress::Claiming))
                .await
                .map(|progress| progress.clone());
            match known {
                Ok(Progress::Running | Progress::Elsewhere) if !same => return Entered::KeyHeld,
                Ok(Progress::Running) => return Entered::Behind(Behind(flight.progress)),
                Ok(Progress::Elsewhere) => return Entered::Elsewhere,
                Ok(Progress::Recorded(record)) => return Entered::Recorded(record),
                Ok(Progress::Claiming | Progress::Over) | Err(_) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RowId, Flight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first request of a key. Dropping it lets the next one ask.
#[derive(Debug)]
pub(crate) struct First {
    flights: Flights,
    row: RowId,
    progress: watch::Sender<Progress>,
}

impl First {
    /// The claim is ours; the handler runs.
    pub(crate) fn running(&self) {
        self.progress.send_replace(Progress::Running);
    }

    /// The database knows a record.
    pub(crate) fn recorded(self, record: Arc<Record>) {
        self.progress.send_replace(Progress::Recorded(record));
    }

    /// The same request is in flight in another process.
    pub(crate) fn elsewhere(self) {
        self.progress.send_replace(Progress::Elsewhere);
    }
}

impl Drop for First {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.row);
        self.progress.send_if_modified(|progress| {
            let open = matches!(progress, Progress::Claiming | Progress::Running);
            if open {
                *progress = Progress::Over;
            }
            open
        });
    }
}

/// A request behind the first one of its key.
#[derive(Debug)]
pub(crate) struct Behind(watch::Receiver<Progress>);

impl Behind {
    /// Waits until the first one is over, and takes the record that it leaves.
    pub(crate) async fn over(mut self) -> Option<Arc<Record>> {
        let over =
            |progress: &Progress| !matches!(progress, Progress::Claiming | Progress::Running);
        match self.0.wait_for(over).await.as_deref() {
            Ok(Progress::Recorded(record)) => Some(Arc::clone(record)),
            // An error means that the first one is gone, and so over.
            Ok(_) | Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::test::TestRequest;
    use actix_web::web::Bytes;
    use futures_util::{FutureExt, join};

    use super::*;
    use crate::fingerprint::{Secrets, Subject};
    use crate::policy::BodyForm;
    use crate::response::StoredResponse;

    const ROW: RowId = [7; 16];

    fn print(body: &'static str) -> Fingerprint {
        let request = TestRequest::post().to_http_request();
        let subject = Subject::new(&request, Bytes::from_static(body.as_bytes()));
        Secrets::default().fingerprint(&subject, BodyForm::Raw)
    }

    fn record() -> Arc<Record> {
        Arc::new(Record {
            fingerprint: Vec::new(),
            response: StoredResponse {
                status: 200,
                headers: String::new(),
                body: None,
            },
            age: Duration::ZERO,
        })
    }

    async fn first(flights: &Flights) -> First {
        match flights.enter(ROW, &print("a")).await {
            Entered::First(first) => first,
            other => panic!("{other:?}"),
        }
    }

    #[actix_web::test]
    async fn others_wait_for_the_word_of_the_first() {
        let flights = Flights::default();
        let asking = first(&flights).await;
        let print = print("a");
        let mut other = Box::pin(flights.enter(ROW, &print));
        assert!(other.as_mut().now_or_never().is_none());
        asking.running();
        assert!(matches!(other.await, Entered::Behind(_)));
        assert!(matches!(
            flights.enter(ROW, &self::print("b")).await,
            Entered::KeyHeld
        ));
    }

    #[actix_web::test]
    async fn a_record_is_for_all_who_wait() {
        let flights = Flights::default();
        let asking = first(&flights).await;
        let prints = (print("a"), print("b"));
        let others = async { join!(flights.enter(ROW, &prints.0), flights.enter(ROW, &prints.1)) };
        let ((one, two), ()) = join!(others, async { asking.recorded(record()) });
        assert!(matches!(one, Entered::Recorded(_)));
        assert!(matches!(two, Entered::Recorded(_)));
        drop(first(&flights).await);
    }

    #[actix_web::test]
    async fn who_waited_behind_the_first_gets_its_record_or_asks() {
        let flights = Flights::default();
        for left in [Some(record()), None] {
            let asking = first(&flights).await;
            asking.running();
            let Entered::Behind(behind) = flights.enter(ROW, &print("a")).await else {
                panic!("not behind");
            };
            let leave = async {
                match left.clone() {
                    Some(record) => asking.recorded(record),
                    None => drop(asking),
                }
            };
            let (found, ()) = join!(behind.over(), leave);
            assert_eq!(found.is_some(), left.is_some());
        }
        assert!(flights.lock().is_empty());
    }

    #[actix_web::test]
    async fn when_the_first_fails_the_next_one_asks() {
        let flights = Flights::default();
        let asking = first(&flights).await;
        let print = print("a");
        let (other, ()) = join!(flights.enter(ROW, &print), async { drop(asking) });
        assert!(matches!(other, Entered::First(_)));
    }

    #[actix_web::test]
    async fn elsewhere_is_said_to_all_who_wait_and_kept_from_who_comes_later() {
        let flights = Flights::default();
        let asking = first(&flights).await;
        let print = print("a");
        let (other, ()) = join!(flights.enter(ROW, &print), async { asking.elsewhere() });
        assert!(matches!(other, Entered::Elsewhere));
        drop(first(&flights).await);
    }

    /// Row ids are halves of SHA-256 over scope and key, so that a client can only choose them by trying;
    /// and if it could, the table hashes them with std's SipHash, whose seed it does not know.
    #[actix_web::test]
    async fn chosen_ids_do_not_slow_the_table_down() {
        const COUNT: u64 = 100_000;
        let chosen: [fn(u64) -> u128; 3] = [
            |n| u128::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835),
            u128::from,
            |n| u128::from(n) << 100,
        ];
        let print = print("a");
        for (kind, id) in chosen.into_iter().enumerate() {
            let flights = Flights::default();
            let mut entered = Vec::new();
            let start = std::time::Instant::now();
            for n in 0..COUNT {
                match flights.enter(id(n).to_be_bytes(), &print).await {
                    Entered::First(first) => entered.push(first),
                    other => panic!("{other:?}"),
                }
            }
            let took = start.elapsed();
            drop(entered);
            println!(
                "{kind}: {COUNT} entered in {took:?}, and gone in {:?}",
                start.elapsed() - took
            );
            // Measured: 0.2 s in a debug build. A chain of 100,000 would take minutes.
            assert!(
                start.elapsed() < std::time::Duration::from_secs(10),
                "{kind}: {took:?}"
            );
            assert!(flights.lock().is_empty());
        }
    }
}
