//! `idem check`: asks any server over HTTP whether it keeps the contract. It knows nothing of the runtime, and of the
//! server only what it answers.

mod answer;
mod asked;
mod baseline;
mod bodies;
mod caller;
mod checks;
mod flush;
mod junit;
mod place;
mod probe;
mod profile;
mod redact;
mod report;
mod rule;
mod tls;
mod trial;
mod wire;

use std::process::ExitCode;
use std::time::{Duration, Instant};

pub(crate) use self::asked::Asked;
use self::baseline::Baseline;
use self::checks::{CHECKS, Check, Level};
use self::junit::Draft;
use self::probe::Probe;
use self::profile::Profile;
use self::report::{Outcome, Report, Row};
use self::trial::{Stop, Trial};
pub(crate) use self::wire::WireError;
use crate::confirm::ask;
use crate::error::Error;

/// Operations of a server that keeps everything, beyond one for each check.
const MORE: usize = 6;

pub(crate) async fn check(asked: Asked) -> Result<ExitCode, Error> {
    let ids: Vec<_> = CHECKS.iter().map(|check| check.id).collect();
    let profile = Profile::named(&asked.profile, &ids)?;
    let probe = Probe::of(&asked, profile)?;
    let checks: Vec<_> = CHECKS
        .iter()
        .filter(|check| check.draft.is_some() || probe.is_strict())
        .collect();
    are_there(&asked.require, &checks)?;
    // What cannot be written down is not asked for.
    let junit = asked.junit.as_deref().map(Draft::of).transpose()?;
    let question = format!(
        "This sends some hundred requests to {} {}. If it keeps what is checked, about {} of them are new operations,          which have their effects there, as those of any client; if it does not, nearly each request may be one. Their          keys begin with {}.\nSend them?",
        probe.method(),
        probe.place.shown,
        checks.len() + MORE,
        probe.prefix()
    );
    // Exit code 1 is for what is wrong with a server.
    ask(asked.yes, &question).map_err(|refused| Error::Unchecked(refused.to_string()))?;
    let baseline = match Baseline::of(&probe).await {
        Ok(baseline) => baseline,
        Err(error) => {
            if let Some(junit) = junit {
                junit.finish(&Report::of(&probe, Vec::new(), vec![nothing(&error)]))?;
            }
            return Err(error);
        }
    };
    let mut rows = Vec::new();
    for check in checks {
        let mut row = make(check, &probe, &baseline).await;
        let is_required = |id: &String| id == ALL || id == check.id;
        if asked.require.iter().any(is_required) {
            row.outcome = demand(&mut row);
        }
        rows.push(row);
    }
    let report = Report::of(&probe, baseline.observed(), rows);
    if let Some(junit) = junit {
        junit.finish(&report)?;
    }
    report.print(asked.json);
    Ok(match () {
        () if report.has(Outcome::Violated) => ExitCode::FAILURE,
        () if report.has(Outcome::Unchecked) => ExitCode::from(2),
        () => ExitCode::SUCCESS,
    })
}

const ALL: &str = "all";

fn are_there(required: &[String], checks: &[&Check]) -> Result<(), Error> {
    let is_there = |id: &&String| *id == ALL || checks.iter().any(|check| check.id == *id);
    match required.iter().find(|id| !is_there(id)) {
        Some(id) => Err(Error::Usage(format!(
            "--require: there is no check {id:?} in this profile"
        ))),
        None => Ok(()),
    }
}

/// What becomes of the outcome of a check that has to be made in full.
fn demand(row: &mut Row) -> Outcome {
    if !matches!(row.outcome, Outcome::Skipped | Outcome::AnswersOnly) {
        return row.outcome;
    }
    let why = row.detail.take().unwrap_or_default();
    row.detail = Some(format!("--require: {}: {why}", row.outcome.name()));
    Outcome::Unchecked
}

/// That nothing could be checked at all.
fn nothing(error: &Error) -> Row {
    Row {
        id: "baseline",
        title: "a request succeeds",
        level: Level::Must,
        outcome: Outcome::Unchecked,
        detail: Some(error.to_string()),
        why: "nothing can be checked",
        source: "idem check",
        took: Duration::ZERO,
    }
}

async fn make(check: &Check, probe: &Probe, baseline: &Baseline) -> Row {
    let trial = Trial::new(probe, baseline);
    let start = Instant::now();
    let finding = (check.run)(&trial).await;
    let took = start.elapsed();
    let level = match probe.is_strict() {
        true => Level::Must,
        false => check.draft.unwrap_or(Level::Must),
    };
    let documented = probe.profile.deviations.get(check.id);
    let (outcome, said) = match (finding, documented) {
        (Err(Stop::Violated(what)), Some(reason)) => {
            (Outcome::Deviation, Some(format!("{reason} ({what})")))
        }
        (Err(Stop::Violated(what)), None) if level == Level::Should => {
            (Outcome::Advised, Some(what))
        }
        (Err(Stop::Violated(what)), None) | (Err(Stop::Doubled(what)), None) => {
            (Outcome::Violated, Some(what))
        }
        (Err(Stop::Doubled(what)), Some(_)) => {
            let what = format!("{what} (that is more than the profile documents)");
            (Outcome::Violated, Some(what))
        }
        (Err(Stop::Skipped(what)), _) => (Outcome::Skipped, Some(what)),
        (Err(Stop::Unchecked(what)), _) => (Outcome::Unchecked, Some(what)),
        (Ok(()), documented) => kept(&trial, documented.is_some()),
    };
    Row {
        id: check.id,
        title: check.title,
        level,
        outcome,
        detail: said,
        why: check.why,
        source: check.source,
        took,
    }
}

fn kept(trial: &Trial<'_>, is_documented: bool) -> (Outcome, Option<String>) {
    let note = trial.note.take();
    if trial.is_uncounted.get() && trial.is_ambiguous.get() {
        let what = "all answers are alike: it needs --count";
        return (Outcome::Skipped, Some(what.to_owned()));
    }
    let (outcome, said) = match trial.deviations.take().pop() {
        Some(deviation) => (Outcome::Deviation, Some(deviation)),
        None if trial.is_uncounted.get() => {
            let what = "the effects were not counted: it needs --count";
            (Outcome::AnswersOnly, Some(what.to_owned()))
        }
        None if is_documented => {
            let what = "it is kept, although the profile says otherwise";
            (Outcome::Passed, Some(what.to_owned()))
        }
        None => (Outcome::Passed, None),
    };
    let said: Vec<_> = said.into_iter().chain(note).collect();
    (outcome, (!said.is_empty()).then(|| said.join("; ")))
}
