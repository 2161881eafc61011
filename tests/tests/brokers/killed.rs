//! A relay is killed in front of a real broker, at every point of its work, and another one goes on: nothing is lost, what is
//! there twice is one message by its id, and once that is dropped the order is that of the commits.

use std::net::SocketAddr;

use idem_tests::outbox::{
    all_sent, die_at_every_boundary, ids, killed, message, mortal, ordered, plain, queue,
    release_taken, under, unsent,
};
use idem_tests::{App, Launch, Request, Stage, Switch, until};
use serde_json::{Value, json};

use crate::destination::{Destination, Held};

/// Each against each broker.
macro_rules! in_front_of {
    ($broker:ident is $destination:ident: $($case:ident,)+) => {
        mod $broker {
            use idem_tests::{Stage, on_all};

            use crate::destination::{Destination, $destination};

            on_all! { $($case,)+ }

            $(async fn $case(stage: &Stage) {
                let destination = $destination::fresh().await;
                super::$case(stage, &destination).await;
                destination.discard().await;
            })+
        }
    };
}

in_front_of! { nats is Subject:
    killed_at_every_boundary,
    killed_before_it_sends,
    killed_between_sending_and_the_answer,
    killed_between_the_answer_and_writing_it_down,
}

in_front_of! { rabbitmq is Queue:
    killed_at_every_boundary,
    killed_before_it_sends,
    killed_between_sending_and_the_answer,
    killed_between_the_answer_and_writing_it_down,
}

/// Of one operation: two orders, and messages in none, in turn.
const ORDERS: [Option<&str>; 6] = [Some("a"), None, Some("b"), Some("a"), None, Some("b")];

fn relay(stage: &Stage, destination: &impl Destination, address: SocketAddr) -> Launch {
    let target = destination.relay(address);
    stage.app().argument("--relay").argument(&target)
}

/// The message of this number; it says in which order it is.
fn numbered(destination: &impl Destination, number: u32, order: Option<&str>) -> Value {
    let payload = json!({ "number": number, "order": order });
    match order {
        Some(order) => ordered(destination.topic(), payload, order),
        None => message(destination.topic(), payload),
    }
}

fn said(held: &Held, member: &str) -> Value {
    let payload: Value = serde_json::from_slice(&held.1).expect("JSON");
    payload[member].clone()
}

fn numbers<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<u64> {
    let number = |held| said(held, "number").as_u64().expect("a number");
    held.into_iter().map(number).collect()
}

/// What is left when of each id only the first is taken: by a consumer in its own transaction.
async fn consumed(app: &App, held: &[Held]) -> Vec<Held> {
    let mut new = Vec::new();
    for one in held {
        let path = format!("/inbox?consumer=c&label=consumed&id={}", one.0);
        let answer = app.send(&Request::post(&path)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        if answer.json() == true {
            new.push(one.clone());
        }
    }
    assert_eq!(app.effects("consumed").await.committed, new.len() as u64);
    new
}

/// So many messages are there, each once after de-duplication, under the id that it was queued with, and each order in
/// that of the commits.
async fn check<D: Destination>(stage: &Stage, app: &App, destination: &D, count: usize) {
    let held = destination.held().await;
    let once = consumed(app, &held).await;
    assert!(!D::DROPS_DUPLICATES || once.len() == held.len(), "{held:?}");
    let queued = ids(stage).await;
    let mut found = numbers(&once);
    for (one, number) in once.iter().zip(&found) {
        assert_eq!(Some(&plain(&one.0)), queued.get(*number as usize));
    }
    for order in ["a", "b"] {
        let of_order = once.iter().filter(|one| said(one, "order") == order);
        let of_order = numbers(of_order);
        assert!(of_order.is_sorted(), "{order}: {of_order:?}");
    }
    found.sort_unstable();
    assert_eq!(found, (0..count as u64).collect::<Vec<_>>());
    println!("{} arrivals of {count} messages", held.len());
}

async fn killed_at_every_boundary(stage: &Stage, destination: &impl Destination) {
    let app = stage.start().await;
    let queue = async |at| {
        let first = (at - 1) * ORDERS.len() as u32;
        let messages = (first..).zip(ORDERS);
        let messages: Vec<_> = messages
            .map(|(number, order)| numbered(destination, number, order))
            .collect();
        queue(&app, &format!("k{at}"), &messages).await;
    };
    let relay = || relay(stage, destination, destination.address());
    let boundaries = die_at_every_boundary(stage, relay, queue, async |_| {}).await;
    assert!(boundaries > 8, "only {boundaries} boundaries");
    check(stage, &app, destination, boundaries as usize * ORDERS.len()).await;
}

async fn killed_before_it_sends(stage: &Stage, destination: &impl Destination) {
    dies_at(stage, destination, "X-Die-Before", &[]).await;
}

async fn killed_between_the_answer_and_writing_it_down<D: Destination>(
    stage: &Stage,
    destination: &D,
) {
    dies_at(stage, destination, "X-Die", &[0]).await;
    let twice = if D::DROPS_DUPLICATES { 2 } else { 3 };
    assert_eq!(destination.held().await.len(), twice);
}

/// A relay dies where the first of two messages says so, and those have come by then.
async fn dies_at(stage: &Stage, destination: &impl Destination, header: &str, come: &[u64]) {
    let app = stage.start().await;
    let [first, second] = [0, 1].map(|number| numbered(destination, number, Some("a")));
    let dies = under(first, json!([[header, "1"]]));
    queue(&app, "k", &[dies, second]).await;
    let launch = || relay(stage, destination, destination.address());
    killed(mortal(launch()).start().await).await;
    assert_eq!(numbers(&destination.held().await), come);
    assert_eq!(unsent(stage).await, 2);
    release_taken(stage).await;
    let _survivor = launch().start().await;
    all_sent(stage).await;
    check(stage, &app, destination, 2).await;
}

async fn killed_between_sending_and_the_answer<D: Destination>(stage: &Stage, destination: &D) {
    let app = stage.start().await;
    let switch = Switch::to(destination.address()).await;
    let victim = relay(stage, destination, switch.address()).start().await;
    let [first, second, third] = [0, 1, 2].map(|number| numbered(destination, number, Some("a")));
    queue(&app, "k", &[first]).await;
    all_sent(stage).await;
    switch.mute();
    queue(&app, "l", &[second, third]).await;
    until("the broker has the message", || async {
        (numbers(&destination.held().await) == [0, 1]).then_some(())
    })
    .await;
    victim.kill().await;
    assert_eq!(unsent(stage).await, 2);
    release_taken(stage).await;
    let survivor = relay(stage, destination, destination.address());
    let _survivor = survivor.start().await;
    all_sent(stage).await;
    check(stage, &app, destination, 3).await;
    let twice = if D::DROPS_DUPLICATES { 3 } else { 4 };
    assert_eq!(destination.held().await.len(), twice);
}
