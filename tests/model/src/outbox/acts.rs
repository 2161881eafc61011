//! The actions, and when each may happen.

use super::{Outbox, Phase, Running, State, Step};
use crate::acts::acts;

acts! {
    /// What may happen.
    Act
    code {
        /// One message, in the open transaction, behind the lock of its order.
        Enqueue = "enqueue" in "outbox/enqueue.rs",
        /// COMMIT of an operation, with its record.
        CommitWith = "commit_with" in "transaction/postgres.rs",
        /// COMMIT of a step, with its record.
        CommitStep = "commit_step" in "store/lease.rs",
        /// A relay looks for heads that are due.
        Look = "look" in "store/outbox/relay.rs",
        /// The statement that takes has two parts: its snapshot; then it locks and writes what is still due.
        Take = "take" in "store/outbox/relay.rs",
        /// A message arrives, and the relay learns it.
        Publish = "publish" in "outbox/publisher.rs",
        /// It is written down which messages have arrived.
        Sent = "sent" in "store/outbox/relay.rs",
        /// It is written down that a message is tried again.
        PutOff = "put_off" in "store/outbox/relay.rs",
        /// It is written down that a message is dead.
        GiveUp = "give_up" in "store/outbox/relay.rs",
        /// What was not tried is everybody's.
        GiveBack = "give_back" in "store/outbox/relay.rs",
        /// A dead message comes behind what is queued.
        Requeue = "requeue" in "outbox/letters.rs",
        /// A sent message is deleted, at whatever time.
        Prune = "prune" in "store/outbox/relay.rs",
    }
    world {
        /// The handler fails, or dies: its transaction is rolled back.
        HandlerFails,
        /// The handler's process dies behind its COMMIT.
        HandlerDies,
        /// A COMMIT that nobody waits for is executed.
        CommitLands,
        /// A COMMIT that nobody waits for never will be.
        CommitIsDropped,
        /// A message arrives, and the relay does not learn it.
        AckIsLost,
        /// The broker is away.
        DoesNotArrive,
        /// The broker refuses the message for good.
        IsRefused,
        /// A relay is told to stop, or its time is over: it tries nothing more.
        LeavesTheRest,
        /// A relay whose claim has run out cannot write down what has become of its messages.
        GivesUpWriting,
        /// A relay dies. What is on the wire may still be executed.
        Crash,
        /// The connection of a relay breaks. What is on the wire may still be executed, and it is written once more.
        Cut,
        /// A statement that nobody waits for is executed.
        Lands,
        /// A statement that nobody waits for never will be.
        IsDropped,
        /// A claim runs out.
        RunsOut,
        /// The time of a message has come.
        ComesDue,
    }
}

const OF_A_RELAY: &[Act] = &[
    Act::Look,
    Act::Take,
    Act::Sent,
    Act::PutOff,
    Act::GiveUp,
    Act::GiveBack,
    Act::LeavesTheRest,
    Act::GivesUpWriting,
    Act::Crash,
    Act::Cut,
];

const OF_A_MESSAGE_IN_HAND: &[Act] = &[
    Act::Publish,
    Act::AckIsLost,
    Act::DoesNotArrive,
    Act::IsRefused,
];

const OF_A_ROW: &[Act] = &[Act::Requeue, Act::Prune, Act::ComesDue];

pub(super) fn all(model: &Outbox, state: &State, actions: &mut Vec<Step>) {
    let mut push = |who, act, what| actions.push(Step { who, act, what });
    for (who, run) in state.runs.iter().enumerate() {
        let acts: &[Act] = match run.running {
            Running::Idle => &[Act::Enqueue, Act::HandlerFails],
            Running::Open => &[
                Act::Enqueue,
                Act::CommitWith,
                Act::CommitStep,
                Act::HandlerFails,
                Act::HandlerDies,
            ],
            Running::Left => &[Act::CommitLands, Act::CommitIsDropped],
            Running::Over => &[],
        };
        acts.iter().for_each(|&act| push(who, act, 0));
    }
    for (who, relay) in state.relays.iter().enumerate() {
        OF_A_RELAY.iter().for_each(|&act| push(who, act, 0));
        for position in model.firsts(relay) {
            let acts = OF_A_MESSAGE_IN_HAND.iter();
            acts.for_each(|&act| push(who, act, position));
        }
    }
    for who in 0..state.flying.len() {
        push(who, Act::Lands, 0);
        push(who, Act::IsDropped, 0);
    }
    for row in &state.rows {
        OF_A_ROW.iter().for_each(|&act| push(0, act, row.position));
    }
    let mut owners: Vec<_> = state.rows.iter().filter_map(|row| row.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
        .into_iter()
        .for_each(|token| push(0, Act::RunsOut, token));
}

impl Outbox {
    /// Does it; `false` where it cannot happen now.
    pub(super) fn act(&self, state: &mut State, step: Step) -> bool {
        let Step { who, act, what } = step;
        match act {
            Act::Enqueue => self.enqueue(state, who),
            Act::CommitWith => !self.operations[who].has_steps && self.commit(state, who),
            Act::CommitStep => self.operations[who].has_steps && self.commit(state, who),
            Act::HandlerFails => self.handler_fails(state, who),
            Act::HandlerDies => self.handler_dies(state, who),
            Act::CommitLands => self.commit_lands(state, who),
            Act::CommitIsDropped => self.commit_is_dropped(state, who),
            Act::Look => self.look(state, who),
            Act::Take => match state.relays[who].phase {
                Phase::Looked(_) if self.has_snapshots => self.begin_taking(state, who),
                Phase::Looked(_) => self.begin_taking(state, who) && self.take(state, who),
                Phase::Taking(_) => self.take(state, who),
                _ => false,
            },
            Act::Publish => self.publish(state, who, what),
            Act::AckIsLost => self.ack_is_lost(state, who, what),
            Act::DoesNotArrive => self.does_not_arrive(state, who, what),
            Act::IsRefused => self.is_refused(state, who, what),
            Act::LeavesTheRest => self.leaves_the_rest(state, who),
            Act::Sent | Act::PutOff | Act::GiveUp | Act::GiveBack => self.write(state, who, act),
            Act::GivesUpWriting => self.gives_up_writing(state, who),
            Act::Crash => self.crash(state, who),
            Act::Cut => self.cut(state, who),
            Act::Lands => self.lands(state, who),
            Act::IsDropped => {
                state.flying.remove(who);
                true
            }
            Act::RunsOut => self.runs_out(state, what),
            Act::ComesDue => self.comes_due(state, what),
            Act::Requeue => self.requeue(state, what),
            Act::Prune => self.prune(state, what),
        }
    }
}
