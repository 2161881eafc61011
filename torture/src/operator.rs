//! Who settles what nobody else knows the end of, once all harm is over: by the books, which say what has happened.
//! Uses the runtime's public door only.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use idem_runtime::policy::Unresolved;
use idem_runtime::{Backend, RecordedResponse, Verdict, settle as say, unresolved};

use crate::Outcome;
use crate::backends::{self, Tables};
use crate::plan::{Operation, Settler};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What the operator answers, with the tenant's name behind it.
pub(crate) const WORDS: &str = "settled for ";
const LIMIT: u32 = 10_000;

/// By then a handler that has outlived its lease has ended, and so has the last statement of one that was dropped: it
/// sleeps for three seconds, and a statement on SQLite waits five for whoever writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What has happened of operations that may have to be settled, by scope and key.
struct Books(HashMap<(String, String), (Arc<Operation>, bool)>);

/// How many were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    pub(crate) completed: u64,
    pub(crate) released: u64,
}

impl Books {
    fn of(operations: &[Arc<Operation>], tables: &Tables) -> Self {
        let held = operations
            .iter()
            .filter(|operation| operation.settler == Settler::Operator);
        Self(
            held.map(|operation| {
                let name = (
                    format!("account:{}", operation.tenant),
                    operation.key.clone(),
                );
                let has_happened = operation.variants.iter().any(|variant| {
                    tables.effects.contains_key(&variant.label)
                        || tables.calls.contains_key(&variant.label)
                });
                (name, (Arc::clone(operation), has_happened))
            })
            .collect(),
        )
    }
}

impl AddAssign for Settled {
    fn add_assign(&mut self, other: Self) {
        self.completed += other.completed;
        self.released += other.released;
    }
}

/// Of what the table says is unresolved.
pub(crate) async fn settle<C: Backend>(
    connection: &mut C,
    backend: &dyn backends::Backend,
    operations: &[Arc<Operation>],
) -> Outcome<Settled> {
    let mut settled = Settled::default();
    let mut held = unresolved(connection, LIMIT).await?;
    // The others need nobody: a retry runs them again.
    held.retain(|seen| seen.rule() == Unresolved::Hold && seen.unresolved_for() >= PATIENCE);
    if held.is_empty() {
        return Ok(settled);
    }
    // Read behind what is unresolved, or a run in between would not be in them.
    let books = Books::of(operations, &Tables::read(backend).await?);
    for seen in &held {
        let name = (
            seen.key().scope().to_owned(),
            seen.key().as_str().to_owned(),
        );
        let Some((operation, has_happened)) = books.0.get(&name) else {
            continue;
        };
        let verdict = if *has_happened {
            let words = format!("{WORDS}{}", operation.tenant);
            Verdict::Completed(RecordedResponse::new(StatusCode::CREATED).body(words))
        } else {
            Verdict::Released
        };
        if say(connection, seen, verdict, DAY).await? {
            settled.completed += u64::from(*has_happened);
            settled.released += u64::from(!has_happened);
        }
    }
    Ok(settled)
}
