//! The handlers to compare with do what they are for. None of them keeps the promise.

use idem_tests::{Request, Stage, on_postgres, on_sqlite};
use serde_json::{Value, json};

use crate::asking::ask;

// Nobody compares on MySQL.
on_postgres! {
    bare_commits_and_rolls_back,
    by_hand_replays_a_finished_key,
    the_floor_leaves_effect_and_record,
    the_work_of_four_statements_runs_everywhere,
}

on_sqlite! {
    bare_commits_and_rolls_back,
    by_hand_replays_a_finished_key,
    the_floor_leaves_effect_and_record,
    the_work_of_four_statements_runs_everywhere,
}

async fn bare_commits_and_rolls_back(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for _ in 0..2 {
        let answer = app
            .send(&ask("/bare/script", "k", &script("bare", 201)))
            .await;
        assert_eq!((answer.status, answer.text()), (201, "done".to_owned()));
    }
    for (status, fail) in [(404, Value::Null), (409, json!("err"))] {
        let mut script = script("bare", status);
        script["fail"] = fail;
        let answer = app.send(&ask("/bare/script", "k", &script)).await;
        assert_eq!(answer.status, status);
    }
    assert_eq!(stage.database.effects("bare").await, 2);
    assert_eq!(stage.database.records().await, 0);
    assert_eq!(stage.database.open_transactions().await, 0);
}

async fn by_hand_replays_a_finished_key(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let refused = ask("/byhand/script", "k", &script("by hand", 404));
    assert_eq!(app.send(&refused).await.status, 404);
    let request = ask("/byhand/script", "k", &script("by hand", 201));
    let (first, second) = (app.send(&request).await, app.send(&request).await);
    assert_eq!(first.status, 201);
    assert_eq!(first.comparable(), second.comparable());
    let other_account = Request::post("/byhand/script")
        .bearer("other:one")
        .key("k")
        .json(&script("by hand", 201));
    assert_eq!(app.send(&other_account).await.status, 201);
    assert_eq!(stage.database.effects("by hand").await, 2);
    assert_eq!(stage.database.open_transactions().await, 0);
}

async fn the_floor_leaves_effect_and_record(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for key in ["cold", "warm"] {
        let request = ask("/floor/script", key, &script("floor", 201));
        assert_eq!(app.send(&request).await.status, 201);
    }
    assert_eq!(stage.database.effects("floor").await, 2);
    let whole = "SELECT count(*) FROM idempotency_keys WHERE status = 201 AND length(body) = 4
         AND length(fingerprint) = 38 AND expires_at > recorded_at AND endpoint = 'POST /account/script'";
    assert_eq!(stage.database.number(whole).await, 2);
    assert_eq!(stage.database.open_transactions().await, 0);
}

async fn the_work_of_four_statements_runs_everywhere(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({ "label": "four", "work": "four", "body_size": 5000 });
    for path in [
        "/account/script",
        "/bare/script",
        "/byhand/script",
        "/floor/script",
    ] {
        let answer = app.send(&ask(path, path, &script)).await;
        assert_eq!((answer.status, answer.body.len()), (200, 5000), "{path}");
    }
    assert_eq!(stage.database.effects("four").await, 8);
    assert_eq!(
        stage.database.number("SELECT sum(sold) FROM stock").await,
        6
    );
}

fn script(label: &str, status: u16) -> Value {
    json!({ "label": label, "status": status, "body": "done", "headers": [["x-one", "1"], ["x-one", "2"]] })
}
