//! What cannot be checked: exit code 2, and nothing that is mistaken for a finding.

use std::net::TcpListener;

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};
use idem_tests::broken::{Defect, Running};

use crate::common::place::typed_on;

use super::{ALICE, Server, check, orders, row, run};

#[actix_web::test]
async fn a_server_that_is_not_there_cannot_be_checked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = orders(listener.local_addr().unwrap());
    // It listens, and never answers.
    let said = check(&url, &["--timeout", "300ms"]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("no answer within 300ms"), "{}", said.err);
    drop(listener);
    let said = check(&url, &[]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("no connection"), "{}", said.err);
    assert_eq!(said.out, "");
}

#[actix_web::test]
async fn a_request_that_does_not_succeed_checks_nothing() {
    let server = Server::with(Defect::None);
    let said = run(&server.orders(), &["--yes"]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("answered 401"), "{}", said.err);
    for count in [format!("{}/none", server.orders()), server.orders()] {
        let said = server
            .check(&["--count", &count, "--count-pointer", "/7"])
            .await;
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("--count: "), "{}", said.err);
    }
    assert_eq!(server.shop.orders(), 0);
}

#[actix_web::test]
async fn a_wrong_command_line_sends_nothing_and_tells_no_secret() {
    let server = Server::with(Defect::None);
    let url = server.orders();
    let with_password = url.replace("http://", "http://alice:hunter2@");
    for options in [
        &["--header", "hunter2"][..],
        &["--other-header", ALICE],
        &["--other-body", r#"{"item": "tea", "quantity": 1}"#],
        &["--slow-body", "@/no/such/file"],
        &["--count", &with_password],
        &["--junit", "/no/such/directory/file"],
        &["--method", "SPACED OUT"],
        &["--count-pointer", "/a"],
    ] {
        let said = check(&url, options).await;
        assert_eq!(said.code, 2, "{options:?}: {}", said.err);
    }
    assert_eq!(check(&with_password, &[]).await.code, 2);
    assert_eq!(server.shop.orders(), 0);
}

#[actix_web::test]
async fn nothing_is_sent_without_a_word() {
    let server = Server::with(Defect::None);
    let said = run(&server.orders(), &["--header", ALICE]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("say --yes"), "{}", said.err);
    assert_eq!(server.shop.orders(), 0);
}

#[actix_web::test]
async fn a_person_is_asked() {
    let server = Server::with(Defect::None);
    let url = server.orders();
    let line = ["check", &url, "--header", ALICE, "--body", "{}"];
    let said = typed_on(server.dir.path(), &line, "n", || {});
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(
        said.out.contains(&format!("requests to POST {url}")),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("keys begin with idem-check-"),
        "{}",
        said.out
    );
    let said = typed_on(server.dir.path(), &line, "y", || {});
    assert!(said.out.contains("answered 400"), "{}", said.out);
}

/// What was given and does not do its job is a mistake of whoever gave it, and not silently left out.
#[actix_web::test]
async fn a_body_that_does_not_do_its_job_checks_nothing() {
    let server = Server::with(Defect::None);
    let body = r#"{"item": "tea", "quantity": 3}"#;
    let said = server
        .check(&["--json", "--slow-body", body, "--failing-body", body])
        .await;
    assert_eq!(said.code, 2, "{}", said.out);
    let failure = row(&said, "failure-not-remembered");
    assert_eq!(failure["outcome"], "unchecked", "{failure}");
    for id in ["in-flight", "mismatch-in-flight", "slow-retried"] {
        let row = row(&said, id);
        // On a busy machine it may have been slow enough.
        let is_unchecked = row["outcome"] == "unchecked";
        assert!(is_unchecked || row["outcome"] == "answers-only", "{row}");
        let detail = row["detail"].as_str().unwrap();
        assert_eq!(
            is_unchecked,
            detail.contains("answered 201 within 300ms"),
            "{row}"
        );
    }
}

#[actix_web::test]
async fn headers_may_stand_in_a_file() {
    let server = Server::with(Defect::None);
    let mine = server.dir.path().join("alice");
    std::fs::write(&mine, format!("{ALICE}\r\n\nX-Shop: 7\n")).unwrap();
    let mine = format!("@{}", mine.display());
    let said = run(&server.orders(), &["--yes", "--header", &mine]).await;
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let said = run(&server.orders(), &["--yes", "--header", "@/no/such"]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("--header"), "{}", said.err);
}

#[actix_web::test]
async fn a_client_who_is_not_welcome_checks_nothing() {
    let server = Server::with(Defect::None);
    let stranger = ["--json", "--other-header", "Authorization: Basic hunter2"];
    let said = server.check(&stranger).await;
    assert_eq!(said.code, 2, "{}", said.out);
    let row = row(&said, "foreign-tenant");
    assert_eq!(row["outcome"], "unchecked", "{row}");
    let detail = row["detail"].as_str().unwrap();
    assert!(detail.contains("401 with any key"), "{detail}");
    assert_eq!(said.json()["conformant"], false);
}

#[actix_web::test]
async fn what_has_moved_is_not_checked_where_it_was() {
    let moved = |config: &mut ServiceConfig| {
        config.default_service(web::to(async || {
            HttpResponse::PermanentRedirect()
                .insert_header(("Location", "/elsewhere"))
                .finish()
        }));
    };
    let running = Running::start(moved);
    let said = check(&orders(running.address()), &[]).await;
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(
        said.err.contains("308: what is to be checked is elsewhere"),
        "{}",
        said.err
    );
}
