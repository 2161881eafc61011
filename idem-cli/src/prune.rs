//! `idem prune`: expired records, batch by batch. Whoever interrupts it gets the batch finished first.

use idem_runtime::inspect::{self, OperationState};
use idem_runtime::{Backend, Pruner};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::time::sleep;

use crate::args::Prune;
use crate::audit::{Audit, Change};
use crate::confirm::confirm;
use crate::error::Error;
use crate::output::print;

#[derive(Serialize)]
struct Done {
    deleted: u64,
}

pub(crate) async fn prune<C: Backend>(conn: &mut C, asked: Prune) -> Result<(), Error> {
    let expired = match asked.changing.yes {
        // Counting them may take longer than deleting some.
        true => None,
        false => Some(inspect::count(conn, OperationState::Expired).await?.count),
    };
    if let Some(expired @ 1..) = expired {
        confirm(
            &asked.changing,
            &format!("Delete {expired} expired records?"),
        )?;
    }
    let audit = Audit::open("prune", asked.changing.audit)?;
    let bar = bar(expired);
    let mut deleted = 0;
    let mut pruner = Pruner::new();
    let done = loop {
        if audit.is_interrupted() {
            let refusal = format!("interrupted: {deleted} expired records deleted");
            break Err(Error::Refused(refusal));
        }
        match pruner.batch(conn, asked.batch).await {
            Ok(batch) => {
                deleted += batch as u64;
                bar.set_position(deleted);
                if batch < asked.batch as usize {
                    break Ok(());
                }
            }
            Err(error) => break Err(error.into()),
        }
        sleep(asked.pause).await;
    };
    bar.finish_and_clear();
    let outcome = match done {
        Ok(()) => "deleted",
        Err(_) => "ended early",
    };
    let change = Change {
        row: None,
        rows: Some(deleted),
        outcome,
    };
    let written = audit.write(conn, change).await;
    written.behind(done, |()| {
        print(asked.target.json, &Done { deleted }, || {
            format!("{deleted} expired records deleted")
        });
    })
}

/// On standard error, where that is a terminal.
fn bar(expired: Option<u64>) -> ProgressBar {
    let (bar, template) = match expired {
        Some(expired) => (
            ProgressBar::new(expired),
            "{bar:40} {human_pos}/{human_len} records, {per_sec}, {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {human_pos} records, {per_sec}",
        ),
    };
    let style = ProgressStyle::with_template(template);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
