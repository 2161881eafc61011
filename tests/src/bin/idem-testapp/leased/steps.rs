//! Taking a script's steps in order.

use std::process;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{HeaderName, HeaderValue};
use diesel::QueryResult;
use idem_runtime::{Backend, IdempotencyKey, Steps};

use super::{Deployment, provider};
use crate::effects::Writes;
use crate::failure::Failure;
use crate::outbox;
use crate::script::{Fail, Kind, Script, Step};
use crate::tools::Tools;

/// What each step has returned, in this run or in an earlier one.
const RESULTS: HeaderName = HeaderName::from_static("x-steps");

/// Takes the steps; their results. A result is how often this process had entered the step by then.
pub(super) async fn take<C: Backend + Writes>(
    steps: &Steps<C>,
    key: &IdempotencyKey,
    script: &Script,
    tools: &Tools,
) -> Result<Vec<u64>, Failure> {
    let mut results = Vec::new();
    for step in tools.deployment.of(&script.steps) {
        let name = tools.deployment.name(&step.name);
        let result = match step.kind {
            Kind::Call => {
                let work = async |key: String| {
                    let entered = enter(step, script, tools).await;
                    provider::call(&tools.url, &script.label, &key)
                        .await
                        .map_err(Failure::Outside)?;
                    leave(step, script, entered)
                };
                steps.call(&name, work).await?
            }
            Kind::Transaction => {
                let work = async |connection: &mut C| {
                    let entered = enter(step, script, tools).await;
                    insert(connection, &script.label).await?;
                    outbox::queue(connection, key, &step.messages).await?;
                    if let Some(gate) = &step.gate_behind {
                        tools.gates.pass(gate).await;
                    }
                    leave(step, script, entered)
                };
                steps.transaction(&name, work).await?
            }
        };
        results.push(result);
    }
    Ok(results)
}

pub(super) fn tell(mut response: HttpResponse, results: &[u64]) -> HttpResponse {
    let texts: Vec<_> = results.iter().map(u64::to_string).collect();
    if let Ok(value) = HeaderValue::from_str(&texts.join(",")) {
        response.headers_mut().insert(RESULTS, value);
    }
    response
}

async fn insert<C: Writes>(connection: &mut C, label: &str) -> QueryResult<()> {
    connection.insert(label).await
}

async fn enter(step: &Step, script: &Script, tools: &Tools) -> u64 {
    let place = format!("{}/{}", script.label, step.name);
    tools.enter(&place);
    if let Some(gate) = &step.gate {
        tools.gates.pass(gate).await;
    }
    if step.sleep_ms > 0 {
        tokio::time::sleep(Duration::from_millis(step.sleep_ms)).await;
    }
    tools.entered(&place)
}

fn leave(step: &Step, script: &Script, entered: u64) -> Result<u64, Failure> {
    let is_over = step.fails.is_some_and(|times| entered > times);
    match step.fail {
        Some(Fail::Err) if !is_over => Err(Failure::Scripted(Box::new(script.clone()))),
        Some(Fail::Panic) if !is_over => panic!("the step {} says so", step.name),
        Some(Fail::Exit) if !is_over => process::exit(3),
        _ => Ok(entered),
    }
}

impl Deployment {
    fn of(self, steps: &[Step]) -> &[Step] {
        match self {
            Self::Shorter => steps.get(..1).unwrap_or_default(),
            Self::AsWritten | Self::Renamed => steps,
        }
    }

    fn name(self, name: &str) -> String {
        match self {
            Self::Renamed => format!("{name}-2"),
            Self::AsWritten | Self::Shorter => name.into(),
        }
    }
}
