//! Checks of one key that comes several times: at the same moment, and because the first client is gone.

use std::time::{Duration, Instant};

use crate::check::trial::{Finding, Stop, Trial, doubled, violated};
use crate::check::wire::{HEAD_START, Outgoing};

const TOGETHER: usize = 8;
/// A gap between a look and a claim may be short, and is not hit every time.
const ROUNDS: usize = 5;
/// As often as a client that is told to wait asks again.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn concurrent(trial: &Trial<'_>) -> Finding {
    for _ in 0..ROUNDS {
        let before = trial.count().await?;
        let request = trial.request(&trial.key());
        let said = together(trial, &request).await;
        trial.settle(said, before, 1).await?;
    }
    Ok(())
}

async fn together(trial: &Trial<'_>, request: &Outgoing) -> Finding {
    let answers = trial.probe.wire.send_together(request, TOGETHER).await?;
    let mut done = Vec::new();
    for answer in &answers {
        if trial.is_done(answer, "a duplicate")? {
            done.push(answer);
        }
    }
    let Some(first) = done.first() else {
        return violated("none of the duplicates is answered");
    };
    let unmarked = done.iter().filter(|answer| !trial.probe.is_marked(answer));
    let unmarked = unmarked.count();
    for answer in &done {
        if let Some(difference) = trial.difference(first, answer) {
            let what = format!("duplicates have different answers: {difference}");
            return match trial.baseline.marks && unmarked == 1 {
                true => violated(what),
                false => doubled(what),
            };
        }
    }
    if trial.baseline.marks && unmarked != 1 {
        let what = format!("{unmarked} of the duplicates are answered as the first one");
        return match unmarked {
            0 => violated(what),
            _ => doubled(what),
        };
    }
    let again = trial.send(request).await?;
    trial.is_replay(first, &again, "a retry")
}

pub(super) async fn dropped(trial: &Trial<'_>) -> Finding {
    let (request, before) = hung_up(trial).await?;
    let said = recovered(trial, &request).await;
    trial.settle(said, before, 1).await
}

/// A request whose client went before it was answered, and the count in front of it.
async fn hung_up(trial: &Trial<'_>) -> Finding<(Outgoing, Option<i64>)> {
    let slow = trial.probe.bodies.slow.as_ref();
    let half = trial.baseline.latency / 2;
    let (body, after) = match slow {
        // The longer it takes, the surer it is that the client goes in the middle.
        Some(slow) => (slow, vec![HEAD_START]),
        None => (
            &trial.probe.bodies.usual,
            vec![half.min(HEAD_START), half / 4, Duration::ZERO],
        ),
    };
    for after in after {
        let before = trial.count().await?;
        let mut request = trial.request(&trial.key());
        request.body = body.clone();
        if !trial.probe.wire.send_and_hang_up(&request, after).await? {
            let after = after.as_secs_f64() * 1000.0;
            trial.note(format!("the client went {after:.1} ms after its request"));
            return Ok((request, before));
        }
    }
    let what = "answered before the client could go";
    Err(match slow {
        Some(_) => Stop::Unchecked(format!("--slow-body is {what}")),
        None => Stop::Skipped(format!("{what}: it needs --slow-body")),
    })
}

/// Retries have its answer in the end.
async fn recovered(trial: &Trial<'_>, request: &Outgoing) -> Finding {
    let patience = trial.probe.wire.patience();
    let start = Instant::now();
    let first = loop {
        let answer = trial.send(request).await?;
        if trial.is_done(&answer, "a retry")? {
            break answer;
        }
        if start.elapsed() > patience {
            let patience = humantime::format_duration(patience);
            return violated(format!(
                "{patience} after its client hung up, retries are still answered {}",
                answer.status
            ));
        }
        tokio::time::sleep(PAUSE).await;
    };
    let again = trial.send(request).await?;
    trial.is_replay(&first, &again, "one more retry")
}
