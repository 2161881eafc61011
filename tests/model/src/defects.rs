//! Deliberate defects. Each is one line of the protocol left out or turned round, and names the property
//! that has to notice.

/// What is broken in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Defect {
    // Transaction mode
    /// The effect is committed first, and the record by itself behind it.
    RecordOutsideTransaction,
    /// Nobody takes a lock, and a record is written over whatever is there.
    NoLockNoKey,
    /// The look's snapshot is older than the lock, and a record is written over whatever is there.
    LookBeforeLock,
    /// A record answers whatever request has its key.
    FingerprintNotCompared,
    /// Row and locks are named by the key alone.
    ScopeLeftOut,
    /// The locks are named by the fingerprint alone.
    LocksWithoutKey,
    /// The lock on the key is taken first.
    KeyLockedFirst,
    /// Whatever the database says of record and COMMIT, the handler's answer is sent.
    CommitErrorIgnored,
    /// A record is replayed whether or not it has expired.
    ExpiredTakenForLive,
    /// The record of a refusal is written over whatever is there.
    RefusalWithoutKey,
    /// The locks are those of the connection, and outlive a transaction that is rolled back.
    LocksOutliveTransaction,
    /// The pruner deletes records before they expire.
    PrunerDeletesLive,

    // Lease mode
    /// The record does not prove its owner.
    FenceSkippedOnRecord,
    /// A step does not prove its owner.
    FenceSkippedOnStep,
    /// A claim whose lease has run out may be taken by everybody.
    StaleTakenForFree,
    /// The pruner deletes claims whose lease has run out.
    PrunerDeletesPending,
    /// Steps are read in one statement and the claim is taken in the next.
    StepsReadBeforeTaking,
    /// Whoever takes a claim over does not prove the owner that it has seen.
    TakenUnseen,
    /// A verdict does not say which lease it is about.
    VerdictOnAnyLease,
    /// A claim that is ended keeps its owner.
    EndedKeepsOwner,
    /// A release is for every run that follows.
    ReleasedSticks,
    /// A claim is forgotten although the outside world has been called under it.
    ForgottenThoughCalled,
    /// A settled record keeps the owner of the claim.
    SettledKeepsOwner,
    /// A step whose COMMIT was not answered is taken for finished.
    DoubtTakenForDone,
    /// A released claim is not taken over.
    ReleasedIsNobodys,

    // The outbox
    /// A message is queued on another connection than that of its transaction.
    QueuedByItself,
    /// A message that did not arrive is marked as sent.
    FailureTakenForSent,
    /// A message whose id is in the table is taken for queued.
    ConflictTakenForDone,
    /// The pruner deletes messages by their age, sent or not.
    PrunerDeletesUnsent,
    /// The pruner deletes dead messages.
    PrunerDeletesDead,
    /// What is behind a dead message waits for it.
    DeadHoldsUp,
    /// What a relay has taken is its own until it says otherwise.
    ClaimsNeverRunOut,
    /// The place in an id counts what the run has queued, in whatever step.
    PlaceInTheRun,
    /// Each publishing makes an id of its own.
    IdOfThePublishing,
    /// The table takes an id twice.
    IdNotUnique,
    /// Who queues does not lock the order.
    NoOrderLock,
    /// What is put off is passed by, and what is behind it taken.
    ClosedIsPassedBy,
    /// What is behind a message that failed is published.
    GoesOnBehindFailure,
    /// What is due is taken, whatever is before it.
    NotThroughTheHead,
    /// A head that was due when it was seen is taken.
    HeadTakenAsSeen,
    /// Who requeues does not lock the order.
    RequeuedUnlocked,
    /// A relay has one token for all that it takes.
    TokenOfTheRelay,
    /// A mark does not prove its owner.
    MarkedUnproved,
}

impl Defect {
    /// Those of transaction mode.
    pub const TRANSACTION: &'static [Self] = &[
        Self::RecordOutsideTransaction,
        Self::NoLockNoKey,
        Self::LookBeforeLock,
        Self::FingerprintNotCompared,
        Self::ScopeLeftOut,
        Self::LocksWithoutKey,
        Self::KeyLockedFirst,
        Self::CommitErrorIgnored,
        Self::ExpiredTakenForLive,
        Self::RefusalWithoutKey,
        Self::LocksOutliveTransaction,
        Self::PrunerDeletesLive,
    ];

    /// Those of lease mode.
    pub const LEASE: &'static [Self] = &[
        Self::FenceSkippedOnRecord,
        Self::FenceSkippedOnStep,
        Self::StaleTakenForFree,
        Self::PrunerDeletesPending,
        Self::StepsReadBeforeTaking,
        Self::TakenUnseen,
        Self::VerdictOnAnyLease,
        Self::EndedKeepsOwner,
        Self::ReleasedSticks,
        Self::ForgottenThoughCalled,
        Self::SettledKeepsOwner,
        Self::DoubtTakenForDone,
        Self::ReleasedIsNobodys,
    ];

    /// Those of the outbox.
    pub const OUTBOX: &'static [Self] = &[
        Self::QueuedByItself,
        Self::FailureTakenForSent,
        Self::ConflictTakenForDone,
        Self::PrunerDeletesUnsent,
        Self::PrunerDeletesDead,
        Self::DeadHoldsUp,
        Self::ClaimsNeverRunOut,
        Self::PlaceInTheRun,
        Self::IdOfThePublishing,
        Self::IdNotUnique,
        Self::NoOrderLock,
        Self::ClosedIsPassedBy,
        Self::GoesOnBehindFailure,
        Self::NotThroughTheHead,
        Self::HeadTakenAsSeen,
        Self::RequeuedUnlocked,
        Self::TokenOfTheRelay,
        Self::MarkedUnproved,
    ];

    /// The property that must not hold with it.
    #[must_use]
    pub fn caught_by(self) -> &'static str {
        use crate::{lease, outbox, transaction};
        match self {
            Self::RecordOutsideTransaction => transaction::NO_EFFECT_WITHOUT_RECORD,
            Self::NoLockNoKey | Self::LookBeforeLock => transaction::NO_SECOND_EFFECT,
            Self::FingerprintNotCompared | Self::RefusalWithoutKey => transaction::EQUAL_ANSWERS,
            Self::ScopeLeftOut | Self::LocksWithoutKey | Self::KeyLockedFirst => {
                transaction::NOT_IN_THE_WAY
            }
            Self::CommitErrorIgnored => transaction::NO_ANSWER_WITHOUT_EFFECT,
            Self::ExpiredTakenForLive => transaction::NO_EXPIRED_ANSWER,
            Self::LocksOutliveTransaction => transaction::NOT_BLOCKED,
            Self::PrunerDeletesLive => transaction::NO_RECORD_LOST,
            Self::FenceSkippedOnRecord | Self::SettledKeepsOwner => lease::EQUAL_ANSWERS,
            Self::FenceSkippedOnStep | Self::StepsReadBeforeTaking => lease::NO_SECOND_EFFECT,
            Self::StaleTakenForFree | Self::ReleasedSticks => lease::NO_CALL_WITHOUT_A_WORD,
            Self::PrunerDeletesPending => lease::NO_CLAIM_LOST,
            Self::TakenUnseen => lease::NO_LIVE_CLAIM_TAKEN,
            Self::VerdictOnAnyLease => lease::NO_VERDICT_ON_WHAT_WAS_NOT_SEEN,
            Self::EndedKeepsOwner => lease::ENDED_STAYS_ENDED,
            Self::ForgottenThoughCalled => lease::ONE_KEY_ONE_BODY,
            Self::DoubtTakenForDone => lease::NO_ANSWER_WITHOUT_EFFECT,
            Self::ReleasedIsNobodys => lease::NOT_BLOCKED,
            Self::QueuedByItself => outbox::NONE_WITHOUT_COMMIT,
            Self::FailureTakenForSent => outbox::SENT_HAS_ARRIVED,
            Self::ConflictTakenForDone => outbox::NONE_LOST,
            Self::PrunerDeletesUnsent | Self::PrunerDeletesDead => outbox::NONE_PRUNED_UNSENT,
            Self::DeadHoldsUp | Self::ClaimsNeverRunOut => outbox::NONE_WAITS_FOR_EVER,
            Self::PlaceInTheRun | Self::IdOfThePublishing => outbox::ONE_ID,
            Self::IdNotUnique => outbox::OWN_IDS,
            Self::NoOrderLock | Self::ClosedIsPassedBy | Self::GoesOnBehindFailure => {
                outbox::IN_ORDER
            }
            Self::NotThroughTheHead
            | Self::HeadTakenAsSeen
            | Self::RequeuedUnlocked
            | Self::TokenOfTheRelay => outbox::ONE_HOLDER,
            Self::MarkedUnproved => outbox::LATE_MARKS_NOTHING,
        }
    }
}
