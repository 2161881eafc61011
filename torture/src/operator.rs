//! Who settles what nobody else knows the end of, once all harm is over: by the books, which say what has happened.
//! Uses the runtime's public door only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use idem_runtime::policy::Unresolved;
use idem_runtime::{Backend, RecordedResponse, Verdict, settle as say, unresolved};

use crate::Outcome;
use crate::backends::Tables;
use crate::plan::{Operation, Settler};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What the operator answers, with the tenant's name behind it.
pub(crate) const WORDS: &str = "settled for ";
const LIMIT: u32 = 10_000;

/// What has happened of operations that may have to be settled, by scope and key.
pub(crate) struct Books(HashMap<(String, String), (Arc<Operation>, bool)>);

/// How many were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    pub(crate) completed: u64,
    pub(crate) released: u64,
}

impl Books {
    pub(crate) fn of(operations: &[Arc<Operation>], tables: &Tables) -> Self {
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

/// Of what the table says is unresolved.
pub(crate) async fn settle<C: Backend>(connection: &mut C, books: &Books) -> Outcome<Settled> {
    let mut settled = Settled::default();
    let all = unresolved(connection, LIMIT).await?;
    // The others need nobody: a retry runs them again.
    let held = all.iter().filter(|seen| seen.rule() == Unresolved::Hold);
    for seen in held {
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
