//! Lease mode: runs that are claimed by a committed row, call the outside world, and prove that they own
//! the row with everything they write.
//!
//! A handler has two steps: `charge` calls the outside world with a key derived from the client's, and
//! `order` works in the database. Between any two statements anything else may happen. A process that is
//! paused for long is one that has no turn while the clock goes on: its heartbeat has none either.

mod acts;
mod attempt;
mod claim;
mod properties;
mod reconcile;
mod store;
mod world;

use stateright::{Model, Property};

use crate::defects::Defect;
pub use acts::Act;
pub use properties::*;

/// What becomes of a claim whose lease has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// It is not run again until somebody says so.
    Hold,
    /// A retry takes it over.
    Rerun,
    /// Somebody has said so.
    Released,
}

/// Flaws that the checker has found in the code, and that are mended there since. Each needs two bodies
/// under one key to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flaws {
    /// A release deleted the row where no step of it was finished, so that the key was free for another
    /// body while its late owner could still call the outside world.
    pub release_deletes: bool,
    /// The look at a claim that was found, and the take-over behind it, did not compare the fingerprint
    /// again: it could be another claim by then, of another body.
    pub state_without_print: bool,
}

/// The model and its bounds. All attempts have the same scope and key.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The attempts, each with its fingerprint. A retry is another one with the same.
    pub attempts: Vec<u8>,
    /// The endpoint's rule.
    pub rule: Rule,
    /// How long a claim is trusted without a renewal.
    pub length: u8,
    /// How long a record is honoured.
    pub retain: u8,
    /// How far the database's clock goes.
    pub ticks: u8,
    /// How many crashes and broken connections there are.
    pub faults: u8,
    /// How often a handler refuses or fails.
    pub mishaps: u8,
    /// How often the reconciler takes an operation.
    pub verdicts: u8,
    /// What the code was mended of.
    pub flaws: Flaws,
    /// What is broken.
    pub defect: Option<Defect>,
}

const CHARGE: u8 = 1;
const ORDER: u8 = 2;

/// The row of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    print: u8,
    /// The token of a run, or one of nobody.
    owner: Option<u8>,
    rule: Rule,
    /// Until when the claim is trusted, and which writing of it this is: no two leases are equal.
    lease: u8,
    stamp: u8,
    /// Which steps are finished.
    steps: u8,
    /// Which of the records this is, unless it is pending.
    record: Option<usize>,
}

/// A record that was written at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Record {
    /// That of its row.
    print: u8,
    /// That of the run whose answer it is.
    of: u8,
    is_verdict: bool,
    at: u8,
    until: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Told {
    /// This record, new or replayed.
    Recorded(usize),
    InFlight,
    Mismatch,
    Unresolved,
    Refused,
    Failed,
    Unavailable,
}

/// Where an attempt is. The statement that is named is the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// The claim's transaction is open.
    Pend,
    /// The COMMIT of the pending row was not answered.
    IsOurs,
    /// A pending row was found.
    State,
    /// Its lease has run out: this owner's, with these finished steps.
    TakeOver(Option<u8>, u8),
    /// The handler runs, and asks for its first step.
    Charge,
    /// It has called the outside world.
    FinishStep,
    /// It asks for its second step.
    Order,
    /// The step's transaction is open.
    CommitStep,
    /// Its row is written, and COMMIT is under way.
    Commit,
    /// The COMMIT of the step was not answered.
    IsFinished,
    Record,
    /// The record has found no claim of ours.
    IsRecordedBy,
    /// The claim is forgotten, because the handler has refused; or because it has failed.
    Forget(Told),
    GiveBack,
    End,
    Lost,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Attempt {
    phase: Phase,
    /// The finished steps that it knows of.
    known: u8,
    /// Whether it is the first run of its claim.
    is_new: bool,
    has_called: bool,
    /// The lease that the row of its step will have.
    lease: u8,
    losses: u8,
    /// A statement of it was not answered.
    is_cut: bool,
    is_dead: bool,
    /// It has ended its lease.
    has_ended: bool,
    told: Option<Told>,
}

/// A statement that is under way although nobody waits for it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Flying {
    Pend,
    FinishStep,
    Commit,
    Record,
    Forget,
    GiveBack,
    End,
}

/// What the reconciler has seen, and what it has found outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    owner: Option<u8>,
    stamp: u8,
    /// The verdict: whether the call was made; and how many a trusted owner had made.
    found: Option<(bool, u8)>,
}

/// The database, the outside world, the attempts, and what has happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    clock: u8,
    faults: u8,
    mishaps: u8,
    verdicts: u8,
    tokens: u8,
    row: Option<Row>,
    /// Who has the claim's locks.
    lock: Option<usize>,
    /// Whose uncommitted step has the row locked.
    row_lock: Option<usize>,
    flying: Vec<(usize, Flying)>,
    attempts: Vec<Attempt>,
    worker: Option<Seen>,
    /// For what the outside world was called first.
    charged: Option<u8>,
    calls: u8,
    /// Calls while the caller was trusted.
    live_calls: u8,
    /// How often somebody has said that it may be run again.
    words: u8,
    orders: u8,
    records: Vec<Record>,
    /// A claim or a record should be there.
    is_expected: bool,
    wrongs: Wrongs,
}

/// What must never happen, seen when it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Wrongs {
    two_bodies: bool,
    live_claim_taken: bool,
    verdict_unseen: bool,
}

/// One action of an attempt, or of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The attempt, or the statement that is under way; for what concerns none, 0.
    pub who: usize,
    /// What it does.
    pub act: Act,
}

impl Attempt {
    const NEW: Self = Self {
        phase: Phase::Idle,
        known: 0,
        is_new: false,
        has_called: false,
        lease: 0,
        losses: 0,
        is_cut: false,
        is_dead: false,
        has_ended: false,
        told: None,
    };

    fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Over)
    }
}

impl Lease {
    fn is(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    fn print(&self, who: usize) -> u8 {
        self.attempts[who]
    }
}

impl Model for Lease {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            clock: 0,
            faults: self.faults,
            mishaps: self.mishaps,
            verdicts: self.verdicts,
            tokens: 100,
            row: None,
            lock: None,
            row_lock: None,
            flying: Vec::new(),
            attempts: vec![Attempt::NEW; self.attempts.len()],
            worker: None,
            charged: None,
            calls: 0,
            live_calls: 0,
            words: 0,
            orders: 0,
            records: Vec::new(),
            is_expected: false,
            wrongs: Wrongs::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        for (who, attempt) in state.attempts.iter().enumerate() {
            for &act in acts::of(attempt.phase) {
                actions.push(Step { who, act });
            }
            actions.push(Step {
                who,
                act: Act::Renew,
            });
        }
        for who in 0..state.flying.len() {
            for act in [Act::Lands, Act::IsDropped] {
                actions.push(Step { who, act });
            }
        }
        for &act in acts::OF_NOBODY {
            actions.push(Step { who: 0, act });
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        self.act(&mut next, step).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
