//! `idem check`: asks any server over HTTP whether it keeps the contract. It knows nothing of the runtime, and of the
//! server only what it answers.

mod answer;
mod asked;
mod bodies;
mod caller;
mod checks;
mod junit;
mod place;
mod probe;
mod profile;
mod report;
mod rule;
mod tls;
mod trial;
mod wire;

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) use self::asked::Asked;
use self::checks::{CHECKS, Check};
use self::probe::{Baseline, Probe};
use self::profile::Profile;
use self::report::{Outcome, Report, Row};
use self::trial::{Stop, Trial};
pub(crate) use self::wire::WireError;
use crate::confirm::ask;
use crate::error::Error;

pub(crate) async fn check(asked: Asked) -> Result<ExitCode, Error> {
    let ids: Vec<_> = CHECKS.iter().map(|check| check.id).collect();
    let profile = Profile::named(&asked.profile, &ids)?;
    let probe = Probe::of(&asked, profile)?;
    // What cannot be written down is not asked for.
    let junit = asked.junit.as_deref().map(create).transpose()?;
    let question = format!(
        "This sends some hundred requests to {} {}. About {} of them are new operations, which have their effects there, \
         as those of any client. Their keys begin with {}.\nSend them?",
        probe.method(),
        probe.place.shown,
        CHECKS.len() + 5,
        probe.prefix()
    );
    // Exit code 1 is for what is wrong with a server.
    ask(asked.yes, &question).map_err(|refused| Error::Unchecked(refused.to_string()))?;
    let baseline = probe.baseline().await?;
    let mut rows = Vec::new();
    for check in CHECKS
        .iter()
        .filter(|check| check.is_in_draft || probe.is_strict())
    {
        rows.push(make(check, &probe, &baseline).await);
    }
    let report = Report::of(&probe, rows);
    if let Some((path, file)) = junit {
        junit::write(&report, file).map_err(|error| unwritable(path, &error))?;
    }
    report.print(asked.json);
    Ok(match () {
        () if report.has(Outcome::Violated) => ExitCode::FAILURE,
        () if report.has(Outcome::Unchecked) => ExitCode::from(2),
        () => ExitCode::SUCCESS,
    })
}

fn create(path: &Path) -> Result<(&Path, File), Error> {
    let file = File::create(path).map_err(|error| unwritable(path, &error))?;
    Ok((path, file))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Usage(format!("--junit: {}: {error}", path.display()))
}

async fn make(check: &Check, probe: &Probe, baseline: &Baseline) -> Row {
    let trial = Trial::new(probe, baseline);
    let start = Instant::now();
    let finding = (check.run)(&trial).await;
    let took = start.elapsed();
    let deviations = trial.deviations.take();
    let documented = probe.profile.deviations.get(check.id);
    let (outcome, detail) = match (finding, documented) {
        (Err(Stop::Violated(what)), Some(reason)) => {
            (Outcome::Deviation, Some(format!("{reason} ({what})")))
        }
        (Err(Stop::Violated(what)), None) => (Outcome::Violated, Some(what)),
        (Err(Stop::Skipped(what)), _) => (Outcome::Skipped, Some(what)),
        (Err(Stop::Unchecked(what)), _) => (Outcome::Unchecked, Some(what)),
        (Ok(()), _) if !deviations.is_empty() => (Outcome::Deviation, deviations.first().cloned()),
        (Ok(()), _) if trial.is_uncounted.get() => {
            let what = "the effects were not counted: it needs --count";
            (Outcome::AnswersOnly, Some(what.to_owned()))
        }
        (Ok(()), Some(_)) => {
            let what = "it is kept, although the profile says otherwise";
            (Outcome::Passed, Some(what.to_owned()))
        }
        (Ok(()), None) => (Outcome::Passed, None),
    };
    Row {
        id: check.id,
        title: check.title,
        outcome,
        detail,
        why: check.why,
        source: check.source,
        took,
    }
}
