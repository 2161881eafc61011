//! What can only happen on PostgreSQL: schemas, and a server that does not answer.

use std::time::Duration;

use actix_web::http::StatusCode;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use idem_runtime::{Builder, Idempotency, pool};
use idem_tests::{Backend, Database};

use crate::open::{self, attempt, identified, marks};
use crate::postgres::{builder, send};

/// Advisory locks are the database's, tables are the schema's: tenants with a schema each must not block each other.
#[actix_web::test]
async fn the_same_key_in_another_schema_is_another_key() {
    let database = Database::fresh(Backend::Postgres).await;
    for schema in ["one", "two"] {
        let files = idem_runtime::migrations::FILES_POSTGRES;
        let up: String = files.iter().map(|file| file.up).collect();
        let set_up = format!(
            "CREATE SCHEMA {schema}; SET search_path TO {schema}; {up} CREATE TABLE marks (label text);"
        );
        database.execute(&set_up).await;
    }
    let running = send(
        in_schema(&database, "one").await,
        vec![attempt("/held", "k")],
    );
    let beside = async {
        let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
        while database.number(locks).await == 0 {
            tokio::task::yield_now().await;
        }
        let settings = in_schema(&database, "two").await;
        let answers = send(settings, vec![attempt("/plain", "k")]).await;
        crate::handlers::HOLD.add_permits(1);
        answers
    };
    let (held, beside) = futures_util::join!(running, beside);
    assert_eq!(beside[0].status, StatusCode::CREATED, "{}", beside[0].body);
    assert_eq!(held[0].status, StatusCode::CREATED);
    database.discard().await;
}

async fn in_schema(database: &Database, schema: &str) -> Builder<AsyncPgConnection> {
    let url = format!(
        "{}?options=-csearch_path%3D{schema}",
        open::address(database)
    );
    let manager = AsyncDieselConnectionManager::new_with_config(url, pool::postgres_config());
    let pool = bb8::Pool::builder().max_size(1).build(manager);
    identified(Idempotency::builder(pool.await.unwrap()))
}

#[actix_web::test]
async fn a_claim_that_gets_no_answer_is_given_up() {
    let database = open::database(Backend::Postgres).await;
    let mut blocker = AsyncPgConnection::establish(&open::address(&database))
        .await
        .unwrap();
    blocker
        .batch_execute("BEGIN; LOCK TABLE idempotency_keys")
        .await
        .unwrap();
    let asked = send(builder(&database, 1).await, vec![attempt("/plain", "k")]);
    let answers = tokio::time::timeout(Duration::from_secs(30), asked).await;
    assert_eq!(answers.unwrap()[0].code(), "idempotency-store-unavailable");
    blocker.batch_execute("ROLLBACK").await.unwrap();
    let answers = send(builder(&database, 1).await, vec![attempt("/plain", "k")]).await;
    assert_eq!(answers[0].status, StatusCode::CREATED);
    assert_eq!(marks(&database, "plain").await, 1);
    drop(blocker);
    database.discard().await;
}
