//! The defects that the application can be compiled with, by the names that IDEM_DEFECT takes: where each shows, and what
//! has to be out of its way. What they do is in the runtime, and that they are caught is shown by `trial`.

use crate::Outcome;
use crate::backends::Backend;
use crate::options::Choice;

pub(crate) struct Defect {
    pub(crate) name: &'static str,
    pub(crate) on: Choice,
    /// The primary key judges behind it, and lets no harm come of it.
    pub(crate) is_without_key: bool,
}

pub(crate) const ALL: &[Defect] = &[
    on_all("record-outside-transaction"),
    Defect {
        name: "no-lock-no-key",
        // SQLite itself lets nobody write over what it has not seen.
        on: Choice::Postgres,
        is_without_key: true,
    },
    Defect {
        name: "look-before-lock",
        on: Choice::Both,
        is_without_key: true,
    },
    on_all("fingerprint-not-compared"),
    on_all("scope-left-out"),
    on_all("fence-skipped"),
    on_all("stale-lease-taken"),
    on_all("pruner-deletes-pending"),
    on_all("body-reserialized"),
    Defect {
        name: "commit-error-ignored",
        // On SQLite there is no wire to be cut, and whoever has come to COMMIT is the one writer.
        on: Choice::Postgres,
        is_without_key: false,
    },
    on_all("message-outside-transaction"),
    Defect {
        name: "stream-lock-skipped",
        // On SQLite whoever writes is alone, and there is no lock.
        on: Choice::Postgres,
        is_without_key: false,
    },
    on_all("sent-before-published"),
    on_all("order-not-held"),
];

const fn on_all(name: &'static str) -> Defect {
    Defect {
        name,
        on: Choice::Both,
        is_without_key: false,
    }
}

const POSTGRES_WITHOUT_KEY: &str = "
    ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;
    CREATE INDEX idempotency_keys_id ON idempotency_keys (id)";

/// A primary key cannot be dropped here. A table that is made of another one has none.
const SQLITE_WITHOUT_KEY: &str = "
    BEGIN IMMEDIATE;
    CREATE TABLE keyless AS SELECT * FROM idempotency_keys;
    DROP TABLE idempotency_keys;
    ALTER TABLE keyless RENAME TO idempotency_keys;
    CREATE INDEX idempotency_keys_id ON idempotency_keys (id);
    COMMIT";

/// Takes out of the way what would hide it, once the tables are there.
pub(crate) async fn prepare(name: &str, backend: &dyn Backend) -> Outcome {
    if ALL.iter().any(|one| one.name == name && one.is_without_key) {
        backend
            .execute(match backend.name() {
                "postgres" => POSTGRES_WITHOUT_KEY,
                _ => SQLITE_WITHOUT_KEY,
            })
            .await?;
    }
    Ok(())
}
