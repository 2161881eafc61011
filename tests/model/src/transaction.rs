//! Transaction mode on PostgreSQL: attempts, each with a connection of its own, and one database.
//!
//! What the server does is an action each: BEGIN, the two tries of the lock statement, the look, the
//! record, COMMIT, ROLLBACK. Between any two of them anything else may happen: another attempt, the
//! clock, the pruner, a crash of the process, a broken connection whose statements are still under way,
//! a crash of the database.

mod acts;
mod claim;
mod end;
mod properties;

use std::collections::BTreeMap;

use stateright::{Model, Property};

use crate::defects::Defect;
pub use acts::Act;
pub use properties::*;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// Whose key it is.
    pub scope: u8,
    /// The client's key.
    pub key: u8,
    /// The fingerprint.
    pub print: u8,
}

impl Operation {
    /// One of the first scope.
    #[must_use]
    pub const fn new(key: u8, print: u8) -> Self {
        Self {
            scope: 0,
            key,
            print,
        }
    }

    /// The same of another scope.
    #[must_use]
    pub const fn of(mut self, scope: u8) -> Self {
        self.scope = scope;
        self
    }

    fn name(self) -> (u8, u8) {
        (self.scope, self.key)
    }
}

/// When a transaction's snapshot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Anew for each statement.
    ReadCommitted,
    /// By the first statement, for all of them.
    RepeatableRead,
}

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The attempts. A retry is another one with the same operation: each may begin at any time.
    pub attempts: Vec<Operation>,
    /// The isolation of the claim's transaction.
    pub isolation: Isolation,
    /// How long a record is honoured.
    pub retain: u8,
    /// How far the database's clock goes.
    pub ticks: u8,
    /// How many crashes and broken connections there are.
    pub faults: u8,
    /// Whether handlers may refuse a request, with and without a record of it.
    pub refusals: bool,
    /// What is broken.
    pub defect: Option<Defect>,
}

/// A committed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    operation: Operation,
    /// The attempt whose answer it is.
    by: usize,
    until: u8,
}

/// What both tries of the lock have given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Grant {
    Both,
    KeyRefused,
    FingerprintRefused,
}

/// How a client's request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Told {
    /// The answer of this attempt, new or replayed; and whether it had expired by then.
    Recorded {
        by: usize,
        expired: bool,
    },
    InFlight,
    Mismatch,
    Failed,
    /// Nobody knows.
    Unavailable,
}

/// Why a transaction is rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Because {
    Told(Told),
    /// Somebody has recorded the key, or the transaction has met others: the claim is made again.
    Again,
}

/// Where an attempt is, and its session with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// It has not claimed, or claims again.
    Idle,
    /// BEGIN; lock and look are under way.
    Begun,
    /// The first of both locks was tried.
    HalfLocked(bool),
    Locked(Grant),
    /// The claim is ours, and the handler runs.
    Free,
    /// Record and COMMIT are under way.
    Recording,
    /// The record is written, and COMMIT is under way.
    Inserted,
    /// ROLLBACK and the record of a refusal are under way.
    Remembering,
    /// The record of a refusal is under way, by itself.
    Alone,
    /// ROLLBACK is under way.
    Leaving(Because),
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Attempt {
    phase: Phase,
    /// What a snapshot that is older than the lock holds of the row.
    snapshot: Option<Option<Row>>,
    over_expired: bool,
    /// Of the record that is written and not committed.
    until: u8,
    /// How often it has claimed in vain.
    losses: u8,
    /// Nobody listens any more.
    is_cut: bool,
    told: Option<Told>,
}

/// An effect or a record that was committed, for the properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Done {
    operation: Operation,
    by: usize,
    at: u8,
}

/// The database, the attempts, and what has happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    clock: u8,
    faults: u8,
    rows: BTreeMap<(u8, u8), Row>,
    locks: BTreeMap<Lock, usize>,
    attempts: Vec<Attempt>,
    effects: Vec<Done>,
    /// Records, with the time until which each is honoured, and whether an effect goes with it.
    records: Vec<(Done, u8, bool)>,
}

/// The number of an advisory lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Lock {
    Fingerprint(u8, u8, u8),
    Key(u8, u8),
}

/// One action of an attempt, or of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The attempt; for what concerns none, 0.
    pub who: usize,
    /// What it does.
    pub act: Act,
}

impl Attempt {
    const NEW: Self = Self {
        phase: Phase::Idle,
        snapshot: None,
        over_expired: false,
        until: 0,
        losses: 0,
        is_cut: false,
        told: None,
    };

    fn has_begun(&self) -> bool {
        self.phase != Phase::Idle || self.losses > 0
    }

    fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Over)
    }
}

impl Transaction {
    fn is(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// The row's primary key.
    fn row(&self, operation: Operation) -> (u8, u8) {
        match self.is(Defect::ScopeLeftOut) {
            true => (0, operation.key),
            false => operation.name(),
        }
    }
}

impl Model for Transaction {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            clock: 0,
            faults: self.faults,
            rows: BTreeMap::new(),
            locks: BTreeMap::new(),
            attempts: vec![Attempt::NEW; self.attempts.len()],
            effects: Vec::new(),
            records: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        for (who, attempt) in state.attempts.iter().enumerate() {
            for &act in acts::of(attempt.phase) {
                actions.push(Step { who, act });
            }
        }
        for act in [Act::Tick, Act::Prune, Act::DatabaseCrashes] {
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
