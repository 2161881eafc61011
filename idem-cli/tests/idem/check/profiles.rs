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
    let deviations = [
        "mismatch",
        "other-query",
        "json-numbers",
        "mismatch-in-flight",
    ];
    assert_eq!(found["deviation"], deviations, "{}", said.out);
    assert_eq!(found["passed"].len(), 17, "{}", said.out);
    let detail = row(&said, "mismatch")["detail"].to_string();
    assert!(detail.contains("409 instead of 422"), "{detail}");
    assert_eq!(said.json()["profile"], "shop");

    // Documented otherwise than it is.
    fs::write(&file, "based-on = 'strict'\n[mismatch]\nstatus = 400\n").unwrap();
    let said = server
        .check(&[&profile[..], &["--other-body", "{\"item\": \"coffee\"}"]].concat())
        .await;
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(
        outcomes(&said)["violated"],
        ["mismatch", "other-query", "json-numbers"]
    );
}

#[actix_web::test]
async fn no_profile_excuses_what_was_done_twice() {
    let server = Server::with(Defect::CheckThenAct);
    let file = server.dir.path().join("shop.toml");
    let twice = [
        "concurrent-duplicates",
        "dropped-client",
        "in-flight",
        "mismatch-in-flight",
        "slow-retried",
    ];
    let reasons = twice.map(|id| format!("{id} = 'it is like that'\n"));
    let profile = format!("based-on = 'strict'\n[deviations]\n{}", reasons.concat());
    fs::write(&file, profile).unwrap();
    let said = server
        .check_all(&["--json", "--profile", file.to_str().unwrap()])
        .await;
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(outcomes(&said)["violated"], twice, "{}", said.out);
    let detail = row(&said, "in-flight")["detail"].to_string();
    assert!(
        detail.contains("more than the profile documents"),
        "{detail}"
    );
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
