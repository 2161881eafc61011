//! Another account, which by chance or on purpose sends the same key.

use super::super::course::{Course, Faults};
use super::super::report::Verdict;
use super::say_with;
use crate::policy::Scope;

pub(super) async fn is_another_operation(course: &Course<'_, '_>) -> Verdict {
    let Some(change) = &course.proof.other_account else {
        return say_with(
            "other_account",
            "what the same request of another caller is",
        );
    };
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let Some(first) = course.done(&mut faults, &operation).await else {
        return faults.into();
    };
    // Before theirs: what grows with time then tells theirs from the first as well.
    let another = course.send(&course.twin(&operation)).await;
    let are_told_apart = another.is_ok_and(|another| {
        another.has_succeeded() && course.distinction(&first, &another).is_some()
    });
    let (theirs, changed) = course.changed_by(course.send_as(&operation, change)).await;
    course.expect(
        &mut faults,
        1,
        changed,
        "behind the other account's request",
    );
    match theirs {
        Ok(answer) if course.is_replay(&answer) => {
            faults.push(format!("it got a replay: {}", answer.in_short()));
        }
        Ok(answer) if are_told_apart && course.distinction(&first, &answer).is_none() => {
            let got = answer.in_short();
            faults.push(format!("it got the answer of the first account: {got}"));
        }
        Ok(answer) if answer.has_succeeded() => {
            if let Ok(again) = course.send_as(&operation, change).await
                && let Some(difference) = course.difference(&answer, &again)
            {
                faults.push(format!("its own retry: {difference}"));
            }
        }
        Ok(answer) => faults.push(format!("it got {}", answer.in_short())),
        Err(error) => faults.push(error.to_string()),
    }
    let then = "a retry of the first account's";
    course
        .expect_replay(&mut faults, &operation, &first, then)
        .await;
    let scope = course.policy.get().map(|policy| policy.scope);
    if let Some(scope @ (Scope::Endpoint | Scope::Global)) = scope
        && !faults.0.is_empty()
    {
        faults.push(format!("it declares scope = \"{}\"", scope.name()));
    }
    faults.into()
}
