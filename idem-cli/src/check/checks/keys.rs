//! Checks of the key itself: that it is there, well-formed, and compared as it is.

use crate::check::baseline::Relation;
use crate::check::trial::{Finding, Stop, Trial, violated};

const LONGEST: usize = 255;

pub(super) async fn new_key(trial: &Trial<'_>) -> Finding {
    let baseline = trial.baseline;
    if let Some((_, another)) = baseline.effects {
        trial.are(another, 1)?;
    } else {
        trial.is_uncounted.set(true);
    }
    match trial.relation(&baseline.first, &baseline.another) {
        Relation::New => Ok(()),
        Relation::Replay => violated("the second key is given the answer of the first"),
        Relation::Unknown if baseline.effects.is_some() => Ok(()),
        Relation::Unknown => Err(Stop::Skipped(
            "all answers are alike: it needs --count".to_owned(),
        )),
    }
}

pub(super) async fn missing(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let request = trial.probe.request_with(&trial.probe.callers.me, []);
    let answer = trial.send(&request).await?;
    trial.is_refused(&answer, &trial.probe.profile.missing, "without a key")?;
    trial.effects(before, 0).await
}

pub(super) async fn malformed(trial: &Trial<'_>) -> Finding {
    let key = trial.key();
    let too_long = padded(&key, LONGEST + 1);
    let tab = format!("{key}\tb");
    let list = format!("{key}, {key}");
    let parameters = format!("\"{key}\";a=1");
    let foreign = [key.as_bytes(), &[0xe9]].concat();
    let cases: [(&str, &[&[u8]]); 8] = [
        ("an empty key", &[b""]),
        ("an empty key in quotes", &[b"\"\""]),
        ("256 bytes", &[too_long.as_bytes()]),
        ("a tab in a key", &[tab.as_bytes()]),
        ("a byte that is not ASCII", &[&foreign]),
        ("a list of keys", &[list.as_bytes()]),
        ("a key with parameters", &[parameters.as_bytes()]),
        ("two header lines", &[key.as_bytes(), key.as_bytes()]),
    ];
    let before = trial.count().await?;
    let mut complaints = Vec::new();
    for (what, lines) in cases {
        let lines = lines.iter().copied();
        let request = trial.probe.request_with(&trial.probe.callers.me, lines);
        let answer = trial.send(&request).await?;
        match trial.is_refused(&answer, &trial.probe.profile.malformed, what) {
            Err(Stop::Violated(complaint)) => complaints.push(complaint),
            done => done?,
        }
    }
    if !complaints.is_empty() {
        return violated(complaints.join("; "));
    }
    trial.effects(before, 0).await
}

pub(super) async fn longest(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let key = padded(&trial.key(), LONGEST - 1);
    let (one, other) = (
        trial.request(&format!("{key}a")),
        trial.request(&format!("{key}b")),
    );
    let first = trial.succeed(&one).await?;
    let second = trial.succeed(&other).await?;
    if trial.relation(&first, &second) == Relation::Replay {
        return violated("keys that differ in their last byte alone are taken for one");
    }
    let again = trial.send(&one).await?;
    trial.is_replay(&first, &again, "a retry")?;
    trial.effects(before, 2).await
}

pub(super) async fn quoted(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let key = trial.key();
    let me = &trial.probe.callers.me;
    let bare = trial.probe.request_with(me, [key.as_bytes()]);
    let quoted = format!("\"{key}\"");
    let quoted = trial.probe.request_with(me, [quoted.as_bytes()]);
    let first = trial.succeed(&bare).await?;
    let again = trial.send(&quoted).await?;
    trial.is_replay(&first, &again, "the same key in quotes")?;
    trial.effects(before, 1).await
}

pub(super) async fn case(trial: &Trial<'_>) -> Finding {
    let before = trial.count().await?;
    let key = trial.key();
    let first = trial.succeed(&trial.request(&format!("{key}-a"))).await?;
    let other = trial.succeed(&trial.request(&format!("{key}-A"))).await?;
    if trial.relation(&first, &other) == Relation::Replay {
        return violated("a key in capitals is given the answer of the one without");
    }
    trial.effects(before, 2).await
}

/// That key, made longer.
fn padded(key: &str, length: usize) -> String {
    format!("{key:k<length$}")
}
