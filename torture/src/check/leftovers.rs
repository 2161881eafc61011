//! What is left when everything had time to settle: a last word for everybody, and nothing half done.

use super::{Findings, Kind, Story};
use crate::backends::Tables;
use crate::history::Meaning;

pub(super) fn check(story: &Story<'_>, findings: &mut Findings) {
    let settled: Vec<_> = story
        .answered()
        .filter(|(attempt, _)| attempt.is_after_the_harm)
        .map(|(attempt, answer)| (attempt.variant, answer.meaning()))
        .collect();
    for index in 0..story.operation.variants.len() {
        let has_last_word = settled
            .iter()
            .any(|(variant, meaning)| *variant == index && *meaning != Meaning::Later);
        if !has_last_word {
            let last = story
                .attempts
                .iter()
                .rfind(|attempt| attempt.variant == index);
            let detail = format!("request {index} has no last word; the latest is {last:?}");
            findings.add(Kind::Stuck, story, detail);
        }
    }
    let is_answered = settled
        .iter()
        .any(|(_, meaning)| *meaning == Meaning::Final);
    if !is_answered
        && settled
            .iter()
            .any(|(_, meaning)| *meaning == Meaning::Mismatch)
    {
        findings.add(
            Kind::Stuck,
            story,
            "the key is said to be taken, and nobody has it",
        );
    }
}

pub(super) fn check_tables(tables: &Tables, findings: &mut Findings) {
    for row in &tables.pending {
        findings.add_of(Kind::Pending, row, "not recorded at the end");
    }
    for open in &tables.open {
        findings.add_of(Kind::LeftOpen, "", open);
    }
}
