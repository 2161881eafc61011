//! What the completion worker does not do behind the clients' backs, and who is offered it instead.

use std::time::Duration;

use actix_web::web;
use idem_runtime::{Reconciler, UnresolvedOperation, Verdict};
use idem_tests::Database;

use super::{Kind, Told, app, column, each, send, statuses};
use crate::open::{Answer, attempt};

each! {
    a_refused_request_was_done_behind_the_clients_back,
    a_request_of_another_version_is_offered_to_the_reconciler,
}

async fn ask<K: Kind>(
    database: &Database,
    told: &web::Data<Told>,
    path: &str,
    key: &str,
) -> Answer {
    let requests = vec![attempt(path, key)];
    let answers = send(K::builder(database).await, told, requests).await;
    answers.into_iter().next().unwrap()
}

/// Whether there is a kept request.
async fn is_kept(database: &Database) -> bool {
    column(database, "CASE WHEN request IS NOT NULL THEN 'kept' END")
        .await
        .is_some()
}

/// Lets a completion worker drive another operation to its end, which it has seen at the same time.
async fn let_complete<K: Kind>(database: &Database, told: &web::Data<Told>) {
    let other = ask::<K>(database, told, "/run-kept/before", "other").await;
    assert_eq!(other.status.as_u16(), 500);
    let builder = K::builder(database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let settings = settings.unwrap();
    let worker = settings.spawn_completion({
        let (settings, told) = (settings.clone(), told.clone());
        move || app(&settings, &told)
    });
    told.until("before of other", 2).await;
    worker.stop().await;
}

/// With a finished step, and without.
async fn a_refused_request_was_done_behind_the_clients_back<K: Kind>() {
    for path in ["/run-kept/refused", "/kept/403"] {
        let database = K::database().await;
        let told = web::Data::<Told>::default();
        let refused = ask::<K>(&database, &told, path, "k").await;
        assert_eq!(refused.status.as_u16(), 403, "{path}: {}", refused.body);
        assert!(!is_kept(&database).await, "{path}");
        let_complete::<K>(&database, &told).await;
        let runs = told.runs() + told.times("refused of k");
        assert_eq!(runs, 1, "{path}");
        // The client may ask again.
        ask::<K>(&database, &told, path, "k").await;
        let runs = told.runs() + told.times("refused of k");
        assert_eq!(runs, 2, "{path}");
        database.discard().await;
    }
}

struct Offered(web::Data<Told>);

impl Reconciler for Offered {
    async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
        let steps: Vec<_> = operation.steps().collect();
        let (key, is_kept) = (operation.key().as_str(), operation.request().is_some());
        self.0.say(format!("offered {key} {steps:?} {is_kept}"));
        Verdict::Unknown
    }
}

async fn a_request_of_another_version_is_offered_to_the_reconciler<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let path = "/run-kept/changed";
    let first = ask::<K>(&database, &told, path, "k").await;
    assert_eq!(first.status.as_u16(), 500);
    assert!(is_kept(&database).await);
    let second = ask::<K>(&database, &told, path, "k").await;
    assert_eq!(second.status.as_u16(), 409, "{}", second.body);
    assert_eq!(second.code(), "idempotency-unresolved");
    assert!(second.body.contains("another version"), "{}", second.body);
    assert!(!is_kept(&database).await);
    let_complete::<K>(&database, &told).await;
    assert_eq!(told.times("changed of k"), 2);

    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let worker = settings.unwrap().spawn_reconciler(Offered(told.clone()));
    told.until("offered k [\"old\"] false", 1).await;
    worker.stop().await;

    // The version is back.
    let third = ask::<K>(&database, &told, path, "k").await;
    assert_eq!(statuses(&[third]), [201]);
    database.discard().await;
}
