//! The first request and its retries, which all other rules build on.

use super::super::answer::unsettled;
use super::super::course::{Course, Faults};
use super::super::door::Fault;
use super::super::report::Verdict;
use super::say_with;

const RETRIES: usize = 3;

/// What the first operation has shown.
pub(super) struct Beginning {
    pub(super) endpoint: String,
    pub(super) first: Verdict,
    pub(super) effects: Verdict,
    pub(super) retry: Verdict,
    pub(super) marker: Verdict,
}

impl Beginning {
    /// What the other rules need is not there.
    fn failed(endpoint: String, fault: String) -> Self {
        let unproven = Verdict::Unproven("the first request was not carried out".to_owned());
        Self {
            endpoint,
            first: Verdict::Broken(vec![fault]),
            effects: unproven.clone(),
            retry: unproven.clone(),
            marker: unproven,
        }
    }
}

pub(super) async fn begin(course: &Course<'_, '_>) -> Beginning {
    let operation = course.operation().await;
    let request = operation.bare().to_request();
    let endpoint = format!("{} {}", request.method(), request.path());
    let (running, door) = course.through(course.request(&operation), Fault::None);
    let (answer, changed) = course.changed_by(running).await;
    course.policy.set(door.policy());
    let first = match answer {
        Ok(answer) if answer.has_succeeded() => answer,
        Ok(answer) => return Beginning::failed(endpoint, answer.in_short()),
        Err(error) => return Beginning::failed(endpoint, error.to_string()),
    };
    if course.is_replay(&first) {
        return Beginning::failed(endpoint, "its answer is marked as a replay".to_owned());
    }
    let effects = match changed {
        Some(0) => Verdict::Broken(vec!["the first request has not changed them".to_owned()]),
        Some(_) => Verdict::Proven,
        None => say_with("effects", "how they are counted"),
    };
    course.one.set(changed.filter(|changed| *changed != 0));

    let (mut retry, mut marker) = (Faults::default(), Faults::default());
    let retrying = async {
        let mut answers = Vec::with_capacity(RETRIES);
        for _ in 0..RETRIES {
            match course.send(&operation).await {
                Ok(answer) => answers.push(answer),
                Err(error) => retry.push(error.to_string()),
            }
        }
        answers
    };
    let (answers, changed) = course.changed_by(retrying).await;
    let (replays, others): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|answer| course.is_replay(answer));
    if !others.is_empty() {
        marker.push(format!("a retry has no `{}`", course.marker()));
    }
    course.unsettled.replace(unsettled(&replays));
    for answer in replays.iter().chain(&others) {
        let difference = course.difference(&first, answer);
        difference.into_iter().for_each(|fault| retry.push(fault));
    }
    course.differs.set(!retry.0.is_empty());
    course.expect(&mut retry, 0, changed, &format!("behind {RETRIES} retries"));
    Beginning {
        endpoint,
        first: Verdict::Proven,
        effects,
        retry: retry.into(),
        marker: marker.into(),
    }
}
