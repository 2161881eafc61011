//! One transaction whose duplicates are held until there is an answer.

use fastrand::Rng;

use super::{Who, Workload, operation, variant};
use crate::plan::Operation;

pub(crate) struct Wait;

impl Workload for Wait {
    fn name(&self) -> &'static str {
        "wait"
    }

    fn weight(&self) -> u32 {
        3
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let asked = variant(rng, &who, "");
        let mut operation = operation(self.name(), "/wait/script", who, asked);
        operation.manners.asks_again = rng.u32(..2);
        operation
    }
}
