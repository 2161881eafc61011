//! Several requests under one key at once: one of them wins, and the others learn that the key is taken.

use fastrand::Rng;

use super::messages::{self, with_messages};
use super::steps::with_steps;
use super::{Who, Workload, one_in, operation, variant};
use crate::plan::Operation;

pub(crate) struct Conflict;

const PATHS: [&str; 3] = ["/account/script", messages::PATH, "/wait/script"];

impl Workload for Conflict {
    fn name(&self) -> &'static str {
        "conflict"
    }

    fn weight(&self) -> u32 {
        3
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let count = rng.u8(2..=3);
        let mut asked: Vec<_> = (0..count)
            .map(|number| variant(rng, &who, &format!("-{}", char::from(b'a' + number))))
            .collect();
        let path = if who.has_leases && one_in(rng, 4) {
            for one in &mut asked {
                with_steps(rng, one);
            }
            "/steps/script"
        } else {
            rng.choice(PATHS).unwrap_or(PATHS[0])
        };
        if path == messages::PATH {
            for one in &mut asked {
                with_messages(rng, one);
            }
        }
        let others = asked.split_off(1);
        let first = asked.remove(0);
        let mut operation = operation(self.name(), path, who, first);
        operation.variants.extend(others);
        operation
    }
}
