//! Seeded defects: mistakes that a careless change could make, each at the place where it would be made, so that
//! `cargo xtask torture --defects` can show that they are caught. They exist only under `--cfg idem_defects`; in every
//! other build [`is_seeded`] is the constant `false`. What a defect does stands where it is done, never here.

/// What is wrong, where somebody has asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// The effects are committed first, and then the record in a transaction of its own.
    RecordOutsideTransaction,
    /// A refused lock counts as ours. The driver drops the primary key, which would be the next to judge.
    NoLockNoKey,
    /// The record is looked for before the lock is had, and not again. The driver drops the primary key.
    LookBeforeLock,
    /// Every record is taken for this request's.
    FingerprintNotCompared,
    /// The digest that names an operation is of its key alone.
    ScopeLeftOut,
    /// A statement in lease mode finds its row whoever owns it.
    FenceSkipped,
    /// An ended lease is taken over whatever its rule is.
    StaleLeaseTaken,
    /// Pruning deletes pending rows too, once their lease has ended.
    PrunerDeletesPending,
    /// A JSON body is stored as a serializer writes it.
    BodyReserialized,
    /// Whatever COMMIT says, the operation counts as recorded.
    CommitErrorIgnored,
    /// A message is committed as soon as it is queued, and the rest in a transaction of its own.
    MessageOutsideTransaction,
    /// Positions of one ordering key are given out without its lock.
    StreamLockSkipped,
    /// A message counts as sent before it is published.
    SentBeforePublished,
    /// Those behind a message that did not arrive are published all the same.
    OrderNotHeld,
}

/// Whether this process has it.
#[cfg(not(idem_defects))]
pub(crate) const fn is_seeded(_: Defect) -> bool {
    false
}

/// Says which defect this process has.
#[cfg(not(idem_defects))]
pub(crate) const fn announce() {}

#[cfg(idem_defects)]
pub(crate) use seeded::{announce, is_seeded};

#[cfg(idem_defects)]
mod seeded {
    use std::env;
    use std::sync::LazyLock;

    use super::Defect;

    const NAME: &str = "IDEM_DEFECT";

    const ALL: [(&str, Defect); 14] = [
        (
            "record-outside-transaction",
            Defect::RecordOutsideTransaction,
        ),
        ("no-lock-no-key", Defect::NoLockNoKey),
        ("look-before-lock", Defect::LookBeforeLock),
        ("fingerprint-not-compared", Defect::FingerprintNotCompared),
        ("scope-left-out", Defect::ScopeLeftOut),
        ("fence-skipped", Defect::FenceSkipped),
        ("stale-lease-taken", Defect::StaleLeaseTaken),
        ("pruner-deletes-pending", Defect::PrunerDeletesPending),
        ("body-reserialized", Defect::BodyReserialized),
        ("commit-error-ignored", Defect::CommitErrorIgnored),
        (
            "message-outside-transaction",
            Defect::MessageOutsideTransaction,
        ),
        ("stream-lock-skipped", Defect::StreamLockSkipped),
        ("sent-before-published", Defect::SentBeforePublished),
        ("order-not-held", Defect::OrderNotHeld),
    ];

    static SEEDED: LazyLock<Option<Defect>> = LazyLock::new(|| {
        let name = env::var(NAME).ok().filter(|name| !name.is_empty())?;
        let found = ALL.iter().find(|(known, _)| *known == name);
        let Some((_, defect)) = found else {
            let names = ALL.map(|(name, _)| name).join(", ");
            panic!("{NAME}: there is no defect `{name}`; there are {names}");
        };
        eprintln!("idem-runtime: THIS PROCESS IS WRONG ON PURPOSE: {name}");
        Some(*defect)
    });

    pub(crate) fn is_seeded(defect: Defect) -> bool {
        *SEEDED == Some(defect)
    }

    pub(crate) fn announce() {
        LazyLock::force(&SEEDED);
    }
}
