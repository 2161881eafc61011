//! Checks of whose a key is.

use crate::check::baseline::Relation;
use crate::check::trial::{Finding, Stop, Trial, violated};

const NOBODY_ELSE: &str = "it needs --other-header";

pub(super) async fn foreign(trial: &Trial<'_>) -> Finding {
    let other = trial.probe.callers.other.as_ref();
    let other = other.ok_or_else(|| Stop::Skipped(NOBODY_ELSE.to_owned()))?;
    let key = trial.key();
    let mine = trial.succeed(&trial.request(&key)).await?;
    // As the other client, who may not see the effects of others.
    let before = trial.count_as(other).await?;
    let theirs = trial.send(&trial.probe.request_of(other, &key)).await?;
    if !theirs.is_success() {
        // With a key of its own: is it welcome at all?
        let own = trial
            .send(&trial.probe.request_of(other, &trial.key()))
            .await?;
        return match own.is_success() {
            true => trial.wrong(
                &theirs,
                format!(
                    "another client with the same key is answered {}",
                    theirs.status
                ),
            ),
            false => Err(Stop::Unchecked(format!(
                "the other client is answered {} with any key",
                own.status
            ))),
        };
    }
    if trial.relation(&mine, &theirs) == Relation::Replay {
        return violated("another client with the same key is given this one's answer");
    }
    if trial.relation(&mine, &theirs) == Relation::Unknown && before.is_none() {
        return Err(Stop::Skipped(
            "all answers are alike: it needs --count".to_owned(),
        ));
    }
    trial.effects_as(other, before, 1).await
}

pub(super) async fn nobody(trial: &Trial<'_>) -> Finding {
    let nobody = trial.probe.callers.nobody.as_ref();
    let nobody = nobody.ok_or_else(|| Stop::Skipped(NOBODY_ELSE.to_owned()))?;
    let key = trial.key();
    trial.succeed(&trial.request(&key)).await?;
    let before = trial.count().await?;
    let answer = trial.send(&trial.probe.request_of(nobody, &key)).await?;
    if !(400..500).contains(&answer.status) {
        let what = format!("somebody without an identity is answered {}", answer.status);
        return trial.wrong(&answer, what);
    }
    if answer.status == 429 {
        return trial.wrong(&answer, "it is answered 429".to_owned());
    }
    trial.effects(before, 0).await
}
