//! A client that goes away: its request is dropped as a server drops it, at one moment after the other.

use super::super::answer::{Answer, NoAnswer};
use super::super::course::{Course, Faults};
use super::super::door::Fault;
use super::super::driving::{drop_after, drop_quietly};
use super::super::report::Verdict;

/// At most so many moments: a request may be polled without end.
const MOMENTS: u32 = 64;

pub(super) async fn answered_on_retry(course: &Course<'_, '_>) -> Verdict {
    let mut faults = Faults::default();
    for polls in 1..=MOMENTS {
        let operation = course.operation().await;
        let (running, _) = course.through(course.request(&operation), Fault::None);
        let work = async {
            let over = drop_after(polls, running).await;
            (over.is_some(), course.retry(&operation).await)
        };
        let ((is_over, retry), changed) = course.changed_by(work).await;
        let when = format!("dropped behind poll {polls}");
        course.expect(&mut faults, 1, changed, &when);
        answered(course, &mut faults, retry, &when);
        if is_over && polls == 1 && faults.0.is_empty() {
            return Verdict::Unproven("it is over before anybody can go".to_owned());
        }
        if is_over || !faults.0.is_empty() {
            break;
        }
    }
    if course.policy.get().is_some() {
        behind_the_handler(course, &mut faults).await;
    }
    faults.into()
}

/// When its handler has answered, and nothing is recorded yet.
async fn behind_the_handler(course: &Course<'_, '_>, faults: &mut Faults) {
    let operation = course.operation().await;
    let work = async {
        let (mut running, door) = course.through(course.request(&operation), Fault::Hold);
        tokio::select! {
            biased;
            () = door.reached() => {}
            _over = &mut running => {}
        }
        drop_quietly(running);
        door.open();
        course.retry(&operation).await
    };
    let (retry, changed) = course.changed_by(work).await;
    let when = "dropped behind its handler";
    course.expect(faults, 1, changed, when);
    answered(course, faults, retry, when);
}

fn answered(
    course: &Course<'_, '_>,
    faults: &mut Faults,
    retry: Result<Answer, NoAnswer>,
    when: &str,
) {
    match retry {
        Ok(answer) if course.in_flight(&answer).is_none() => {
            let patience = course.proof.patience;
            faults.push(format!("{when} it was still running after {patience:?}"));
        }
        Ok(answer) if answer.has_succeeded() => {}
        Ok(answer) => faults.push(format!("{when} a retry got {}", answer.in_short())),
        Err(error) => faults.push(format!("{when}: {error}")),
    }
}
