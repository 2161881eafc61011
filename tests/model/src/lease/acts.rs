//! The actions, and in which phase each may happen.

use super::{Lease, Phase, State, Step};
use crate::acts::acts;

acts! {
    /// What may happen.
    Act
    code {
        /// Lock and look; a free key leaves the transaction open.
        Claim = "claim" in "store/postgres.rs",
        /// The pending row, and COMMIT.
        Pend = "pend" in "store/postgres/lease.rs",
        /// Whether a pending row whose COMMIT was not answered is there.
        IsOurs = "is_ours" in "lease/claim.rs",
        /// A look at the claim that was found.
        State = "state" in "store/lease/state.rs",
        /// A claim that has run out is made ours.
        TakeOver = "take_over" in "store/lease.rs",
        /// The claim is trusted anew.
        Renew = "renew" in "store/lease.rs",
        /// A step calls the outside world.
        Call = "call" in "lease/steps.rs",
        /// The step's record, by itself.
        FinishStep = "finish_step" in "store/lease.rs",
        /// A step works in a transaction.
        Transaction = "transaction" in "lease/steps/transaction.rs",
        /// The step's record, behind its work.
        CommitStep = "commit_step" in "store/lease.rs",
        /// COMMIT of a step's transaction.
        Commit = "commit" in "store/postgres.rs",
        /// Whether a step whose COMMIT was not answered is finished.
        IsFinished = "is_finished" in "lease/steps/transaction.rs",
        /// The response ends the claim.
        Record = "record" in "store/lease.rs",
        /// Whether an earlier try of the record was ours.
        IsRecordedBy = "is_recorded_by" in "lease/attempt.rs",
        /// The claim goes, without a trace.
        Forget = "forget" in "store/lease.rs",
        /// The lease ends, and a retry may go on.
        GiveBack = "give_back" in "store/lease.rs",
        /// The lease ends.
        End = "end" in "store/lease.rs",
        /// The client of a late owner is told what is known.
        Lost = "lost" in "lease/attempt.rs",
        /// A worker takes an operation whose lease has run out.
        Due = "due" in "store/lease/unresolved.rs",
        /// The reconciler looks into the outside world. It is honest.
        Reconcile = "reconcile" in "workers/reconcile.rs",
        /// The verdict that it was done.
        Settle = "settle" in "store/lease/unresolved.rs",
        /// The verdict that it was not done.
        Release = "release" in "store/lease/unresolved.rs",
        /// One turn of the pruner.
        Prune = "prune" in "store/postgres/prune.rs",
    }
    world {
        /// The handler answers that it has refused the request.
        HandlerRefuses,
        /// The handler fails: nobody knows what it has done outside.
        HandlerFails,
        /// The process dies. What is on the wire may still be executed.
        Crash,
        /// A connection breaks. What is on the wire may still be executed, and the process goes on.
        Cut,
        /// The process gives up a store that does not answer.
        GivesUp,
        /// A statement that nobody waits for is executed.
        Lands,
        /// A statement that nobody waits for never will be.
        IsDropped,
        /// The database's clock goes on.
        Tick,
    }
}

/// What no attempt does.
pub(super) const OF_NOBODY: &[Act] = &[
    Act::Due,
    Act::Reconcile,
    Act::Settle,
    Act::Release,
    Act::Prune,
    Act::Tick,
];

pub(super) fn of(phase: Phase) -> &'static [Act] {
    use Act::*;
    match phase {
        Phase::Idle => &[Claim],
        Phase::Pend => &[Pend, Crash, Cut],
        Phase::IsOurs => &[IsOurs, Crash, GivesUp],
        Phase::State => &[State, Crash],
        Phase::TakeOver(..) => &[TakeOver, Crash],
        Phase::Charge => &[Call, HandlerRefuses, HandlerFails, Crash],
        Phase::FinishStep => &[
            FinishStep,
            HandlerRefuses,
            HandlerFails,
            Crash,
            Cut,
            GivesUp,
        ],
        Phase::Order => &[Transaction, HandlerRefuses, HandlerFails, Crash],
        Phase::CommitStep => &[CommitStep, HandlerRefuses, HandlerFails, Crash],
        Phase::Commit => &[Commit, Crash, Cut],
        Phase::IsFinished => &[IsFinished, Crash, GivesUp],
        Phase::Record => &[Record, Crash, Cut, GivesUp],
        Phase::IsRecordedBy => &[IsRecordedBy, Crash],
        Phase::Forget(_) => &[Forget, Crash, Cut, GivesUp],
        Phase::GiveBack => &[GiveBack, Crash, Cut, GivesUp],
        Phase::End => &[End, Crash, Cut, GivesUp],
        Phase::Lost => &[Lost, Crash],
        Phase::Over => &[],
    }
}

impl Lease {
    /// Does it; `false` where it cannot happen now.
    pub(super) fn act(&self, state: &mut State, step: Step) -> bool {
        let who = step.who;
        match step.act {
            Act::Claim => self.claim(state, who),
            Act::Pend => self.pend(state, who),
            Act::IsOurs => self.is_ours(state, who),
            Act::State => self.state(state, who),
            Act::TakeOver => self.take_over(state, who),
            Act::Renew => self.renew(state, who),
            Act::Call => self.call(state, who),
            Act::FinishStep => self.finish_step(state, who),
            Act::Transaction => self.transaction(state, who),
            Act::CommitStep => self.commit_step(state, who),
            Act::Commit => self.commit(state, who),
            Act::IsFinished => self.is_finished(state, who),
            Act::Record => self.record(state, who),
            Act::IsRecordedBy => self.is_recorded_by(state, who),
            Act::Forget => self.forget(state, who),
            Act::GiveBack => self.give_back(state, who),
            Act::End => self.end(state, who),
            Act::Lost => self.lost(state, who),
            Act::Due => self.due(state),
            Act::Reconcile => self.reconcile(state),
            Act::Settle => self.settle(state),
            Act::Release => self.release(state),
            Act::Prune => self.prune(state),
            Act::HandlerRefuses => self.handler_refuses(state, who),
            Act::HandlerFails => self.handler_fails(state, who),
            Act::Crash => self.crash(state, who),
            Act::Cut => self.cut(state, who),
            Act::GivesUp => self.gives_up(state, who),
            Act::Lands => self.lands(state, who),
            Act::IsDropped => self.is_dropped(state, who),
            Act::Tick => {
                state.clock += 1;
                state.clock <= self.ticks
            }
        }
    }
}
