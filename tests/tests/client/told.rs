//! What the application says is understood: refusals, records, keys in both forms, what is running and what is unresolved.

use std::time::{Duration, SystemTime};

use idem_client::reqwest::header::{AUTHORIZATION, HeaderValue};
use idem_client::{Key, KeyForm, Outcome, Why};
use idem_tests::{Stage, on_all};
use serde_json::json;
use uuid::{Builder, Uuid};

use crate::{ask, assert_done, builder, client, code, gated, giving_up_after, marking};

on_all! {
    both_forms_name_one_operation,
    who_has_no_token_goes_on_with_one,
    a_key_for_two_operations_is_refused,
    a_recorded_refusal_is_a_refusal_also_later,
    a_refusal_behind_a_failure_is_known_when_it_is_marked,
    an_old_key_is_unknown,
    a_duplicate_that_was_accepted_is_not_the_end,
    a_failure_that_was_rolled_back_is_run_again,
    a_failure_that_nobody_knows_the_end_of_is_waited_for,
}

async fn both_forms_name_one_operation(stage: &Stage) {
    let app = stage.start().await;
    let key = Key::generate();
    for (form, is_replay) in [(KeyForm::Quoted, false), (KeyForm::Bare, true)] {
        let client = builder().key_form(form).build().unwrap();
        let request = ask(&client, app.address(), "/account/script", &marking("forms"));
        let outcome = request.key(key.clone()).send().await.unwrap();
        assert_done(&outcome);
        assert_eq!(outcome.replayed(), is_replay, "{form:?}");
    }
    assert_eq!(stage.database.effects("forms").await, 1);
}

async fn who_has_no_token_goes_on_with_one(stage: &Stage) {
    let app = stage.start().await;
    let client = client();
    let request = client.post(format!("http://{}/account/script", app.address()));
    let outcome = request.json(&marking("login")).send().await.unwrap();
    let Outcome::Refused(refused) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(refused.answer().status(), 401);
    let mut operation = refused.into_operation();
    let key = operation.key().unwrap().to_owned();
    operation.secret_header(AUTHORIZATION, HeaderValue::from_static("Bearer acme:one"));
    let outcome = client.run(&mut operation).await.unwrap();
    assert_done(&outcome);
    assert!(!outcome.replayed());
    assert_eq!(operation.key(), Some(&*key));
    assert_eq!(stage.database.effects("login").await, 1);
}

async fn a_key_for_two_operations_is_refused(stage: &Stage) {
    let app = stage.start().await;
    let (client, key) = (client(), Key::new("one").unwrap());
    for label in ["tea", "coffee"] {
        let request = ask(&client, app.address(), "/account/script", &marking(label));
        let outcome = request.key(key.clone()).send().await.unwrap();
        match label {
            "tea" => assert_done(&outcome),
            _ => {
                assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
                assert_eq!(
                    (code(&outcome), outcome.attempts()),
                    ("idempotency-key-reused", 1)
                );
            }
        }
    }
    assert_eq!(stage.database.effects("coffee").await, 0);
}

async fn a_recorded_refusal_is_a_refusal_also_later(stage: &Stage) {
    let app = stage.start().await;
    let client = client();
    let script = json!({ "label": "gone", "status": 404, "body": "no such item" });
    let request = ask(&client, app.address(), "/account/script", &script);
    let mut operation = request.prepare().unwrap();
    let first = client.run(&mut operation).await.unwrap();
    assert!(
        matches!(first, Outcome::Refused(_)) && !first.replayed(),
        "{first:?}"
    );
    // Whoever does not know of that first answer can tell all the same, because the record says so.
    let saved = serde_json::to_value(&operation).unwrap();
    let mut operation: idem_client::PendingOperation = serde_json::from_value(saved).unwrap();
    assert!(operation.may_have_arrived());
    operation.secret_header(AUTHORIZATION, HeaderValue::from_static("Bearer acme:one"));
    let later = client.run(&mut operation).await.unwrap();
    assert!(
        matches!(later, Outcome::Refused(_)) && later.replayed(),
        "{later:?}"
    );
    assert_eq!(stage.database.effects("gone").await, 0);
}

/// The server knows that its first attempt left nothing. The client does not, until the record says so.
async fn a_refusal_behind_a_failure_is_known_when_it_is_marked(stage: &Stage) {
    let app = stage.start().await;
    let client = client();
    let script =
        json!({ "label": "later", "status": 422, "body": "no", "fail": "panic", "fails": 1 });
    let request = ask(&client, app.address(), "/account/script", &script);
    let mut operation = request.prepare().unwrap();
    let outcome = client.run(&mut operation).await.unwrap();
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::RefusedLater, 2));
    assert_eq!(unknown.answer().unwrap().status(), 422);
    assert!(unknown.may_be_done() && unknown.why().may_go_on());
    let outcome = client.run(&mut operation).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Refused(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(app.effects("later").await.entered, 2);
    assert_eq!(stage.database.effects("later").await, 0);
}

async fn an_old_key_is_unknown(stage: &Stage) {
    let app = stage.start().await;
    let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    let since = two_days_ago.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let random = Uuid::new_v4().into_bytes();
    let random = random[..10].try_into().unwrap();
    let millis = since.as_millis().try_into().unwrap();
    let key = Builder::from_unix_timestamp_millis(millis, random).into_uuid();
    let client = client();
    let request = ask(&client, app.address(), "/dated/script", &marking("old"));
    let request = request.key(Key::new(key.to_string()).unwrap());
    let outcome = request.send().await.unwrap();
    assert_eq!(code(&outcome), "idempotency-key-expired");
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::KeyExpired, 1));
    assert!(!unknown.why().may_go_on());
    // Ours are new.
    let request = ask(&client, app.address(), "/dated/script", &marking("new"));
    assert_done(&request.send().await.unwrap());
    assert_eq!(app.effects("old").await.entered, 0);
}

async fn a_duplicate_that_was_accepted_is_not_the_end(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(&client(), app.address(), "/accept/script", &gated("long"));
    let mut operation = request.prepare().unwrap();
    let client = giving_up_after(1);
    tokio::select! {
        outcome = client.run(&mut operation) => panic!("{outcome:?}"),
        () = app.reached("long", 1) => {}
    }
    let second = client.run(&mut operation).await.unwrap();
    assert_eq!(second.answer().unwrap().status(), 202);
    assert!(
        matches!(&second, Outcome::Unknown(unknown) if unknown.why() == Why::Budget),
        "{second:?}"
    );
    app.open_gate("long").await;
    let outcome = crate::client().run(&mut operation).await.unwrap();
    assert_done(&outcome);
    assert!(outcome.replayed());
    assert_eq!(app.effects("long").await.entered, 1);
}

async fn a_failure_that_was_rolled_back_is_run_again(stage: &Stage) {
    let app = stage.start().await;
    let client = client();
    let script =
        json!({ "label": "panics", "status": 201, "body": "done", "fail": "panic", "fails": 2 });
    let request = ask(&client, app.address(), "/account/script", &script);
    let outcome = request.send().await.unwrap();
    assert_done(&outcome);
    assert_eq!((outcome.attempts(), outcome.replayed()), (3, false));
    assert_eq!(app.effects("panics").await.entered, 3);
    assert_eq!(stage.database.effects("panics").await, 1);
}

/// Lease mode, `unresolved = "hold"`: the handler has called the outside world, and nobody runs it again.
async fn a_failure_that_nobody_knows_the_end_of_is_waited_for(stage: &Stage) {
    let app = stage.start().await;
    let client = giving_up_after(2);
    let script = json!({ "label": "held", "call": true, "fail": "panic" });
    let request = ask(&client, app.address(), "/hold/script", &script);
    let mut operation = request.prepare().unwrap();
    for _ in 0..2 {
        let outcome = client.run(&mut operation).await.unwrap();
        assert_eq!(code(&outcome), "idempotency-unresolved");
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!((unknown.why(), unknown.attempts()), (Why::Budget, 2));
        assert!(unknown.may_be_done() && unknown.why().may_go_on());
    }
    let effects = app.effects("held").await;
    assert_eq!(effects.entered, 1);
    assert_eq!(effects.calls.into_values().collect::<Vec<_>>(), [1]);
}
