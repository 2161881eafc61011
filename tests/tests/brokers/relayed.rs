//! An outbox through a relay to each kind of server, which dies once meanwhile: each message arrives, and after those with the
//! same id are taken as one, once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use idem_tests::outbox::{all_sent, unsent};
use idem_tests::{App, Request, Stage, Switch, on_postgres};
use serde_json::{Value, json};
use xtask::{Nats, Rabbit};

use crate::destination::{Destination, Held, Queue, Subject};
use crate::hook::{Hook, answer};
use crate::messages::unique;
use crate::servers::own;

on_postgres! {
    through_nats,
    through_rabbitmq,
    through_a_webhook,
}

const MESSAGES: u64 = 200;
const IN_ONE: u64 = 5;

async fn relay(stage: &Stage, target: &str) -> App {
    let options = [
        ("--relay", target),
        ("--relay-attempts", "100000"),
        ("--relay-pause-ms", "100"),
        ("--relay-batch", "20"),
    ];
    let app = stage.app();
    let add = |app: idem_tests::Launch, (name, value)| app.argument(name).argument(value);
    options.into_iter().fold(app, add).start().await
}

/// Queues those messages, a few with each operation.
async fn queue(app: &App, topic: &str, numbers: std::ops::Range<u64>) {
    let numbers: Vec<_> = numbers.collect();
    for some in numbers.chunks(IN_ONE as usize) {
        let messages: Vec<Value> = some
            .iter()
            .map(|number| json!({ "topic": topic, "payload": number }))
            .collect();
        let script = json!({ "label": "relayed", "status": 201, "messages": messages });
        let key = format!("{topic}-{}", some[0]);
        let request = Request::post("/outbox/script")
            .bearer("acme:one")
            .key(&key)
            .json(&script);
        let answer = app.send(&request).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

/// Half before, half while the server is away, the rest after it has come back.
async fn queue_around(
    app: &App,
    topic: &str,
    stage: &Stage,
    die: impl FnOnce(),
    live: impl FnOnce(),
) {
    queue(app, topic, 0..MESSAGES / 2).await;
    die();
    queue(app, topic, MESSAGES / 2..MESSAGES * 3 / 4).await;
    assert!(unsent(stage).await >= i64::try_from(MESSAGES / 4).unwrap());
    live();
    queue(app, topic, MESSAGES * 3 / 4..MESSAGES).await;
    all_sent(stage).await;
}

/// Ids and payloads of what has arrived: each number under one id.
fn check(arrived: &[Held]) {
    let mut payloads = BTreeMap::new();
    for (id, payload) in arrived {
        let number: u64 = serde_json::from_slice(payload).expect("a number");
        let before = payloads.insert(id, number);
        assert!(before.is_none_or(|before| before == number), "{id} is two");
    }
    let numbers: BTreeSet<_> = payloads.values().copied().collect();
    assert_eq!(payloads.len() as u64, MESSAGES);
    assert!(numbers.into_iter().eq(0..MESSAGES));
    println!("{} arrivals of {MESSAGES} messages", arrived.len());
}

async fn through_nats(stage: &Stage) {
    let mut server = own(Nats::start);
    let subject = Subject::at(&server.url()).await;
    let app = relay(stage, &subject.relay(subject.address())).await;
    let server = RefCell::new(&mut server);
    let die = || own(|| server.borrow_mut().kill());
    let live = || own(|| server.borrow_mut().revive());
    queue_around(&app, subject.topic(), stage, die, live).await;
    let held = subject.held().await;
    let count = held.len() as u64;
    assert_eq!(count, MESSAGES, "JetStream has dropped the duplicates");
    check(&held);
}

async fn through_rabbitmq(stage: &Stage) {
    let mut server = own(Rabbit::start);
    let waiting = Queue::at(&server.url()).await;
    let app = relay(stage, &waiting.relay(waiting.address())).await;
    let server = RefCell::new(&mut server);
    let die = || own(|| server.borrow_mut().kill());
    let live = || own(|| server.borrow_mut().revive());
    queue_around(&app, waiting.topic(), stage, die, live).await;
    check(&waiting.held().await);
}

async fn through_a_webhook(stage: &Stage) {
    let hook = Hook::start(answer(200, "")).await;
    let switch = Switch::to(hook.address()).await;
    let topic = unique("relayed");
    let app = relay(stage, &format!("webhook:http://{}/", switch.address())).await;
    queue(&app, &topic, 0..MESSAGES / 2).await;
    switch.cut().await;
    queue(&app, &topic, MESSAGES / 2..MESSAGES * 3 / 4).await;
    assert!(unsent(stage).await >= i64::try_from(MESSAGES / 4).unwrap());
    switch.lead_to(hook.address()).await;
    queue(&app, &topic, MESSAGES * 3 / 4..MESSAGES).await;
    all_sent(stage).await;

    let got = hook.got();
    let id = |got: &crate::hook::Got| got.header("webhook-id").unwrap();
    let arrived: Vec<_> = got.iter().map(|got| (id(got), got.body.clone())).collect();
    check(&arrived);
}
