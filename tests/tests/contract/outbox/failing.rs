//! What does not arrive is tried again, later each time; what never will is given up, kept, and holds nobody up.

use idem_tests::{Request, Stage, on_all, until};
use serde_json::{Value, json};

use super::{Letters, dead, message, ordered, payloads, queue, under, unsent, with};

on_all! {
    a_failure_is_tried_again,
    a_poison_message_holds_nobody_up,
    a_panic_is_a_failure,
    a_publisher_that_does_not_return,
    what_never_returns_is_given_up_although_others_wait_for_it,
}

async fn a_failure_is_tried_again(stage: &Stage) {
    let letters = Letters::new();
    let (app, relay) = (stage.start().await, letters.relay(stage).start().await);
    let failing = under(message("t", json!("third time")), json!([["X-Fail", "2"]]));
    queue(&app, "k", &[failing]).await;
    let arrived = letters.arrived(stage, 1).await;
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0]["attempt"], 3);
    assert_eq!(relay.entered("publish:t").await, 3);
    let left = "SELECT last_error FROM idempotency_outbox";
    assert_eq!(stage.database.text(left).await, None);
}

async fn a_poison_message_holds_nobody_up(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let poison = |topic: &str, headers: Value| under(ordered(topic, json!("poison"), "o"), headers);
    let attempts = [("--relay-attempts", 3)];
    let relay = with(letters.relay(stage), &attempts).start().await;
    queue(
        &app,
        "k",
        &[
            ordered("first", json!(1), "o"),
            poison("refused", json!([["X-Refuse", "yes"]])),
            ordered("second", json!(2), "o"),
            poison("failing", json!([["X-Fail", "3"]])),
            ordered("third", json!(3), "o"),
            ordered("other", json!("other"), "p"),
            message("loose", json!("loose")),
        ],
    )
    .await;
    let arrived = letters.arrived(stage, 5).await;
    let of_order: Vec<Value> = arrived
        .iter()
        .filter(|letter| letter["order"] == "o")
        .cloned()
        .collect();
    assert_eq!(payloads(&of_order), [1, 2, 3]);
    assert_eq!(arrived.len(), 5, "{arrived:#?}");
    let dead = dead(&relay).await;
    let told: Vec<_> = dead
        .iter()
        .map(|dead| {
            (
                dead["topic"].as_str().unwrap(),
                dead["attempts"].as_u64().unwrap(),
                dead["last_error"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("refused", 1, "it is refused"),
            ("failing", 3, "attempt 3 fails")
        ]
    );
    // Nobody touches them any more, until somebody has looked.
    assert_eq!(relay.entered("publish:refused").await, 1);
    assert_eq!(relay.entered("publish:failing").await, 3);
    for (dead, times) in dead.iter().zip([1, 4]) {
        let id = dead["id"].as_str().unwrap();
        let requeue = Request::post(&format!("/requeue?id={id}"));
        assert_eq!(relay.send(&requeue).await.text(), "true");
        let topic = format!("publish:{}", dead["topic"].as_str().unwrap());
        until("it is tried again", || async {
            (relay.entered(&topic).await > times && unsent(stage).await == 0).then_some(())
        })
        .await;
    }
    let unknown = "/requeue?id=00000000-0000-8000-8000-000000000000";
    assert_eq!(app.send(&Request::post(unknown)).await.text(), "false");
}

async fn a_panic_is_a_failure(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let attempts = [("--relay-attempts", 2)];
    let relay = with(letters.relay(stage), &attempts).start().await;
    let panics = under(message("t", json!("panics")), json!([["X-Panic", "yes"]]));
    queue(&app, "k", &[panics, message("t", json!("beside"))]).await;
    assert_eq!(payloads(&letters.arrived(stage, 1).await), ["beside"]);
    let dead = dead(&relay).await;
    assert_eq!(dead[0]["last_error"], "the publisher panicked");
}

/// It is dropped when somebody else may have the message, and everything goes on.
async fn a_publisher_that_does_not_return(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let options = [("--relay-claim-ms", 1_000), ("--relay-attempts", 1)];
    let relay = with(letters.relay(stage), &options).start().await;
    let hangs = under(
        ordered("t", json!("hangs"), "o"),
        json!([["X-Gate", "never"]]),
    );
    queue(&app, "k", &[hangs, ordered("t", json!("behind"), "o")]).await;
    assert_eq!(payloads(&letters.arrived(stage, 1).await), ["behind"]);
    let dead = dead(&relay).await;
    assert_eq!(
        dead[0]["last_error"],
        "the publisher did not return in time"
    );
}

/// Who drops it has to say so while the message is still his: the others take it as soon as it is not.
async fn what_never_returns_is_given_up_although_others_wait_for_it(stage: &Stage) {
    const ATTEMPTS: u32 = 3;
    let letters = Letters::new();
    let options = [
        // A fifth of it is for saying so.
        ("--relay-claim-ms", 5_000),
        ("--relay-attempts", ATTEMPTS),
        ("--relay-poll-ms", 1),
    ];
    let relay = with(letters.relay(stage), &options);
    let relays = [
        relay.start().await,
        relay.start().await,
        relay.start().await,
    ];
    let hangs = under(message("t", json!("hangs")), json!([["X-Gate", "never"]]));
    queue(&relays[0], "k", &[hangs]).await;
    letters.arrived(stage, 0).await;
    let mut tries = 0;
    for relay in &relays {
        tries += relay.entered("publish:t").await;
    }
    assert_eq!(tries, u64::from(ATTEMPTS));
}
