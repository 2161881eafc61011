//! A file documents what a server does otherwise: that is a deviation, and what the file does not say is none.

use std::fs;

use idem_tests::broken::Defect;

use super::{Server, outcomes, row};

#[actix_web::test]
async fn what_is_documented_is_a_deviation() {
    let server = Server::with(Defect::MismatchAsConflict);
    let file = server.dir.path().join("shop.toml");
    let profile = ["--json", "--profile", file.to_str().unwrap()];

    fs::write(
        &file,
        "based-on = 'strict'\n[mismatch]\nstatus = 409\ncode = 'key-taken'\n",
    )
    .unwrap();
    let said = server.check_all(&profile).await.done();
    let found = outcomes(&said);
    let deviations = ["mismatch", "other-query", "mismatch-in-flight"];
    assert_eq!(found["deviation"], deviations, "{}", said.out);
    assert_eq!(found["passed"].len(), 18, "{}", said.out);
    let detail = row(&said, "mismatch")["detail"].to_string();
    assert!(detail.contains("409 instead of 422"), "{detail}");
    assert_eq!(said.json()["profile"], "shop");

    // Documented otherwise than it is.
    fs::write(&file, "based-on = 'strict'\n[mismatch]\nstatus = 400\n").unwrap();
    let said = server
        .check(&[&profile[..], &["--other-body", "{\"item\": \"coffee\"}"]].concat())
        .await;
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(outcomes(&said)["violated"], ["mismatch", "other-query"]);
}

#[actix_web::test]
async fn a_check_may_be_documented_away() {
    let server = Server::with(Defect::GlobalScope);
    let file = server.dir.path().join("one-shop.toml");
    fs::write(
        &file,
        "based-on = 'draft'\nreplay-header = 'Idempotent-Replayed: true'\nignore-headers = ['x-run']\n
         [deviations]\nforeign-tenant = 'there is one client'\nretry = 'never mind'\n",
    )
    .unwrap();
    let options = ["--json", "--other-header", super::BOB, "--profile"];
    let said = server
        .check(&[&options[..], &[file.to_str().unwrap()]].concat())
        .await
        .done();
    let foreign = row(&said, "foreign-tenant");
    assert_eq!(foreign["outcome"], "deviation");
    let detail = foreign["detail"].as_str().unwrap();
    assert!(detail.starts_with("there is one client ("), "{detail}");
    assert_eq!(said.json()["notes"].as_array().unwrap().len(), 2);
}

#[actix_web::test]
async fn a_wrong_profile_sends_nothing() {
    let server = Server::with(Defect::None);
    let file = server.dir.path().join("shop.toml");
    fs::write(
        &file,
        "based-on = 'draft'\n[deviations]\nretries = 'never'\n",
    )
    .unwrap();
    let said = server.check(&["--profile", file.to_str().unwrap()]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("\"retries\"") && said.err.contains("replay-marker"),
        "{}",
        said.err
    );
    let said = server.check(&["--profile", "stern"]).await;
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("neither draft nor strict"),
        "{}",
        said.err
    );
    assert_eq!(server.shop.orders(), 0);
}
