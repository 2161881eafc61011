//! What is to be done, all of it from the seed: which operation, tenant, key and body, and which fault after which
//! pause. When things happen, and so how they meet, is not of the seed. No I/O, no clock.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;
use serde_json::Value;

use crate::faults::{self, Fault};
use crate::options::Options;
use crate::workloads::{self, Workload};

/// One thing that a tenant wants, under one key.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Operation {
    /// Unlike that of every other operation.
    pub(crate) id: String,
    pub(crate) workload: &'static str,
    pub(crate) tenant: String,
    /// The same as other tenants' keys.
    pub(crate) key: String,
    pub(crate) path: &'static str,
    /// What is sent under the key: one request, or several of which one may win.
    pub(crate) variants: Vec<Variant>,
    pub(crate) manners: Manners,
    /// How long a recorded answer is honoured, in microseconds.
    pub(crate) window: u64,
    pub(crate) settler: Settler,
    /// Whether a worker runs it as well as those who ask.
    pub(crate) is_driven: bool,
    /// Whether its handler is in lease mode.
    pub(crate) is_leased: bool,
}

/// Who else may say how an operation ended, in words of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Settler {
    Nobody,
    Reconciler,
    /// Or the reconciler.
    Operator,
}

/// One request, and what it asks for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Variant {
    pub(crate) script: Value,
    /// What effects and calls are counted by.
    pub(crate) label: String,
    /// The only answer that its handler gives as a last word.
    pub(crate) status: u16,
    pub(crate) body: Arc<str>,
    /// How many rows a run that ends well has committed.
    pub(crate) effects: u64,
    /// Whether all effects are one transaction.
    pub(crate) is_atomic: bool,
    /// Whether all effects are there before the first call.
    pub(crate) has_effects_first: bool,
    /// With how many derived keys it calls.
    pub(crate) calls: usize,
    /// Whether a call may come twice with the same key.
    pub(crate) may_repeat_calls: bool,
    /// What a run that ends well has queued; in steps, one message with each effect.
    pub(crate) messages: Vec<Queued>,
}

/// A message, which says of itself what it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Queued {
    pub(crate) payload: Value,
    /// Its ordering key.
    pub(crate) order: Option<String>,
}

/// What its client is like.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Manners {
    /// Goes away after the first attempt and never comes back by itself.
    pub(crate) leaves: bool,
    /// Does not wait for the answer to its first attempt.
    pub(crate) hangs_up_at_first: bool,
    /// How often it asks again though it has an answer.
    pub(crate) asks_again: u32,
    /// How long it waits before that, in milliseconds.
    pub(crate) rests: u64,
}

/// The operations of one client, in order.
pub(crate) struct Wishes {
    seed: u64,
    client: u64,
    next: u64,
    has_leases: bool,
    workloads: Vec<&'static dyn Workload>,
}

/// Faults, in order.
pub(crate) struct Harm {
    rng: Rng,
    every: u64,
    faults: Vec<&'static Fault>,
}

/// One stream of random numbers for each purpose, so that none depends on how often another was asked.
pub(crate) fn stream(seed: u64, purpose: &str, number: u64) -> Rng {
    // FNV-1a: it must be the same in every build.
    let bytes = seed.to_le_bytes().into_iter().chain(purpose.bytes());
    let hash = bytes
        .chain(number.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    Rng::with_seed(hash)
}

impl Wishes {
    /// With or without what needs lease mode.
    pub(crate) fn of(seed: u64, client: u32, options: &Options, has_leases: bool) -> Self {
        let is_wanted = |one: &&&dyn Workload| {
            is_among(&options.workload, one.name()) && (has_leases || !one.needs_leases())
        };
        Self {
            seed,
            client: client.into(),
            next: 0,
            has_leases,
            workloads: workloads::ALL.iter().filter(is_wanted).copied().collect(),
        }
    }

    /// Each client is a tenant of its own, and all tenants have the same keys.
    pub(crate) fn next(&mut self) -> Option<Operation> {
        let mut rng = stream(self.seed, "operation", (self.client << 40) + self.next);
        let workload = weighted(&mut rng, &self.workloads, |one| one.weight())?;
        let who = workloads::Who {
            tenant: format!("tenant-{:03}", self.client),
            key: format!("key-{}", self.next),
            id: format!("op-{:03}-{:06}", self.client, self.next),
            has_leases: self.has_leases,
        };
        self.next += 1;
        Some(workload.operation(&mut rng, who))
    }
}

impl Harm {
    pub(crate) fn of(seed: u64, has_server: bool, options: &Options) -> Self {
        let is_wanted =
            |one: &&&Fault| is_among(&options.fault, one.name) && (has_server || !one.needs_server);
        Self {
            rng: stream(seed, "fault", 0),
            every: options.fault_every,
            faults: faults::ALL.iter().filter(is_wanted).copied().collect(),
        }
    }

    /// After how long, what, and the numbers that say how.
    pub(crate) fn next(&mut self) -> Option<(Duration, &'static Fault, Rng)> {
        if self.every == 0 {
            return None;
        }
        let pause = self.rng.u64(self.every / 2..=self.every * 3 / 2);
        let fault = weighted(&mut self.rng, &self.faults, |one| one.weight)?;
        Some((Duration::from_millis(pause), fault, self.rng.fork()))
    }
}

fn is_among(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|one| one == name)
}

fn weighted<T: Copy>(rng: &mut Rng, choices: &[T], weight: impl Fn(T) -> u32) -> Option<T> {
    let total: u32 = choices.iter().map(|one| weight(*one)).sum();
    if total == 0 {
        return None;
    }
    let mut ticket = rng.u32(..total);
    choices.iter().copied().find(|one| {
        let is_it = ticket < weight(*one);
        ticket = ticket.saturating_sub(weight(*one));
        is_it
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn plan(seed: u64) -> Vec<String> {
        let options = Options::parse_from(["torture"]);
        let mut wishes = Wishes::of(seed, 3, &options, true);
        let mut harm = Harm::of(seed, true, &options);
        (0..200)
            .map(|_| {
                let operation = serde_json::to_string(&wishes.next().unwrap()).unwrap();
                let (pause, fault, mut rng) = harm.next().unwrap();
                format!("{operation} {pause:?} {} {}", fault.name, rng.u64(..))
            })
            .collect()
    }

    #[test]
    fn a_seed_is_a_plan() {
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn every_workload_comes_up() {
        let plan = plan(1).concat();
        for workload in workloads::ALL {
            let member = format!("\"workload\":\"{}\"", workload.name());
            assert!(plan.contains(&member), "{member}");
        }
    }

    #[test]
    fn blocking_handlers_are_not_asked_for_lease_mode() {
        let options = Options::parse_from(["torture"]);
        let count = |has_leases| {
            let mut wishes = Wishes::of(1, 3, &options, has_leases);
            let operations = (0..500).map(|_| wishes.next().unwrap());
            operations.filter(|one| one.is_leased).count()
        };
        assert!(count(true) > 100);
        assert_eq!(count(false), 0);
    }

    #[test]
    fn weights_are_kept() {
        let mut rng = stream(1, "test", 0);
        let picked: Vec<_> = (0..1000)
            .filter_map(|_| weighted(&mut rng, &[0, 1, 3], |one| one))
            .collect();
        let threes = picked.iter().filter(|one| **one == 3).count();
        assert_eq!(picked.len(), 1000);
        assert!(
            !picked.contains(&0) && (650..850).contains(&threes),
            "{threes}"
        );
    }
}
