//! A shop whose idempotency is written by hand: what a proof says of it when it is right, and of each of its defects. It is no
//! endpoint of the runtime's.

use std::time::Duration;

use actix_web::App;
use actix_web::http::header::HeaderName;
use actix_web::test::{TestRequest, init_service};
use idem_runtime::testing::{Proof, Report, Rule, Verdict};
use idem_tests::broken::{Defect, Shop, configure};
use serde_json::json;
use tempfile::TempDir;

/// All that there is to be said of a shop.
fn proof(shop: &Shop) -> Proof<'_> {
    uncounted().effects(async || shop.orders())
}

/// The same without its orders.
fn uncounted<'a>() -> Proof<'a> {
    let order = |quantity: &str| format!("{{\"item\": \"tea\", \"quantity\": {quantity}}}");
    let request = move || {
        TestRequest::post()
            .uri("/orders")
            .insert_header(("authorization", "Bearer acme:1"))
            .insert_header(("content-type", "application/json"))
            .set_payload(order("9007199254740992"))
    };
    Proof::of(request)
        .other_body(move |request| request.set_payload(order("9007199254740993")))
        .other_account(|request| request.insert_header(("authorization", "Bearer other:1")))
        .refused_body(|request| request.set_payload("{"))
        .failing(|request| request.set_json(json!({"item": "tea", "fail": true})))
        .outliving(
            |request| request.set_json(json!({"item": "tea", "sleep_ms": 1500})),
            async || tokio::time::sleep(Duration::from_millis(1200)).await,
        )
        .patience(Duration::from_secs(5))
}

/// A shop, and the directory that it is in.
fn open(defect: Defect) -> (TempDir, Shop) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.db");
    let shop = Shop::open(defect, path.to_str().unwrap());
    (directory, shop)
}

async fn report(defect: Defect) -> Report {
    let (_directory, shop) = open(defect);
    let app = init_service(App::new().configure(configure(shop.clone()))).await;
    proof(&shop).check(&app).await
}

/// Of a proof that does not look at the shop's orders.
async fn report_of(defect: Defect, proof: Proof<'_>) -> Report {
    let (_directory, shop) = open(defect);
    let app = init_service(App::new().configure(configure(shop))).await;
    proof.check(&app).await
}

/// How many orders there are by then depends on how often a request is polled.
fn without_numbers(report: &Report) -> String {
    let mut text = report.to_string();
    for before in ["/orders/", r#"\"order\": "#] {
        let parts = text.split(before).enumerate().map(|(place, part)| {
            let number = |sign: char| place > 0 && sign.is_ascii_digit();
            let rest = part.trim_start_matches(number);
            let name = if rest == part { "" } else { "N" };
            format!("{name}{rest}")
        });
        text = parts.collect::<Vec<_>>().join(before);
    }
    text
}

#[track_caller]
fn assert_broken(report: &Report, rules: &[Rule]) {
    assert_eq!(report.broken(), rules, "{report}");
    assert_eq!(report.unproven(), [], "{report}");
}

#[actix_web::test]
async fn a_shop_that_is_right_is_proven_but_for_what_cannot_be_held() {
    let report = report(Defect::None).await;
    assert_broken(&report, &[]);
    for &rule in Rule::ALL {
        let is_proven = report.verdict(rule) == Some(&Verdict::Proven);
        assert!(is_proven || rule == Rule::InFlight, "{report}");
    }
    insta::assert_snapshot!(without_numbers(&report));
}

/// Wherever two requests of one key meet.
#[actix_web::test]
async fn check_then_act_is_found() {
    let report = report(Defect::CheckThenAct).await;
    let rules = [Rule::Concurrent, Rule::DroppedClient, Rule::LateOwner];
    assert_broken(&report, &rules);
}

#[actix_web::test]
async fn a_key_without_a_fingerprint_is_found() {
    let report = report(Defect::NoFingerprint).await;
    assert_broken(&report, &[Rule::OtherBody]);
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
async fn numbers_that_go_through_floating_point_are_found() {
    let report = report(Defect::FloatFingerprint).await;
    assert_broken(&report, &[Rule::OtherBody]);
}

#[actix_web::test]
async fn a_body_that_is_written_anew_is_found() {
    let report = report(Defect::Reserialized).await;
    assert_broken(&report, &[Rule::Retry]);
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
async fn one_scope_for_all_is_found() {
    let report = report(Defect::GlobalScope).await;
    assert_broken(&report, &[Rule::OtherAccount]);
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
async fn a_failure_that_is_remembered_is_found() {
    let report = report(Defect::FailureRemembered).await;
    assert_broken(&report, &[Rule::Failure]);
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
async fn a_claim_that_is_taken_over_from_who_still_works_is_found() {
    let report = report(Defect::StaleTakeOver).await;
    assert_broken(&report, &[Rule::LateOwner]);
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
async fn work_that_ends_with_its_client_is_found() {
    let report = report(Defect::Abandoned).await;
    assert_broken(&report, &[Rule::DroppedClient]);
}

#[actix_web::test]
async fn what_is_not_counted_is_not_proven_and_not_claimed() {
    let silent = report_of(Defect::None, uncounted()).await;
    assert_eq!(silent.broken(), [], "{silent}");
    for &rule in Rule::ALL {
        let is_of_answers = matches!(rule, Rule::FirstRequest | Rule::Marker | Rule::InFlight);
        let is_unproven = silent.unproven().contains(&rule);
        assert_eq!(is_unproven, !is_of_answers, "{rule:?}: {silent}");
    }
    let told = uncounted().skip(Rule::Effects, "nobody can count them");
    let told = report_of(Defect::None, told).await;
    assert!(told.is_proven(), "{told}");
    insta::assert_snapshot!(without_numbers(&told));
}

/// A handler with the defect is seen by its answers alone, although they do not say that they are replays.
#[actix_web::test]
async fn the_answer_of_another_account_is_found_without_a_mark() {
    let proof = || {
        uncounted()
            .skip(Rule::Effects, "it is about the answers")
            .replayed_header(HeaderName::from_static("x-other"))
            .volatile_header(HeaderName::from_static("idempotent-replayed"))
    };
    let rules = [Rule::Marker, Rule::OtherAccount];
    assert_broken(&report_of(Defect::GlobalScope, proof()).await, &rules);
    assert_broken(&report_of(Defect::None, proof()).await, &[Rule::Marker]);
}

#[actix_web::test]
async fn answers_that_say_nothing_are_nobodys() {
    assert_broken(&report(Defect::Alike).await, &[]);
}

#[actix_web::test]
async fn who_is_never_carried_out_is_no_late_owner() {
    let failing = uncounted()
        .skip(Rule::Effects, "it is about the answers")
        .outliving(
            |request| request.set_json(json!({"item": "tea", "sleep_ms": 1500, "fail": true})),
            async || tokio::time::sleep(Duration::from_millis(1200)).await,
        );
    let report = report_of(Defect::None, failing).await;
    assert_broken(&report, &[Rule::LateOwner]);
    assert!(
        report.to_string().contains("then a retry got 503"),
        "{report}"
    );
}

#[actix_web::test]
async fn what_nobody_has_said_is_not_proven() {
    let (_directory, shop) = open(Defect::None);
    let app = init_service(App::new().configure(configure(shop))).await;
    let request = || {
        TestRequest::post()
            .uri("/orders")
            .insert_header(("authorization", "Bearer acme:1"))
            .set_json(json!({"item": "tea"}))
    };
    let report = Proof::of(request).check(&app).await;
    insta::assert_snapshot!(without_numbers(&report));
    let anonymous = || TestRequest::post().uri("/orders").set_json("tea");
    let report = Proof::of(anonymous).check(&app).await;
    insta::assert_snapshot!(without_numbers(&report));
}

#[actix_web::test]
#[should_panic = "OtherBody"]
async fn a_proof_that_fails_fails_its_test() {
    let (_directory, shop) = open(Defect::NoFingerprint);
    let app = init_service(App::new().configure(configure(shop.clone()))).await;
    proof(&shop).run(&app).await;
}
