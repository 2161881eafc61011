//! One change of one row: done, written down, told.
//!
//! No SQL, nothing about whether it is to be done.

use diesel::QueryResult;
use idem_runtime::Backend;

use crate::audit::{Audit, Change};
use crate::error::Error;
use crate::output::print_done;

/// How a change is spoken of.
pub(crate) struct Words<'a> {
    /// The row's.
    pub(crate) id: &'a str,
    pub(crate) done: &'static str,
    pub(crate) not_done: &'static str,
    /// Why nothing was done.
    pub(crate) refusal: &'static str,
    pub(crate) json: bool,
}

/// Makes the change, which says whether it was made.
pub(crate) async fn carry_out<C: Backend>(
    conn: &mut C,
    audit: Audit,
    words: Words<'_>,
    change: impl AsyncFnOnce(&mut C) -> QueryResult<bool>,
) -> Result<(), Error> {
    let done = match change(conn).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::Refused(words.refusal.to_owned())),
        Err(error) => Err(error.into()),
    };
    let outcome = match &done {
        Ok(()) => words.done,
        Err(Error::Refused(_)) => words.not_done,
        Err(Error::Locked(_)) => "not done",
        Err(_) => "unknown",
    };
    let line = Change {
        row: Some(words.id),
        rows: None,
        outcome,
    };
    let written = audit.write(conn, line).await;
    written.behind(done, |()| print_done(words.json, words.id, words.done))
}
