//! What is said of `redact` where it cannot be done.

use super::refusals::{refusals, with_options};

#[test]
fn pointers() {
    let cases = [
        ("pointer by itself", "redact = \"/card\""),
        ("pointers of none", "redact = []"),
        ("pointers of numbers", "redact = [\"/card\", 1]"),
        ("pointer without a slash", "redact = [\"card.number\"]"),
        ("pointer to the whole body", "redact = [\"\"]"),
        ("pointer to every element", "redact = [\"/cards/*/number\"]"),
        ("pointer with a tilde", "redact = [\"/a~b\"]"),
        ("pointer twice", "redact = [\"/a\", \"/b\", \"/a\"]"),
        (
            "redact beside a kept request",
            "mode = \"lease\", unresolved = \"rerun\", resume = \"background\", redact = [\"/a\"]",
        ),
    ];
    let cases = cases.map(|(name, options)| (name, with_options(options)));
    refusals("redact_refusals", &cases);
}
