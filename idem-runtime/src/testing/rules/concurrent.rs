//! Many requests of one key at the same time.

use super::super::answer::Answer;
use super::super::course::{Course, Faults};
use super::super::driving::at_once;
use super::super::report::Verdict;

const REQUESTS: usize = 20;

pub(super) async fn one_effect(course: &Course<'_, '_>) -> Verdict {
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let all = at_once((0..REQUESTS).map(|_| course.send(&operation)));
    let ((answers, running), changed) = course.changed_by(all).await;
    course.expect(
        &mut faults,
        1,
        changed,
        &format!("behind {REQUESTS} requests"),
    );
    let (mut first, mut firsts): (Option<Answer>, usize) = (None, 0);
    let mut have_met = running > 1;
    let mut differences = Vec::new();
    for answer in answers {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                faults.push(error.to_string());
                continue;
            }
        };
        let Some(wrong) = course.in_flight(&answer) else {
            have_met = true;
            continue;
        };
        if !answer.has_succeeded() {
            faults.push(format!("a request got {wrong}"));
            continue;
        }
        firsts += usize::from(!course.is_replay(&answer));
        match &first {
            Some(first) => differences.extend(course.difference(first, &answer)),
            None => first = Some(answer),
        }
    }
    if let Some(difference) = differences.first() {
        let count = differences.len();
        faults.push(format!("{count} answers differ from another: {difference}"));
    }
    if course.policy.get().is_some() && firsts > 1 {
        faults.push(format!("{firsts} answers are not marked as replays"));
    }
    match first {
        Some(first) => {
            let then = "a retry, when all were over";
            course
                .expect_replay(&mut faults, &operation, &first, then)
                .await;
        }
        None => faults.push(format!("none of {REQUESTS} requests was carried out")),
    }
    if !have_met && faults.0.is_empty() {
        let reason = "the requests ran one after the other on this thread: use `idem check` against a running server";
        return Verdict::Unproven(reason.to_owned());
    }
    faults.into()
}
