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
    /// Waits until the first one is over.
    pub(crate) async fn over(mut self) {
        // An error means that the first one is gone, and so over.
        let _gone = self
            .0
            .wait_for(|progress| !matches!(progress, Progress::Claiming | Progress::Running))
            .await;
    }
}
