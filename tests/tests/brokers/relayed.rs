//! An outbox through a relay to each kind of server, which dies once meanwhile: each message arrives, and after those with the
//! same id are taken as one, once.

use std::collections::{BTreeMap, BTreeSet};

use async_nats::jetstream;
use idem_tests::{App, Request, Stage, Switch, on_postgres, until};
use lapin::options::{BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use serde_json::{Value, json};
use xtask::{Nats, Rabbit};

use crate::hook::{Hook, answer};
use crate::messages::unique;
use crate::servers::{channel, own};

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

async fn unsent(stage: &Stage) -> i64 {
    let unsent = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL";
    stage.database.number(unsent).await
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
    until("all is sent", || async {
        (unsent(stage).await == 0).then_some(())
    })
    .await;
}

/// Ids and payloads of what has arrived: each number under one id.
fn check(arrived: &[(String, Vec<u8>)]) {
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
    let topic = unique("relayed");
    let client = async_nats::connect(server.url()).await.unwrap();
    let jetstream = jetstream::new(client);
    let config = jetstream::stream::Config {
        name: topic.clone(),
        subjects: vec![topic.clone()],
        ..Default::default()
    };
    let mut stream = jetstream.create_stream(config).await.unwrap();
    let app = relay(stage, &format!("nats:{}", server.url())).await;
    let server = std::cell::RefCell::new(&mut server);
    let die = || own(|| server.borrow_mut().kill());
    let live = || own(|| server.borrow_mut().revive());
    queue_around(&app, &topic, stage, die, live).await;

    let count = stream.info().await.unwrap().state.messages;
    assert_eq!(count, MESSAGES, "JetStream has dropped the duplicates");
    let mut arrived = Vec::new();
    for sequence in 1..=count {
        let message = stream.get_raw_message(sequence).await.unwrap();
        let id = message.headers.get("Nats-Msg-Id").unwrap().to_string();
        arrived.push((id, message.payload.to_vec()));
    }
    check(&arrived);
}

async fn through_rabbitmq(stage: &Stage) {
    let mut server = own(Rabbit::start);
    let topic = unique("relayed");
    let options = QueueDeclareOptions {
        durable: true,
        ..Default::default()
    };
    let before = channel(&server.url()).await;
    let declared = before.queue_declare(topic.as_str().into(), options, FieldTable::default());
    declared.await.unwrap();
    let app = relay(stage, &format!("amqp:{}", server.url())).await;
    let url = server.url();
    let server = std::cell::RefCell::new(&mut server);
    let die = || own(|| server.borrow_mut().kill());
    let live = || own(|| server.borrow_mut().revive());
    queue_around(&app, &topic, stage, die, live).await;

    let after = channel(&url).await;
    let mut arrived = Vec::new();
    let options = BasicGetOptions { no_ack: true };
    while let Some(got) = after
        .basic_get(topic.as_str().into(), options)
        .await
        .unwrap()
    {
        let id = got.delivery.properties.message_id().clone().unwrap();
        arrived.push((id.to_string(), got.delivery.data.clone()));
    }
    check(&arrived);
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
    until("all is sent", || async {
        (unsent(stage).await == 0).then_some(())
    })
    .await;

    let got = hook.got();
    let id = |got: &crate::hook::Got| got.header("webhook-id").unwrap();
    let arrived: Vec<_> = got.iter().map(|got| (id(got), got.body.clone())).collect();
    check(&arrived);
}
