//! Checks of what a retry is answered, from the answers that were asked for in front of all checks.

use crate::check::trial::{Finding, Stop, Trial, violated};

pub(super) async fn retry(trial: &Trial<'_>) -> Finding {
    let baseline = trial.baseline;
    if let Some((effects, _)) = baseline.effects {
        trial.are(effects, 1)?;
    } else {
        trial.is_uncounted.set(true);
    }
    // Where answers are all alike, this one does not say that nothing was done.
    trial.relation(&baseline.first, &baseline.first);
    match &baseline.flaw {
        Some(difference) => violated(format!("a retry: {difference}")),
        None => Ok(()),
    }
}

pub(super) async fn marker(trial: &Trial<'_>) -> Finding {
    let baseline = trial.baseline;
    let Some((name, _)) = &trial.probe.profile.marker else {
        return Err(Stop::Skipped("the profile names no marker".to_owned()));
    };
    if trial.probe.is_marked(&baseline.first) {
        return violated(format!("a first answer has {name}"));
    }
    if trial.probe.is_marked(&baseline.another) {
        return violated(format!("the first answer of another key has {name}"));
    }
    // Later than the retry of the baseline, so that it is not that of a server that still has to finish.
    let again = trial.send(&trial.request(&baseline.key)).await?;
    trial.is_success(&again, "a retry")?;
    match trial.probe.is_marked(&again) {
        true => Ok(()),
        false => violated(format!("a replay has no {name}")),
    }
}
