//! Checks of what comes while the first request still runs.

use std::time::Instant;

use futures_util::future::{Either, join, select};
use tokio::time::sleep;

use crate::check::answer::Answer;
use crate::check::trial::{Finding, Stop, Trial, violated};
use crate::check::wire::{HEAD_START, Outgoing};

const SLOW: &str = "--slow-body";

/// The slow request, and another one a little later. Which of them has the key is for the server to say; what was
/// answered first is returned first.
async fn beside(trial: &Trial<'_>, slow: &Outgoing, other: &Outgoing) -> Finding<(Answer, Answer)> {
    let later = async {
        sleep(HEAD_START).await;
        let sent = Instant::now();
        Finding::Ok((sent, trial.send(other).await?))
    };
    let (one, later) = join(trial.send(slow), later).await;
    let (one, (sent, two)) = (one?, later?);
    if one.at < sent {
        return not_slow(&one);
    }
    match one.at < two.at {
        true => Ok((one, two)),
        false => Ok((two, one)),
    }
}

fn not_slow<T>(answer: &Answer) -> Finding<T> {
    let (status, time) = (answer.status, humantime::format_duration(HEAD_START));
    let what = format!("{SLOW} is answered {status} within {time}: nothing can come meanwhile");
    Err(Stop::Skipped(what))
}

pub(super) async fn in_flight(trial: &Trial<'_>) -> Finding {
    let slow = slow(trial)?;
    let before = trial.count().await?;
    let (early, late) = beside(trial, &slow, &slow).await?;
    if early.is_success() && late.is_success() {
        return match trial.difference(&early, &late) {
            Some(difference) => violated(format!("both run: {difference}")),
            None => violated("the duplicate waits for the first answer"),
        };
    }
    let what = "a duplicate of what still runs";
    trial.is_refused(&early, &trial.probe.profile.in_flight, what)?;
    trial.is_success(&late, "what still ran")?;
    trial.effects(before, 1).await
}

pub(super) async fn mismatch(trial: &Trial<'_>) -> Finding {
    let slow = slow(trial)?;
    let mut other = slow.clone();
    other.body = trial.probe.bodies.usual.clone();
    let before = trial.count().await?;
    let (early, late) = beside(trial, &slow, &other).await?;
    let (done, refused) = match (early.is_success(), late.is_success()) {
        (true, true) => return violated("both bodies are answered with success"),
        (true, false) => (early, late),
        _ => (late, early),
    };
    trial.is_refused(&refused, &trial.probe.profile.mismatch, "the other body")?;
    trial.is_success(&done, "what still ran")?;
    trial.effects(before, 1).await
}

pub(super) async fn retried(trial: &Trial<'_>) -> Finding {
    let request = slow(trial)?;
    let before = trial.count().await?;
    let mut first = std::pin::pin!(trial.send(&request));
    let mut duplicates = Vec::new();
    let first = loop {
        match select(first, Box::pin(sleep(HEAD_START))).await {
            Either::Left((answer, _)) if duplicates.is_empty() => return not_slow(&answer?),
            Either::Left((answer, _)) => break answer?,
            Either::Right((_, running)) => first = running,
        }
        let mut duplicate = std::pin::pin!(trial.send(&request));
        // A duplicate that is taken for the operation itself takes its time as well.
        match select(first, duplicate.as_mut()).await {
            Either::Left((answer, _)) => {
                duplicates.push(duplicate.await?);
                break answer?;
            }
            Either::Right((answer, running)) => {
                duplicates.push(answer?);
                first = running;
            }
        }
    };
    let answers = duplicates.iter().chain([&first]);
    let done: Vec<_> = answers
        .clone()
        .filter(|answer| answer.is_success())
        .collect();
    for answer in answers.filter(|answer| !answer.is_success()) {
        let what = "a duplicate of what still runs";
        trial.is_refused(answer, &trial.probe.profile.in_flight, what)?;
    }
    let Some(one) = done.first() else {
        return violated("none of them is answered");
    };
    for other in &done {
        if let Some(difference) = trial.difference(one, other) {
            return violated(format!("it runs more than once: {difference}"));
        }
    }
    let again = trial.send(&request).await?;
    trial.is_replay(one, &again, "a retry at the end")?;
    trial.effects(before, 1).await
}

fn slow(trial: &Trial<'_>) -> Finding<Outgoing> {
    let body = trial.needs(&trial.probe.bodies.slow, SLOW)?;
    let mut request = trial.request(&trial.key());
    request.body = body;
    Ok(request)
}
