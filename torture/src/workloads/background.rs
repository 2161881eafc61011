//! Steps that a worker drives to their end: most clients leave after their first attempt.

use fastrand::Rng;

use super::steps::with_steps;
use super::{Who, Workload, one_in, operation, variant};
use crate::plan::Operation;

pub(crate) struct Background;

impl Workload for Background {
    fn name(&self) -> &'static str {
        "background"
    }

    fn weight(&self) -> u32 {
        3
    }

    fn needs_leases(&self) -> bool {
        true
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        with_steps(rng, &mut asked);
        let mut operation = operation(self.name(), "/background/script", who, asked);
        operation.is_driven = true;
        operation.manners.leaves = !one_in(rng, 3);
        operation
    }
}
