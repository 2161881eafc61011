//! Which message of its run one is: what its id is made of, besides the operation's name and the topic.
//!
//! No clock, no database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::digest::part;

/// The messages that one run of a handler has queued, topic by topic. Shared by all clones of a key.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    of_run: HashMap<String, u64>,
    /// The step whose transaction is open, and what it has queued.
    step: Option<(String, HashMap<String, u64>)>,
    /// Whether no earlier run of this operation can have left anything.
    is_first: bool,
}

/// Where one message stands.
#[derive(Debug)]
pub(crate) struct Place {
    step: String,
    number: u64,
    pub(crate) is_first: bool,
}

/// As long as this lives, places are counted within one step.
pub(crate) struct InStep(Arc<Places>);

impl Places {
    /// A run of the handler begins, of which an earlier one cannot have left anything: all of it is one
    /// transaction.
    pub(crate) fn begin(&self) {
        self.restart(true);
    }

    /// A run begins that may follow an earlier one.
    pub(crate) fn follow(&self) {
        self.restart(false);
    }

    fn restart(&self, is_first: bool) {
        *self.lock() = Counts {
            is_first,
            ..Counts::default()
        };
    }

    /// The transaction of a step begins.
    pub(crate) fn enter(self: &Arc<Self>, step: &str) -> InStep {
        self.lock().step = Some((step.to_owned(), HashMap::new()));
        InStep(Arc::clone(self))
    }

    /// The place of the next message of this topic.
    pub(crate) fn next(&self, topic: &str) -> Place {
        let counts = &mut *self.lock();
        let (step, numbers) = match &mut counts.step {
            Some((step, numbers)) => (step.clone(), numbers),
            None => (String::new(), &mut counts.of_run),
        };
        let next = numbers.entry(topic.to_owned()).or_default();
        let number = *next;
        *next += 1;
        Place {
            step,
            number,
            is_first: counts.is_first,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InStep {
    fn drop(&mut self) {
        self.0.lock().step = None;
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

    fn next(places: &Places, topic: &str) -> Uuid {
        places.next(topic).id("s", "k", topic)
    }

    #[test]
    fn a_run_has_the_places_of_the_run_before() {
        let places = Places::default();
        let run = || [next(&places, "a"), next(&places, "a"), next(&places, "b")];
        places.begin();
        let first = run();
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], first[2]);
        assert_ne!(first, run());
        places.begin();
        assert_eq!(first, run());
        places.follow();
        assert_eq!(first, run());
    }

    #[test]
    fn a_step_has_places_of_its_own() {
        let places = Arc::new(Places::default());
        let outside = next(&places, "a");
        let step = || {
            let _step = places.enter("order");
            [next(&places, "a"), next(&places, "a")]
        };
        let first = step();
        assert!(!first.contains(&outside));
        assert_eq!(first, step());
        let second = next(&places, "a");
        places.follow();
        let _skipped = first;
        assert_eq!([next(&places, "a"), next(&places, "a")], [outside, second]);
    }

    #[test]
    fn parts_that_hold_one_another_do_not_collide() {
        let places = Places::default();
        let place = places.next("t");
        assert_ne!(place.id("a:b", "c", "t"), place.id("a", "b:c", "t"));
        assert_ne!(place.id("s", "k", "tt"), place.id("s", "kt", "t"));
    }

    #[test]
    fn an_id_is_a_uuid() {
        let id = next(&Places::default(), "t");
        assert_eq!(id.get_version_num(), 8);
        assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
    }
}
