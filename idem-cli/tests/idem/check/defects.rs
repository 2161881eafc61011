//! Each defect is found by the checks that are about it, and by no other.

use futures_util::future::join_all;
use idem_tests::broken::Defect;

use super::{Server, outcomes, row};

/// What is violated by a shop with this defect, in the order of the checks.
fn expected(defect: Defect) -> &'static [&'static str] {
    match defect {
        Defect::None | Defect::Alike => &[],
        Defect::CheckThenAct => &[
            "concurrent-duplicates",
            "dropped-client",
            "in-flight",
            "mismatch-in-flight",
            "slow-retried",
        ],
        Defect::NoFingerprint => &[
            "mismatch",
            "other-query",
            "json-numbers",
            "mismatch-in-flight",
        ],
        Defect::Reserialized => &["retry"],
        Defect::GlobalScope => &["foreign-tenant"],
        Defect::FailureRemembered => &["failure-not-remembered"],
        // The client that hung up comes back when the lease is over.
        Defect::StaleTakeOver => &["dropped-client", "slow-retried"],
        Defect::FloatFingerprint => &["json-numbers"],
        Defect::Abandoned => &["dropped-client"],
        Defect::LaxKeys => &[
            "missing-key",
            "malformed-key",
            "longest-key",
            "quoted-key",
            "key-case",
        ],
        Defect::RawFingerprint => &["json-form"],
        Defect::Unmarked => &["replay-marker"],
        Defect::Anonymous => &["no-identity"],
        Defect::EarlyClaim => &["broken-upload"],
        // Nothing behind its first order is what it seems: see below.
        Defect::BodyIsKey => &[],
        Defect::MismatchAsConflict => &[
            "mismatch",
            "other-query",
            "json-numbers",
            "mismatch-in-flight",
        ],
    }
}

#[actix_web::test]
async fn each_defect_is_found_and_nothing_else() {
    let defects = Defect::all().iter();
    let defects = defects.filter(|defect| **defect != Defect::BodyIsKey);
    let found = defects.map(|defect| async move {
        let server = Server::with(*defect);
        (*defect, server.check_all(&["--json"]).await)
    });
    for (defect, said) in join_all(found).await {
        let violated = expected(defect);
        let mut outcomes = outcomes(&said);
        let found = outcomes.remove("violated").unwrap_or_default();
        assert_eq!(found, violated, "{defect:?}: {}", said.out);
        assert_eq!(outcomes["passed"].len(), 21 - violated.len(), "{defect:?}");
        assert_eq!(said.code, i32::from(!violated.is_empty()), "{defect:?}");
    }
}

#[actix_web::test]
async fn two_orders_that_are_taken_for_one_are_found() {
    for options in [&["--json"][..], &["--json", "--profile", "draft"]] {
        let server = Server::with(Defect::BodyIsKey);
        let said = server.check_all(options).await;
        assert_eq!(outcomes(&said)["violated"][0], "new-key", "{}", said.out);
    }
}

#[actix_web::test]
async fn the_draft_asks_for_less() {
    let found = [
        (Defect::None, &[][..]),
        (Defect::NoFingerprint, &["mismatch"]),
        (Defect::Reserialized, &[]),
        (Defect::FloatFingerprint, &[]),
        (Defect::GlobalScope, &["foreign-tenant"]),
    ]
    .map(|(defect, advised)| async move {
        let server = Server::with(defect);
        let said = server.check_all(&["--json", "--profile", "draft"]).await;
        (defect, advised, said)
    });
    for (defect, advised, said) in join_all(found).await {
        let mut outcomes = outcomes(&said);
        let found = outcomes.remove("advised").unwrap_or_default();
        assert_eq!(found, advised, "{defect:?}: {}", said.out);
        assert_eq!(outcomes["passed"].len(), 9 - advised.len(), "{defect:?}");
        assert_eq!(said.code, 0, "{defect:?}: {}", said.out);
        assert_eq!(row(&said, "mismatch")["level"], "SHOULD");
        assert_eq!(row(&said, "new-key")["level"], "MUST");
    }
}

/// A SHOULD is about an answer. What was done twice is no matter of degree.
#[actix_web::test]
async fn the_draft_does_not_excuse_what_was_done_twice() {
    let server = Server::with(Defect::CheckThenAct);
    let said = server.check_all(&["--json", "--profile", "draft"]).await;
    let violated = [
        "concurrent-duplicates",
        "dropped-client",
        "in-flight",
        "slow-retried",
    ];
    assert_eq!(outcomes(&said)["violated"], violated, "{}", said.out);
    assert_eq!(said.code, 1);
}

/// Then a marker tells which one is a replay, or else the effects do.
#[actix_web::test]
async fn answers_that_are_alike_tell_nothing_apart() {
    let server = Server::with(Defect::Alike);
    let other = ["--json", "--other-header", super::BOB];
    for (profile, outcome) in [("strict", "answers-only"), ("draft", "skipped")] {
        let options = [&other[..], &["--profile", profile]].concat();
        let said = server.check(&options).await.done();
        let alike = [
            "new-key",
            "foreign-tenant",
            "retry",
            "concurrent-duplicates",
        ];
        for id in alike.into_iter().chain(["dropped-client"]) {
            assert_eq!(row(&said, id)["outcome"], outcome, "{profile} {id}");
        }
    }
    let url = server.orders();
    let options = [&other[..], &["--profile", "draft", "--count", &url]].concat();
    let said = server.check(&options).await.done();
    for id in ["new-key", "foreign-tenant", "retry", "dropped-client"] {
        assert_eq!(row(&said, id)["outcome"], "passed", "{id}");
    }
}

/// Without a count, a second run still shows in its answer.
#[actix_web::test]
async fn answers_alone_show_what_ran_twice() {
    let found = [
        (Defect::None, &[][..]),
        (Defect::CheckThenAct, &["concurrent-duplicates"]),
        (Defect::GlobalScope, &["foreign-tenant"]),
    ]
    .map(|(defect, violated)| async move {
        let server = Server::with(defect);
        let other = ["--json", "--other-header", super::BOB];
        (defect, violated, server.check(&other).await)
    });
    for (defect, violated, said) in join_all(found).await {
        let mut outcomes = outcomes(&said);
        let found = outcomes.remove("violated").unwrap_or_default();
        assert_eq!(found, violated, "{defect:?}: {}", said.out);
        assert!(outcomes["answers-only"].contains(&"retry".to_owned()));
        assert_eq!(
            outcomes["skipped"],
            [
                "mismatch",
                "failure-not-remembered",
                "in-flight",
                "mismatch-in-flight",
                "slow-retried"
            ]
        );
    }
}
