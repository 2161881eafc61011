//! Leases that run out or nearly do: who is kept from running, whom it does no harm, and what a late owner is told.

use std::time::{Duration, Instant};

use actix_web::test::{call_service, init_service};
use actix_web::web;
use diesel_async::SimpleAsyncConnection;
use idem_runtime::{Idempotency, Verdict, settle};
use idem_tests::{Backend, Database, until};
use tokio::time::sleep;

use super::{Kind, Postgres, Told, app, connect, each, send, statuses, unresolved};
use crate::open::{Answer, attempt, identified, marks};

each! {
    a_step_that_is_longer_than_its_lease_kept_it_from_being_renewed,
    a_late_owner_that_was_cancelled_was_told_that_it_is_running,
    an_owner_whose_lease_cannot_be_renewed_is_told_that_the_store_is_away,
    take_overs_of_others_cut_a_wait_short,
}

/// On SQLite its transaction keeps the heartbeat from writing.
async fn a_step_that_is_longer_than_its_lease_kept_it_from_being_renewed<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let again = || attempt("/run-short/slow", "k");
    let builder = K::builder(&database).await;
    let answers = send(builder, &told, vec![again(), again()]).await;
    assert_eq!(statuses(&answers), [201, 201], "{}", answers[0].body);
    assert_eq!(marks(&database, "slow").await, 1);
    database.discard().await;
}

/// It was released behind its finished step, and nobody has taken it over.
async fn a_late_owner_that_was_cancelled_was_told_that_it_is_running<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async || {
        let request = attempt("/run-short/gated", "k").to_request();
        Answer::of(call_service(&app, request).await).await
    };
    let beside = release_at_the_gate::<K>(&database, &told);
    // The gate stays closed: it is the heartbeat that ends this run.
    let (late, ()) = futures_util::join!(ask(), beside);
    assert_eq!(late.status.as_u16(), 409, "{}", late.body);
    assert_eq!(late.code(), "idempotency-unresolved");
    assert_eq!(ask().await.status.as_u16(), 201);
    assert_eq!(marks(&database, "second").await, 1);
    database.discard().await;
}

async fn release_at_the_gate<K: Kind>(database: &Database, told: &Told) {
    told.until("at the gate", 1).await;
    let mut connection = connect::<K>(database).await;
    let retain = Duration::from_secs(60);
    let mut is_released = false;
    // It may be renewed just then.
    while !is_released {
        database.expire_leases().await;
        let seen = idem_runtime::unresolved(&mut connection, 1).await.unwrap();
        if let Some(seen) = seen.first() {
            let settled = settle(&mut connection, seen, Verdict::Released, retain).await;
            is_released = settled.unwrap();
        }
    }
}

async fn an_owner_whose_lease_cannot_be_renewed_is_told_that_the_store_is_away<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async || {
        let request = attempt("/short", "k").to_request();
        Answer::of(call_service(&app, request).await).await
    };
    let beside = async {
        told.until("entered", 1).await;
        database
            .execute("ALTER TABLE idempotency_keys RENAME TO gone")
            .await;
    };
    let (late, ()) = futures_util::join!(ask(), beside);
    assert_eq!(late.status.as_u16(), 503, "{}", late.body);
    assert_eq!(late.code(), "idempotency-store-unavailable");
    database
        .execute("ALTER TABLE gone RENAME TO idempotency_keys")
        .await;
    let mut connection = connect::<K>(&database).await;
    unresolved(&database, &mut connection).await;
    assert_eq!(ask().await.code(), "idempotency-unresolved");
    assert_eq!(told.times("entered"), 1);
    drop(connection);
    database.discard().await;
}

/// Lets no row be changed, as if each time somebody else had taken it over first.
fn storm(backend: Backend) -> [&'static str; 2] {
    match backend {
        Backend::Postgres => [
            "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
             CREATE TRIGGER storm BEFORE UPDATE ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION pass()",
            "DROP TRIGGER storm ON idempotency_keys",
        ],
        Backend::Mysql => [
            "CREATE TRIGGER storm BEFORE UPDATE ON idempotency_keys FOR EACH ROW
             SET NEW.owner = OLD.owner, NEW.lease_expires_at = OLD.lease_expires_at",
            "DROP TRIGGER storm",
        ],
        Backend::Sqlite => [
            "CREATE TRIGGER storm BEFORE UPDATE ON idempotency_keys BEGIN SELECT RAISE(IGNORE); END",
            "DROP TRIGGER storm",
        ],
    }
}

async fn take_overs_of_others_cut_a_wait_short<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async || {
        let request = attempt("/wait", "k").to_request();
        Answer::of(call_service(&app, request).await).await
    };
    assert_eq!(ask().await.status.as_u16(), 500);
    let [begin, end] = storm(K::BACKEND);
    database.execute(begin).await;
    let start = Instant::now();
    let waiting = ask().await;
    assert_eq!(waiting.code(), "idempotency-in-flight");
    assert!(start.elapsed() >= Duration::from_secs(1), "{start:?}");
    // Whoever still waits when it is over runs it.
    let beside = async {
        sleep(Duration::from_millis(200)).await;
        database.execute(end).await;
    };
    let (waiting, ()) = futures_util::join!(ask(), beside);
    assert_eq!(waiting.status.as_u16(), 201, "{}", waiting.body);
    assert_eq!(told.runs(), 2);
    database.discard().await;
}

/// The COMMIT of its claim took longer than the lease that it claims.
#[actix_web::test]
async fn a_handler_was_entered_without_a_lease() {
    let database = Postgres::database().await;
    let slow = "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON idempotency_keys
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nap();";
    database.execute(slow).await;
    let told = web::Data::<Told>::default();
    told.after.notify_one();
    let ask = async || {
        let requests = vec![attempt("/short", "k")];
        let answers = send(Postgres::builder(&database).await, &told, requests).await;
        statuses(&answers)
    };
    assert_eq!(ask().await, [503]);
    assert_eq!((told.times("entered"), database.records().await), (0, 0));
    database
        .execute("DROP TRIGGER nap ON idempotency_keys")
        .await;
    assert_eq!(ask().await, [201]);
    database.discard().await;
}

/// It was taken over so slowly that no handler was entered under it.
#[actix_web::test]
async fn a_release_was_used_up_by_a_run_that_never_began() {
    let database = Postgres::database().await;
    let told = web::Data::<Told>::default();
    let builder = Postgres::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async || {
        let request = attempt("/run-short/gated", "k").to_request();
        Answer::of(call_service(&app, request).await).await
    };
    let beside = release_at_the_gate::<Postgres>(&database, &told);
    let (late, ()) = futures_util::join!(ask(), beside);
    assert_eq!(late.code(), "idempotency-unresolved");
    let slow = "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN NEW; END $$;
        CREATE TRIGGER nap BEFORE UPDATE ON idempotency_keys FOR EACH ROW
        WHEN (OLD.unresolved = 'released') EXECUTE FUNCTION nap();";
    database.execute(slow).await;
    assert_eq!(ask().await.status.as_u16(), 503);
    database
        .execute("DROP TRIGGER nap ON idempotency_keys")
        .await;
    let released = ask().await;
    assert_eq!(released.status.as_u16(), 201, "{}", released.body);
    assert_eq!(marks(&database, "second").await, 1);
    database.discard().await;
}

/// While a step commits, its row is locked; the renewals of all others are behind its own.
#[actix_web::test]
async fn one_slow_commit_cost_others_their_leases() {
    let database = Postgres::database().await;
    let gate = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON marks
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait();";
    database.execute(gate).await;
    let mut blocker = connect::<Postgres>(&database).await;
    let closed = "SELECT pg_advisory_lock(7)";
    blocker.batch_execute(closed).await.unwrap();
    let told = web::Data::<Told>::default();
    let builder = identified(Idempotency::builder(Postgres::bb8(&database, 3).await));
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async |path, key| {
        let request = attempt(path, key).to_request();
        Answer::of(call_service(&app, request).await).await
    };
    let beside = async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        until("the step commits", async || {
            (database.number(waiting).await > 0).then_some(())
        })
        .await;
        let open = async {
            // Longer than it takes until the step's lease is to be renewed, and the other one's is lost.
            sleep(Duration::from_millis(2400)).await;
            let open = "SELECT pg_advisory_unlock(7)";
            blocker.batch_execute(open).await.unwrap();
        };
        futures_util::join!(ask("/long", "other"), open).0
    };
    let (slow, other) = futures_util::join!(ask("/run/small", "slow"), beside);
    assert_eq!(other.status.as_u16(), 201, "{}", other.body);
    assert_eq!(slow.status.as_u16(), 201, "{}", slow.body);
    assert_eq!(marks(&database, "slow").await, 1);
    drop(blocker);
    database.discard().await;
}
