//! Checks of what belongs to a request besides its key: when it is the same one, and when another.

use hyper::body::Bytes;

use crate::check::bodies::{rearranged, with_fraction};
use crate::check::trial::{Finding, Stop, Trial};
use crate::check::wire::Outgoing;

pub(super) async fn mismatch(trial: &Trial<'_>) -> Finding {
    let other = trial.needs(&trial.probe.bodies.other, "--other-body")?;
    refuses(trial, "the other body", |request| request.body = other).await
}

pub(super) async fn query(trial: &Trial<'_>) -> Finding {
    let target = trial.probe.place.with_query("idem-check=1");
    refuses(trial, "the other query", |request| request.target = target).await
}

/// The first request runs, the changed one is refused, and the first one is replayed behind it.
async fn refuses(trial: &Trial<'_>, what: &str, change: impl FnOnce(&mut Outgoing)) -> Finding {
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    let first = trial.succeed(&request).await?;
    let mut changed = request.clone();
    change(&mut changed);
    is_mismatch(trial, &changed, what).await?;
    let again = trial.send(&request).await?;
    trial.is_replay(&first, &again, "a retry behind it")?;
    trial.effects(before, 1).await
}

/// It is refused because of its key. A handler that takes no such request says so with any key.
async fn is_mismatch(trial: &Trial<'_>, changed: &Outgoing, what: &str) -> Finding {
    let rule = &trial.probe.profile.mismatch;
    let answer = trial.send(changed).await?;
    if (400..500).contains(&answer.status) && rule.complaint(&answer).is_some() {
        let key = trial.request(&trial.key());
        let alone = trial
            .send(&Outgoing {
                headers: key.headers,
                ..changed.clone()
            })
            .await?;
        if (400..500).contains(&alone.status) {
            let status = alone.status;
            let what = format!("the handler itself refuses it: {what} is answered {status}");
            return Err(Stop::Skipped(what));
        }
    }
    trial.is_refused(&answer, rule, what)
}

pub(super) async fn form(trial: &Trial<'_>) -> Finding {
    let other = made(
        rearranged(&trial.probe.bodies.usual),
        "it needs a JSON --body",
    )?;
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    let first = trial.succeed(&request).await?;
    let again = trial
        .send(&Outgoing {
            body: other,
            ..request
        })
        .await?;
    trial.is_replay(&first, &again, "the same JSON")?;
    trial.effects(before, 1).await
}

pub(super) async fn numbers(trial: &Trial<'_>) -> Finding {
    let other = with_fraction(&trial.probe.bodies.usual);
    let other = made(other, "it needs a JSON --body with an integer")?;
    let before = trial.count().await?;
    let request = trial.request(&trial.key());
    trial.succeed(&request).await?;
    let other = Outgoing {
        body: other,
        ..request
    };
    is_mismatch(trial, &other, "the other number").await?;
    trial.effects(before, 1).await
}

fn made(body: Option<Bytes>, otherwise: &str) -> Finding<Bytes> {
    body.ok_or_else(|| Stop::Skipped(otherwise.to_owned()))
}
