//! In which namespace a key is unique.

use idem_tests::{Request, Stage, in_both_styles};

use crate::asking::{ask, assert_replay, assert_reused, marking};

in_both_styles! {
    tenants_share_nothing,
    nobody_is_refused,
    a_refreshed_token_is_the_same_account,
    one_key_on_two_paths,
    parts_do_not_run_together,
    the_scope_of_an_endpoint,
    the_global_scope,
}

fn by(account: &str, path: &str, key: &str, label: &str) -> Request {
    Request::post(path)
        .bearer(&format!("{account}:one"))
        .key(key)
        .json(&marking(label))
}

async fn tenants_share_nothing(stage: &Stage) {
    let app = stage.start().await;
    for account in ["a", "b", "A"] {
        let answer = app
            .send(&by(account, "/account/script", "k", "same body"))
            .await;
        assert_eq!(
            (answer.status, answer.is_replay()),
            (201, false),
            "{account}"
        );
    }
    // Another body of another tenant is no mismatch either.
    let answer = app
        .send(&by("c", "/account/script", "k", "other body"))
        .await;
    assert_eq!((answer.status, answer.is_replay()), (201, false));
    assert_eq!(stage.database.effects("same body").await, 3);
    assert_eq!(stage.database.records().await, 4);
}

async fn nobody_is_refused(stage: &Stage) {
    let app = stage.start().await;
    let request = |token: Option<&str>| {
        let request = Request::post("/account/script")
            .key("k")
            .json(&marking("nobody"));
        match token {
            Some(token) => request.header("Authorization", token),
            None => request,
        }
    };
    assert_eq!(
        app.send(&by("acme", "/account/script", "k", "nobody"))
            .await
            .status,
        201
    );
    for token in [
        None,
        Some("Bearer "),
        Some("Bearer :x"),
        Some("Basic acme:one"),
    ] {
        let answer = app.send(&request(token)).await;
        assert_eq!(
            (answer.status, answer.is_replay()),
            (401, false),
            "{token:?}"
        );
    }
    assert_eq!(app.effects("nobody").await.entered, 1);
    // Who is asking comes before what they say.
    let broken = Request::post("/account/script")
        .key("k2")
        .typed("application/json", "{");
    assert_eq!(app.send(&broken).await.status, 401);
}

async fn a_refreshed_token_is_the_same_account(stage: &Stage) {
    let app = stage.start().await;
    let request = |token: &str| {
        Request::post("/account/script")
            .bearer(token)
            .key("k")
            .json(&marking("token"))
    };
    let first = app.send(&request("acme:old-token")).await;
    assert_replay(&first, &app.send(&request("acme:new-token")).await);
    assert_eq!(stage.database.effects("token").await, 1);
}

async fn one_key_on_two_paths(stage: &Stage) {
    let app = stage.start().await;
    let first = app
        .send(&ask("/account/1/script", "k", &marking("paths")))
        .await;
    assert_eq!(first.status, 201);
    assert_reused(
        &app.send(&ask("/account/2/script", "k", &marking("paths")))
            .await,
    );
    assert_reused(
        &app.send(&ask("/account/script", "k", &marking("paths")))
            .await,
    );
    assert_reused(
        &app.send(&ask("/account/%31/script", "k", &marking("paths")))
            .await,
    );
    assert_replay(
        &first,
        &app.send(&ask("/account/1/script", "k", &marking("paths")))
            .await,
    );
    assert_eq!(stage.database.effects("paths").await, 1);
}

async fn parts_do_not_run_together(stage: &Stage) {
    let app = stage.start().await;
    let pairs = [
        ("ab", "c"),
        ("a", "bc"),
        ("a", "b:c"),
        ("a|b", "c"),
        ("a/b", "c"),
        ("a", "/bc"),
        ("a", "1:b"),
    ];
    for (account, key) in pairs {
        let answer = app
            .send(&by(account, "/account/script", key, "parts"))
            .await;
        assert_eq!(
            (answer.status, answer.is_replay()),
            (201, false),
            "{account} {key}"
        );
    }
    let count = i64::try_from(pairs.len()).unwrap();
    assert_eq!(stage.database.effects("parts").await, count);
    // A name of any length is a name.
    let long = "a".repeat(4000);
    for account in [&long, &format!("{long}b")] {
        let answer = app.send(&by(account, "/account/script", "k", "long")).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false));
    }
}

async fn the_scope_of_an_endpoint(stage: &Stage) {
    let app = stage.start().await;
    let first = app
        .send(&by("a", "/endpoint/script", "k", "endpoint"))
        .await;
    assert_eq!(first.status, 201);
    // Shared by all callers, and nobody has to say who is asking.
    assert_replay(
        &first,
        &app.send(&by("b", "/endpoint/script", "k", "endpoint"))
            .await,
    );
    let nobody = Request::post("/endpoint/script")
        .key("k")
        .json(&marking("endpoint"));
    assert_replay(&first, &app.send(&nobody).await);
    let elsewhere = app
        .send(&by("a", "/other-endpoint/script", "k", "elsewhere"))
        .await;
    assert_eq!((elsewhere.status, elsewhere.is_replay()), (201, false));
    let account = app.send(&by("a", "/account/script", "k", "account")).await;
    assert_eq!((account.status, account.is_replay()), (201, false));
}

async fn the_global_scope(stage: &Stage) {
    let app = stage.start().await;
    let first = app.send(&by("a", "/global/script", "k", "global")).await;
    assert_eq!(first.status, 201);
    assert_replay(
        &first,
        &app.send(&by("b", "/global/script", "k", "global")).await,
    );
    assert_reused(&app.send(&by("b", "/global/script", "k", "other")).await);
    let account = app.send(&by("a", "/account/script", "k", "account")).await;
    assert_eq!((account.status, account.is_replay()), (201, false));
    assert_eq!(stage.database.effects("global").await, 1);
}
