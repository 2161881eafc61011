//! Checks of what comes while the first request still runs.

use std::time::Instant;

use futures_util::future::{Either, join, select};
use tokio::time::sleep;

use crate::check::answer::Answer;
use crate::check::trial::{Finding, Stop, Trial, doubled, violated};
use crate::check::wire::{HEAD_START, Outgoing};

const SLOW: &str = "--slow-body";
/// As many duplicates as a client would hardly send.
const MOST: usize = 64;

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
    Err(Stop::Unchecked(what))
}

pub(super) async fn in_flight(trial: &Trial<'_>) -> Finding {
    let slow = slow(trial)?;
    let before = trial.count().await?;
    let (early, late) = beside(trial, &slow, &slow).await?;
    let said = is_told(trial, &early, &late);
    trial.settle(said, before, 1).await
}

fn is_told(trial: &Trial<'_>, early: &Answer, late: &Answer) -> Finding {
    let what = "a duplicate of what still runs";
    if !trial.is_done(early, what)? {
        return match trial.is_done(late, "what still ran")? {
            true => Ok(()),
            false => violated("neither of the two is answered"),
        };
    }
    if !trial.is_done(late, what)? {
        return violated("the duplicate is told that it runs when it has run");
    }
    match trial.difference(early, late) {
        Some(difference) if trial.baseline.marks && trial.probe.is_marked(late) => violated(
            format!("the duplicate waits for another answer: {difference}"),
        ),
        Some(difference) => doubled(format!("both run: {difference}")),
        None => violated("the duplicate waits for the first answer"),
    }
}

pub(super) async fn mismatch(trial: &Trial<'_>) -> Finding {
    let slow = slow(trial)?;
    let mut other = slow.clone();
    other.body = trial.probe.bodies.usual.clone();
    let before = trial.count().await?;
    let (early, late) = beside(trial, &slow, &other).await?;
    let said = is_refused(trial, &early, &late);
    trial.settle(said, before, 1).await
}

fn is_refused(trial: &Trial<'_>, early: &Answer, late: &Answer) -> Finding {
    let (done, refused) = match (early.is_success(), late.is_success()) {
        (true, true) => return violated("both bodies are answered with success"),
        (true, false) => (early, late),
        _ => (late, early),
    };
    trial.is_refused(refused, &trial.probe.profile.mismatch, "the other body")?;
    trial.is_success(done, "what still ran")
}

pub(super) async fn retried(trial: &Trial<'_>) -> Finding {
    let request = slow(trial)?;
    let before = trial.count().await?;
    let said = retries(trial, &request).await;
    trial.settle(said, before, 1).await
}

async fn retries(trial: &Trial<'_>, request: &Outgoing) -> Finding {
    let start = Instant::now();
    let mut first = std::pin::pin!(trial.send(request));
    let mut heard = Heard::default();
    let last = loop {
        // Who has heard enough only waits for the end.
        if heard.duplicates == MOST {
            break first.await?;
        }
        match select(first, Box::pin(sleep(HEAD_START))).await {
            Either::Left((answer, _)) if heard.duplicates == 0 => return not_slow(&answer?),
            Either::Left((answer, _)) => break answer?,
            Either::Right((_, running)) => first = running,
        }
        let mut duplicate = std::pin::pin!(trial.send(request));
        // A duplicate that is taken for the operation itself takes its time as well.
        match select(first, duplicate.as_mut()).await {
            Either::Left((answer, _)) => {
                heard.duplicate(trial, duplicate.await?);
                break answer?;
            }
            Either::Right((answer, running)) => {
                heard.duplicate(trial, answer?);
                first = running;
            }
        }
    };
    let took = start.elapsed().as_secs_f64();
    heard.one_more(trial, last);
    heard.complaint.map_or(Ok(()), Err)?;
    let Some(one) = &heard.first else {
        return violated("none of them is answered");
    };
    let again = trial.send(request).await?;
    trial.is_replay(one, &again, "a retry at the end")?;
    let duplicates = heard.duplicates;
    trial.note(format!(
        "it ran for {took:.1} s beside {duplicates} duplicates"
    ));
    Ok(())
}

/// What the answers said up to now. Of their bodies one is kept.
#[derive(Default)]
struct Heard {
    duplicates: usize,
    first: Option<Answer>,
    complaint: Option<Stop>,
}

impl Heard {
    fn duplicate(&mut self, trial: &Trial<'_>, answer: Answer) {
        self.duplicates += 1;
        self.one_more(trial, answer);
    }

    /// The first complaint stays, unless it is only about an answer and this one about what was done.
    fn one_more(&mut self, trial: &Trial<'_>, answer: Answer) {
        let stop = match (
            trial.is_done(&answer, "a duplicate of what still runs"),
            &self.first,
        ) {
            (Err(stop), _) => stop,
            (Ok(false), _) => return,
            (Ok(true), None) => {
                self.first = Some(answer);
                return;
            }
            (Ok(true), Some(first)) => match trial.difference(first, &answer) {
                Some(difference) => Stop::Doubled(format!("it runs more than once: {difference}")),
                None => return,
            },
        };
        if self.complaint.is_none() || matches!(stop, Stop::Doubled(_)) {
            self.complaint = Some(stop);
        }
    }
}

fn slow(trial: &Trial<'_>) -> Finding<Outgoing> {
    let body = trial.needs(&trial.probe.bodies.slow, SLOW)?;
    let mut request = trial.request(&trial.key());
    request.body = body;
    Ok(request)
}
