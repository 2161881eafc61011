//! The outbox on PostgreSQL: operations that queue messages in their transactions, relays that publish them, a broker.
//!
//! There is no clock. A claim of a relay runs out, and a message that was put off is due, at any time: that is what
//! the paused process and the long outage are. A relay that dies is started again, and remembers nothing.

mod acts;
mod marking;
mod properties;
mod publishing;
mod queueing;
mod store;
mod taking;
mod world;

use stateright::{Model, Property};

use crate::defects::Defect;
pub use acts::Act;
pub use properties::*;

/// What an operation queues, and how it runs. It runs again if it has failed, and not any more once it is recorded; who
/// may run when is what the other models are about.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The client's key. It may be used again when the record of an earlier operation has expired.
    pub key: u8,
    /// Lease mode: each message is queued in the transaction of a step of its own.
    pub has_steps: bool,
    /// Its messages.
    pub messages: Vec<Message>,
}

/// A message as the application says it.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Its ordering key.
    pub order: Option<u8>,
    /// Whether it is not to be sent at once.
    pub is_delayed: bool,
}

/// How often something may happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Processes die and connections break.
    pub faults: u8,
    /// A message does not arrive, or nobody learns that it did; a handler fails; a relay is told to stop.
    pub mishaps: u8,
    /// A claim runs out although its relay lives.
    pub pauses: u8,
    /// Somebody has a dead message sent after all.
    pub requeues: u8,
    /// A sent message is deleted.
    pub prunings: u8,
}

/// Flaws that the code has or had, and the protocol as it is meant has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flaws {
    /// What the statement's snapshot shows and is not due any more is left out, and what follows it is taken. Found by the
    /// checker.
    pub take_leaves_gaps: bool,
    /// A dead message is requeued at its old position, in front of what others have taken. Found by a reader.
    pub requeued_in_front: bool,
}

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Outbox {
    /// The operations.
    pub operations: Vec<Operation>,
    /// How often each of them may run.
    pub runs: u8,
    /// How many relays there are.
    pub relays: usize,
    /// How many messages of one order a relay takes at once.
    pub in_order: usize,
    /// Whether the statement that takes has a snapshot that is older than its locks. On SQLite it has not.
    pub has_snapshots: bool,
    /// After how many attempts a message is given up.
    pub max_attempts: u8,
    /// How often what happens.
    pub budget: Budget,
    /// What the code is, or was, wrong in.
    pub flaws: Flaws,
    /// What is broken.
    pub defect: Option<Defect>,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fate {
    Waits,
    Sent,
    Dead,
}

/// A committed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    position: u8,
    message: u8,
    id: u8,
    fate: Fate,
    /// Whether its time has come.
    is_due: bool,
    /// The token of the taking.
    owner: Option<u8>,
    attempts: u8,
}

/// A row that is written and not committed. Without a position there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Queued {
    position: Option<u8>,
    message: u8,
    id: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Running {
    /// It has no open transaction.
    Idle,
    Open,
    /// Its process has died, and its COMMIT is on the wire.
    Left,
    Over,
}

/// The runs of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Run {
    running: Running,
    /// How many more runs there may be.
    left: u8,
    /// How many steps are finished.
    done: u8,
    /// What this run has queued so far, in whatever step.
    count: u8,
    queued: Vec<Queued>,
}

/// What became of a message, by the word of its relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Mark {
    Sent,
    Failed,
    Dead,
    Untried,
}

/// A statement that writes marks of one kind down.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Write {
    token: u8,
    mark: Mark,
    positions: Vec<u8>,
}

/// A message in hand, as it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Held {
    position: u8,
    message: u8,
    id: u8,
    attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Phase {
    Idle,
    /// These heads were seen.
    Looked(Vec<u8>),
    /// The statement that takes has its snapshot, and these runs are what it shows.
    Taking(Vec<Vec<u8>>),
    Working,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Relay {
    phase: Phase,
    token: u8,
    /// Its claim has run out.
    is_late: bool,
    /// What it has not tried.
    hand: Vec<Held>,
    /// What is not written down.
    told: Vec<(u8, Mark)>,
}

/// The database, the operations, the relays, the broker, and what has happened. Sets of messages are bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    left: Budget,
    rows: Vec<Row>,
    runs: Vec<Run>,
    relays: Vec<Relay>,
    flying: Vec<Write>,
    /// In the order of the commits.
    committed: Vec<u8>,
    arrived: u16,
    /// Those that were dead once.
    given_up: u16,
    pruned: u16,
    /// The id that each message had first.
    ids: Vec<Option<u8>>,
    wrongs: Wrongs,
}

/// What must never happen, seen when it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Wrongs {
    uncommitted: bool,
    overtaken: bool,
    another_id: bool,
    id_twice: bool,
    late_mark: bool,
}

/// One action of an operation, of a relay, or of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The operation, the relay, or the statement that is under way; for what concerns none, 0.
    pub who: usize,
    /// What it does.
    pub act: Act,
    /// With which position or token; for what concerns none, 0.
    pub what: u8,
}

impl Relay {
    const NEW: Self = Self {
        phase: Phase::Idle,
        token: 0,
        is_late: false,
        hand: Vec::new(),
        told: Vec::new(),
    };
}

impl Outbox {
    fn is(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// The messages of all operations have one row of numbers.
    fn number(&self, operation: usize, place: usize) -> u8 {
        let before = self.operations[..operation].iter();
        let before: usize = before.map(|one| one.messages.len()).sum();
        u8::try_from(before + place).unwrap_or(u8::MAX)
    }

    fn said(&self, message: u8) -> Message {
        let mut all = self.operations.iter().flat_map(|one| &one.messages);
        let nothing = Message {
            order: None,
            is_delayed: false,
        };
        all.nth(message.into()).copied().unwrap_or(nothing)
    }

    fn order(&self, message: u8) -> Option<u8> {
        self.said(message).order
    }
}

impl Model for Outbox {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let run = Run {
            running: Running::Idle,
            left: self.runs,
            done: 0,
            count: 0,
            queued: Vec::new(),
        };
        let messages = self.operations.iter().map(|one| one.messages.len()).sum();
        vec![State {
            left: self.budget,
            rows: Vec::new(),
            runs: vec![run; self.operations.len()],
            relays: vec![Relay::NEW; self.relays],
            flying: Vec::new(),
            committed: Vec::new(),
            arrived: 0,
            given_up: 0,
            pruned: 0,
            ids: vec![None; messages],
            wrongs: Wrongs::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        acts::all(self, state, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        if !self.act(&mut next, step) {
            return None;
        }
        // Which relay is which does not matter, but to whoever reads what went wrong.
        if self.defect.is_none() && self.flaws == Flaws::default() {
            next.relays.sort_unstable();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
