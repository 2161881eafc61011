//! Which message of its run one is: what its id is made of, besides the operation's name and the topic.
//!
//! No clock, no database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::digest::part;

/// The messages that the open transaction of a run, or of a step of it, has queued, topic by topic. Shared
/// by all clones of a key.
///
/// Nothing is queued elsewhere: a message is committed together with the record of its operation, or of its
/// step, so that no run follows one that has left a message and no record.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Option<Open>>);

#[derive(Debug)]
struct Open {
    step: String,
    /// The address of the connection, which stays where it is.
    connection: usize,
    numbers: HashMap<String, u64>,
}

/// Where one message stands.
#[derive(Debug)]
pub(crate) struct Place {
    step: String,
    number: u64,
}

/// As long as this lives, there are places.
pub(crate) struct InTransaction(Arc<Places>);

impl Places {
    /// The transaction of a step begins, or, without a name, that of a whole run.
    pub(crate) fn enter(self: &Arc<Self>, step: &str, connection: usize) -> InTransaction {
        *self.lock() = Some(Open {
            step: step.to_owned(),
            connection,
            numbers: HashMap::new(),
        });
        InTransaction(Arc::clone(self))
    }

    /// The place of the next message of this topic; `None` on a connection that is not the transaction's.
    pub(crate) fn next(&self, topic: &str, connection: usize) -> Option<Place> {
        let mut open = self.lock();
        let open = open.as_mut().filter(|open| open.connection == connection)?;
        let next = open.numbers.entry(topic.to_owned()).or_default();
        let number = *next;
        *next += 1;
        Some(Place {
            step: open.step.clone(),
            number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InTransaction {
    /// Whether messages have been queued.
    pub(crate) fn has_messages(&self) -> bool {
        let open = self.0.lock();
        open.as_ref().is_some_and(|open| !open.numbers.is_empty())
    }
}

impl Drop for InTransaction {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl Place {
    /// The id of the message at this place: the same in every run of the operation. It is a UUID of
    /// version 8, so that whoever checks its form finds one.
    pub(crate) fn id(&self, scope: &str, key: &str, topic: &str) -> Uuid {
        let mut hash = Sha256::new();
        for text in ["idem:message:1", scope, key, topic, &self.step] {
            part(&mut hash, text.as_bytes());
        }
        part(&mut hash, &self.number.to_be_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_places_of_the_run_before() {
        let connection = 1;
        let places = Arc::new(Places::default());
        let run = |step| {
            let _open = places.enter(step, connection);
            ["a", "a", "b"].map(|topic| places.next(topic, connection).unwrap().id("s", "k", topic))
        };
        let first = run("");
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], first[2]);
        assert_eq!(first, run(""));
        let step = run("order");
        assert!(step.iter().all(|id| !first.contains(id)));
        assert_eq!(step, run("order"));
    }

    #[test]
    fn there_are_places_on_one_connection_and_as_long_as_its_transaction() {
        let (ours, other) = (1, 2);
        let places = Arc::new(Places::default());
        assert!(places.next("a", ours).is_none());
        let open = places.enter("", ours);
        assert!(places.next("a", other).is_none());
        assert!(places.next("a", ours).is_some());
        drop(open);
        assert!(places.next("a", ours).is_none());
    }

    #[test]
    fn parts_that_hold_one_another_do_not_collide() {
        let place = Place {
            step: String::new(),
            number: 0,
        };
        assert_ne!(place.id("a:b", "c", "t"), place.id("a", "b:c", "t"));
        assert_ne!(place.id("s", "k", "tt"), place.id("s", "kt", "t"));
    }

    #[test]
    fn an_id_is_a_uuid() {
        let step = String::new();
        let id = Place { step, number: 0 }.id("s", "k", "t");
        assert_eq!(id.get_version_num(), 8);
        assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
    }
}
