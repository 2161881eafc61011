//! Many requests of one key at the same time.

use futures_util::future::join_all;

use super::super::answer::Answer;
use super::super::course::{Course, Faults};
use super::super::report::Verdict;

const REQUESTS: usize = 20;

pub(super) async fn one_effect(course: &Course<'_, '_>) -> Verdict {
    let mut faults = Faults::default();
    let operation = course.operation().await;
    // None of them is over before each has begun.
    let all = join_all((0..REQUESTS).map(|_| course.send(&operation)));
    let (answers, changed) = course.changed_by(all).await;
    course.expect(
        &mut faults,
        1,
        changed,
        &format!("behind {REQUESTS} requests"),
    );
    let (mut first, mut firsts): (Option<Answer>, usize) = (None, 0);
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
    faults.into()
}
