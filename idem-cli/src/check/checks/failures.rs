//! Checks of what leaves a key unused.

use crate::check::trial::{Finding, Stop, Trial, violated};

pub(super) async fn remembered(trial: &Trial<'_>) -> Finding {
    let failing = trial.needs(&trial.probe.bodies.failing, "--failing-body")?;
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    let mut broken = request.clone();
    broken.body = failing;
    let failed = trial.send(&broken).await?;
    if failed.status < 500 {
        let status = failed.status;
        return Err(Stop::Unchecked(format!(
            "--failing-body is answered {status}, not 5xx"
        )));
    }
    let again = trial.send(&broken).await?;
    if trial.baseline.marks && trial.probe.is_marked(&again) {
        return violated(format!("{} is replayed", again.status));
    }
    // What a failure leaves behind may be documented; what the retry does is another matter.
    let between = trial.count().await?;
    let left = trial.effects(before, 0).await;
    // With another body, because an answer that fails again does not say whether anything was run.
    let answer = trial.send(&request).await?;
    if answer.status == failed.status {
        let status = answer.status;
        return violated(format!("the key behind its failure is answered {status}"));
    }
    trial.is_success(&answer, "the key behind its failure")?;
    if trial.probe.is_marked(&answer) {
        return violated("the key behind its failure is answered with a replay");
    }
    trial.effects(between, 1).await?;
    match left {
        Err(Stop::Doubled(what)) => violated(format!("behind failures {what}")),
        left => left,
    }
}

pub(super) async fn upload(trial: &Trial<'_>) -> Finding {
    if trial.probe.bodies.usual.len() < 2 {
        return Err(Stop::Skipped("it needs a --body".to_owned()));
    }
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    trial.probe.wire.send_half(&request).await?;
    let answer = trial.send(&request).await?;
    trial.is_success(&answer, "the whole request behind half of it")?;
    trial.effects(before, 1).await
}
