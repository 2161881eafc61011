//! Doing what a script says.

use std::time::Duration;
use std::{process, thread};

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;
use diesel::result::Error;
use idem_runtime::Retry;
use sha2::{Digest, Sha256};

use crate::effects::Writes;
use crate::failure::Failure;
use crate::script::{At, Fail, Script, Work};
use crate::tools::Tools;

pub(crate) async fn play(
    script: &Script,
    tools: &Tools,
    connection: &mut impl Writes,
) -> Result<HttpResponse, Failure> {
    tools.enter(&script.label);
    pause(script, tools, At::Before).await;
    if let Some(sql) = &script.sql {
        connection.run(sql).await?;
    }
    match script.work {
        Work::Effects => {
            for _ in 0..script.effects {
                connection.insert(&script.label).await?;
            }
        }
        Work::Four => four(script, tools, connection).await?,
    }
    pause(script, tools, At::After).await;
    if let Some(Fail::Swallow) = script.fail {
        let _ = connection.spring_trap(&script.label).await;
    }
    end(script, tools)
}

/// How it ends.
pub(crate) fn end(script: &Script, tools: &Tools) -> Result<HttpResponse, Failure> {
    let is_over = script
        .fails
        .is_some_and(|times| tools.entered(&script.label) > times);
    match script.fail.filter(|_| !is_over) {
        None | Some(Fail::Swallow) => Ok(script.response()),
        Some(Fail::Err) => Err(Failure::Scripted(Box::new(script.clone()))),
        Some(Fail::Panic) => panic!("the script of {} says so", script.label),
        Some(Fail::Stream) => Ok(script.streamed()),
        Some(Fail::Sized) => Ok(script.sized()),
        Some(Fail::Endless) => Ok(script.endless()),
        Some(Fail::Slow) => Ok(script.slow()),
        Some(Fail::Stalled) => Ok(script.stalled()),
        Some(Fail::Exit) => process::exit(3),
    }
}

/// What a small sale does: a read, two inserts, an update.
async fn four(script: &Script, tools: &Tools, connection: &mut impl Writes) -> Result<(), Failure> {
    let item = tools.next_item();
    let price = connection.price(item).await?;
    connection.insert(&script.label).await?;
    connection.insert(&script.label).await?;
    connection.sell(item, price).await?;
    Ok(())
}

/// [`play`] between a read and a write of the same rows: two at once are no serial order, and one of them is refused.
pub(crate) async fn count_and_play(
    script: &Script,
    tools: &Tools,
    connection: &mut impl Writes,
) -> Result<HttpResponse, Failure> {
    connection.count(&script.label).await.map_err(conflict)?;
    let played = play(script, tools, connection).await;
    played.map_err(|failure| match failure {
        Failure::Database(error) => conflict(error),
        other => other,
    })
}

fn conflict(error: Error) -> Failure {
    match Retry::may_help(&error) {
        true => Failure::Conflict(Retry::new(error)),
        false => Failure::Database(error),
    }
}

pub(crate) fn digest(name: &str, tools: &Tools, extracted: &[u8]) -> HttpResponse {
    tools.enter(name);
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(hex::encode(Sha256::digest(extracted)))
}

pub(crate) async fn pause(script: &Script, tools: &Tools, at: At) {
    if script.sleep_at != at {
        return;
    }
    if let Some(gate) = &script.gate {
        tools.gates.pass(gate).await;
    }
    if script.sleep_ms > 0 {
        tokio::time::sleep(Duration::from_millis(script.sleep_ms)).await;
    }
    if script.block_ms > 0 {
        thread::sleep(Duration::from_millis(script.block_ms));
    }
}
