//! Checks of one key that comes several times: at the same moment, and because the first client is gone.

use std::time::{Duration, Instant};

use crate::check::trial::{Finding, Trial, violated};

const TOGETHER: usize = 8;
/// As often as a client that is told to wait asks again.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn concurrent(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    let answers = trial.probe.wire.send_together(&request, TOGETHER).await?;
    let in_flight = &trial.probe.profile.in_flight;
    let (done, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_success());
    for answer in refused {
        trial.is_refused(answer, in_flight, "a duplicate")?;
    }
    let Some(first) = done.first() else {
        return violated("none of the duplicates is answered");
    };
    for answer in &done {
        if let Some(difference) = trial.difference(first, answer) {
            return violated(format!("duplicates have different answers: {difference}"));
        }
    }
    let unmarked = done.iter().filter(|answer| !trial.probe.is_marked(answer));
    let unmarked = unmarked.count();
    if trial.baseline.marks && unmarked != 1 {
        return violated(format!(
            "{unmarked} of the duplicates are answered as the first one"
        ));
    }
    let again = trial.send(&request).await?;
    trial.is_replay(first, &again, "a retry")?;
    trial.effects(before, 1).await
}

pub(super) async fn dropped(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let mut request = trial.request(&trial.key());
    // The longer it takes, the surer it is that the client goes in the middle.
    if let Some(slow) = &trial.probe.bodies.slow {
        request.body = slow.clone();
    }
    trial.probe.wire.send_and_hang_up(&request).await?;
    let patience = trial.probe.wire.patience();
    let start = Instant::now();
    let first = loop {
        let answer = trial.send(&request).await?;
        if answer.is_success() {
            break answer;
        }
        trial.is_refused(&answer, &trial.probe.profile.in_flight, "a retry")?;
        if start.elapsed() > patience {
            let patience = humantime::format_duration(patience);
            return violated(format!(
                "{patience} after its client hung up, retries are still answered {}",
                answer.status
            ));
        }
        tokio::time::sleep(PAUSE).await;
    };
    let again = trial.send(&request).await?;
    trial.is_replay(&first, &again, "one more retry")?;
    trial.effects(before, 1).await
}
