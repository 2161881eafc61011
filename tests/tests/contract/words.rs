//! What each server's statements are known by on the wire. No case lives here.

use idem_tests::Backend;

/// A piece of each, that is in nothing else.
pub(crate) struct Words {
    /// What a claim is made of, in its order.
    pub(crate) claim: [&'static str; 3],
    /// The one of them that duplicates are told by.
    pub(crate) lock: &'static str,
    /// What a handler of the test application does.
    pub(crate) work: &'static str,
    /// What is asked behind the end of a transaction, if anything is.
    pub(crate) behind: Option<&'static str>,
    /// What a relay takes messages with, for good.
    pub(crate) taken: &'static str,
    /// What sets a connection up.
    pub(crate) settings: &'static [&'static str],
}

/// The same everywhere.
pub(crate) const LOOK: &str = "FROM idempotency_keys WHERE id";
pub(crate) const RECORD: &str = "INSERT INTO idempotency_keys";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

pub(crate) fn words(backend: Backend) -> Words {
    match backend {
        Backend::Postgres => Words {
            claim: ["BEGIN", "pg_try_advisory_xact_lock", LOOK],
            lock: "pg_try_advisory_xact_lock",
            work: "INSERT INTO \"effects\"",
            behind: None,
            taken: "SET owner",
            settings: &["idle_in_transaction_session_timeout", "tcp_keepalives_idle"],
        },
        Backend::Mysql => Words {
            claim: ["GET_LOCK", LOOK, "START TRANSACTION"],
            lock: "GET_LOCK",
            work: "INSERT INTO `effects`",
            behind: Some("RELEASE_ALL_LOCKS"),
            taken: COMMIT,
            settings: &["wait_timeout = ", "autocommit = "],
        },
        Backend::Sqlite => panic!("SQLite has no wire"),
    }
}
