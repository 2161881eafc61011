//! What the pump has to know of a protocol: where a message ends, which SQL it makes the server run, and when the server
//! has answered. No I/O.

use super::mysql::Mysql;
use super::postgres::Postgres;
use crate::Backend;

/// One connection's.
pub(super) trait Protocol: Send {
    /// The client has sent these bytes.
    fn asks(&mut self, bytes: &[u8]);

    /// The client's next message, once it is whole. The server owes the answer from now on.
    fn next(&mut self) -> Option<Asked>;

    /// The server has sent these bytes.
    fn answers(&mut self, bytes: &[u8]);

    /// Whether the server owes nothing.
    fn is_settled(&self) -> bool;
}

/// A message of the client.
pub(super) struct Asked {
    /// As it was on the wire.
    pub(super) frame: Vec<u8>,
    /// The SQL that it makes the server run, if it does.
    pub(super) sql: Option<String>,
    /// The client waits for nothing after this, or is not let in yet.
    pub(super) is_outside_rounds: bool,
}

pub(super) fn of(backend: Backend) -> Box<dyn Protocol> {
    match backend {
        Backend::Mysql => Box::new(Mysql::default()),
        Backend::Postgres => Box::new(Postgres::default()),
        Backend::Sqlite => panic!("SQLite has no wire"),
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
