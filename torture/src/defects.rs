//! The defects that the application can be compiled with, by the names that IDEM_DEFECT takes: where each shows, and what
//! has to be out of its way. What they do is in the runtime, and that they are caught is shown by `trial`.

use crate::Outcome;
use crate::backends::{self, Backend};
use crate::options::Style;

pub(crate) struct Defect {
    pub(crate) name: &'static str,
    /// On SQLite there is nothing of the kind that could be wrong.
    needs_server: bool,
    /// It is one of lease mode, which blocking handlers do not have.
    needs_leases: bool,
    /// The primary key judges behind it, and lets no harm come of it.
    is_without_key: bool,
}

pub(crate) const ALL: &[Defect] = &[
    anywhere("record-outside-transaction"),
    Defect {
        // SQLite itself lets nobody write over what it has not seen.
        needs_server: true,
        is_without_key: true,
        ..anywhere("no-lock-no-key")
    },
    Defect {
        is_without_key: true,
        ..anywhere("look-before-lock")
    },
    anywhere("fingerprint-not-compared"),
    anywhere("scope-left-out"),
    Defect {
        needs_leases: true,
        ..anywhere("fence-skipped")
    },
    Defect {
        needs_leases: true,
        ..anywhere("stale-lease-taken")
    },
    Defect {
        // Only there is a row pending.
        needs_leases: true,
        ..anywhere("pruner-deletes-pending")
    },
    anywhere("body-reserialized"),
    Defect {
        // On SQLite there is no wire to be cut, and whoever has come to COMMIT is the one writer.
        needs_server: true,
        ..anywhere("commit-error-ignored")
    },
    anywhere("message-outside-transaction"),
    Defect {
        // On SQLite whoever writes is alone, and there is no lock.
        needs_server: true,
        ..anywhere("stream-lock-skipped")
    },
    anywhere("sent-before-published"),
    anywhere("order-not-held"),
];

const fn anywhere(name: &'static str) -> Defect {
    Defect {
        name,
        needs_server: false,
        needs_leases: false,
        is_without_key: false,
    }
}

impl Defect {
    pub(crate) fn shows(&self, backend: &str, style: Style) -> bool {
        (backends::has_server(backend) || !self.needs_server)
            && (style != Style::Blocking || !self.needs_leases)
    }
}

/// Takes out of the way what would hide it, once the tables are there.
pub(crate) async fn prepare(name: &str, backend: &dyn Backend) -> Outcome {
    if ALL.iter().any(|one| one.name == name && one.is_without_key) {
        backend.execute(backend.without_key()).await?;
    }
    Ok(())
}
