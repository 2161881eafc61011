//! What stands in our log events, at every level: nothing that a client has sent, and nothing that is recorded.

use idem_tests::{App, Backend, Launch, Request, Stage, asynchronous, in_both_styles, until};
use serde_json::{Value, json};

use crate::asking::{assert_replay, gated, marking};
use crate::lease::{
    BACKGROUND, HOLD, STEPS, stepping, stepping_gated, stepping_with, strand, with, with_worker,
};

in_both_styles! {
    the_log_names_no_body,
    a_path_without_a_route_is_named_nowhere,
}

asynchronous! {
    the_log_names_no_body_in_lease_mode,
    the_log_names_nothing_of_a_damaged_row,
}

/// Stands in everything that is sent and answered: body, headers, token, recorded body and headers.
const SECRET: &str = "geheim-0815";

fn traced(launch: Launch) -> Launch {
    launch.environment("RUST_LOG", "idem_runtime=trace")
}

/// The script asked for with the secret in its body, its headers and its token, and in what it answers.
fn secretly(path: &str, key: &str, script: &Value) -> Request {
    let secrets = json!({ "note": SECRET, "body": SECRET, "headers": [["x-answer", SECRET]] });
    Request::post(path)
        .bearer(&format!("acme:{SECRET}"))
        .key(key)
        .json(&with(script, &secrets))
        .header("X-Note", SECRET)
        .header("Accept-Language", SECRET)
}

/// Waits until it has said all of this, and nothing of the secret.
async fn assert_silent(app: &App, said: &[&str]) {
    let log = until("the log has said it", || async {
        let log = app.log();
        said.iter().all(|words| log.contains(words)).then_some(log)
    })
    .await;
    assert!(!log.contains("geheim"), "{log}");
    assert!(!log.contains(&hex::encode("geheim")), "{log}");
}

async fn the_log_names_no_body(stage: &Stage) {
    let app = traced(stage.app()).start().await;
    let request = secretly("/account/script", "k", &gated("gate"));
    let running = app.send_in_background(&request);
    app.reached("gate", 1).await;
    assert_eq!(app.send(&request).await.status, 409);
    app.open_gate("gate").await;
    let first = running.await.unwrap();
    assert_eq!((first.status, first.text()), (201, SECRET.into()));
    assert_replay(&first, &app.send(&request).await);
    let other = secretly("/account/script", "k", &marking("other"));
    assert_eq!(app.send(&other).await.status, 422);
    for fail in ["panic", "err", "swallow", "endless"] {
        let script = json!({ "label": "failing", "fail": fail, "status": 201 });
        let answer = app.send(&secretly("/account/script", fail, &script)).await;
        assert!(answer.status >= 500, "{fail}: {answer:?}");
    }
    let refused = json!({ "label": "refused", "status": 409, "fail": "err" });
    let refused = secretly("/account/script", "refused", &refused);
    assert_eq!(app.send(&refused).await.status, 409);
    stage.database.refuse_to_record().await;
    for script in [
        marking("unrecorded"),
        json!({ "label": "large", "body_size": 100_000 }),
    ] {
        let key = script["label"].as_str().unwrap();
        let answer = app.send(&secretly("/account/script", key, &script)).await;
        assert!(answer.status >= 500, "{answer:?}");
    }
    let said = [
        "executed",
        "in_flight",
        "replayed",
        "mismatch",
        "the handler panicked",
        "not committed",
        "idempotency.operation{",
        r#"http.route="/account/script""#,
    ];
    assert_silent(&app, &said).await;
    assert_ne!(
        digest_behind(&app, "in_flight"),
        digest_behind(&app, "panicked")
    );
    for outcome in ["executed", "replayed", "mismatch"] {
        assert!(
            digests_behind(&app, outcome).contains(&digest_behind(&app, "in_flight")),
            "{outcome}"
        );
    }
}

/// The digests of keys in the lines that say so.
fn digests_behind(app: &App, words: &str) -> Vec<String> {
    let log = app.log();
    let lines = log.lines().filter(|line| line.contains(words));
    let digest = |line: &str| {
        let (_, digest) = line.split_once(r#"idempotency.key.digest=""#)?;
        Some(digest.split('"').next()?.to_owned())
    };
    lines.filter_map(digest).collect()
}

fn digest_behind(app: &App, words: &str) -> String {
    digests_behind(app, words).swap_remove(0)
}

async fn the_log_names_no_body_in_lease_mode(stage: &Stage) {
    let app = traced(stage.app()).start().await;
    let request = secretly(STEPS, "steps", &stepping("steps"));
    let first = app.send(&request).await;
    assert_eq!(first.status, 201);
    assert_replay(&first, &app.send(&request).await);
    let other = secretly(STEPS, "steps", &marking("other"));
    assert_eq!(app.send(&other).await.status, 422);
    for (step, fail) in [(0, "err"), (1, "panic")] {
        let members = json!({ "fail": fail });
        let script = stepping_with(fail, step, &members);
        assert_eq!(app.send(&secretly(STEPS, fail, &script)).await.status, 500);
    }
    stage.database.refuse_to_finish().await;
    let unfinished = app
        .send(&secretly(STEPS, "unfinished", &stepping("unfinished")))
        .await;
    assert!(unfinished.status >= 500, "{unfinished:?}");
    stage.database.let_record().await;
    assert_silent(
        &app,
        &[
            "executed",
            "replayed",
            "mismatch",
            "the handler panicked",
            "the store failed",
            r#"idempotency.mode="lease""#,
        ],
    )
    .await;

    let calling = with(&gated("held"), &json!({ "call": true }));
    let held = secretly(HOLD, "held", &calling);
    let kept = secretly(BACKGROUND, "kept", &stepping_gated("kept", 1));
    strand(stage, &held, "held").await;
    strand(stage, &kept, "kept").await;
    stage.database.expire_leases().await;
    let reconciler = traced(with_worker(stage, "--reconcile")).start().await;
    let completion = traced(with_worker(stage, "--completion")).start().await;
    completion.open_gate("kept").await;
    assert_silent(&reconciler, &["reconciled"]).await;
    assert!(reconciler.send(&held).await.is_replay());
    assert_silent(&completion, &["resumed"]).await;
    assert!(completion.send(&kept).await.is_replay());
}

/// Nor is a method that a client has made up.
async fn a_path_without_a_route_is_named_nowhere(stage: &Stage) {
    let app = traced(stage.app()).start().await;
    let path = format!("/anywhere/{SECRET}");
    let panicking = json!({ "label": "panic", "fail": "panic" });
    let sent = [
        (Request::post(&path).json(&marking("k")).key("k"), 201),
        (Request::post(&path).json(&panicking).key("panic"), 500),
        (
            Request::with_method("GEHEIM", &path)
                .json(&marking("made-up"))
                .key("made-up"),
            201,
        ),
    ];
    for (request, status) in sent {
        let request = request.bearer("acme:one");
        assert_eq!(app.send(&request).await.status, status);
    }
    let said = [
        r#"the handler panicked endpoint="*""#,
        r#"http.request.method="POST""#,
        r#"http.request.method="_OTHER""#,
        r#"endpoint="*" outcome="executed""#,
    ];
    assert_silent(&app, &said).await;
    assert!(!app.log().contains("GEHEIM"), "{}", app.log());
    let named = "SELECT count(*) FROM idempotency_keys WHERE endpoint = '*'";
    assert_eq!(stage.database.number(named).await, 2);
}

/// What cannot be read is not shown instead.
async fn the_log_names_nothing_of_a_damaged_row(stage: &Stage) {
    let app = traced(stage.app()).start().await;
    let request = secretly("/account/script", "k", &marking("k"));
    assert_eq!(app.send(&request).await.status, 201);
    let damage = format!("UPDATE idempotency_keys SET headers = '{SECRET}'");
    stage.database.execute(&damage).await;
    assert_eq!(app.send(&request).await.status, 500);
    assert_silent(&app, &["what is stored cannot be read"]).await;

    let kept = secretly(BACKGROUND, "kept", &stepping_gated("kept", 1));
    strand(stage, &kept, "kept").await;
    let bytes = match stage.backend() {
        Backend::Postgres => "bytea",
        Backend::Mysql => "binary",
        Backend::Sqlite => "blob",
    };
    let damage = format!(
        "UPDATE idempotency_keys SET request = CAST('{SECRET}' AS {bytes}), steps = '{SECRET}' WHERE status IS NULL"
    );
    stage.database.execute(&damage).await;
    stage.database.expire_leases().await;
    let completion = traced(with_worker(stage, "--completion")).start().await;
    assert_silent(&completion, &["left to a reconciler"]).await;
}
