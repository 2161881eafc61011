//! What can only happen to a handler on diesel's own `MysqlConnection`: named locks are the session's, and diesel sees
//! neither that a transaction has ended nor that a connection is dead.

use std::sync::Barrier;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::test::{call_service, init_service};
use actix_web::{App, HttpResponse, post, web};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::sql_types::BigInt;
use diesel::{MysqlConnection, sql_query};
use idem_runtime::pool::{self, ConnectionPool};
use idem_runtime::{Blocking, Idempotency, idempotent, unresolved};
use idem_tests::{Backend, until};

use crate::blocking::mysql::{pool, send};
use crate::handlers::AppError;
use crate::only_mysql::{assert_never_retried, rival};
use crate::open::{self, Answer, attempt, identified, marks};

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn number(connection: &mut MysqlConnection, sql: &str) -> QueryResult<i64> {
    let row: Number = sql_query(sql).get_result(connection)?;
    Ok(row.number)
}

/// How many locks the session of a pool's only connection holds.
async fn held(pool: &Pool<ConnectionManager<MysqlConnection>>) -> i64 {
    let mut lent = ConnectionPool::<Blocking<MysqlConnection>>::lend(pool)
        .await
        .unwrap();
    let release = "SELECT CAST(RELEASE_ALL_LOCKS() AS signed) AS number";
    let held: QueryResult<i64> = lent
        .run(move |connection| number(connection, release))
        .await;
    held.unwrap()
}

#[actix_web::test]
async fn no_lock_goes_back_to_the_pool() {
    let database = open::database(Backend::Mysql).await;
    let pool = pool(&database, 1);
    for (path, key, status) in [
        ("/asked", "k", 201),
        ("/asked", "k", 201),
        ("/asked?other", "k", 422),
        ("/accepted", "refused", 202),
        ("/accepted", "refused", 202),
        ("/left-open", "open", 500),
        ("/nested", "nested", 201),
    ] {
        let answers = send(pool.clone(), vec![attempt(path, key)]).await;
        assert_eq!(
            answers[0].status.as_u16(),
            status,
            "{path}: {}",
            answers[0].body
        );
        assert_eq!(held(&pool).await, 0, "{path}");
    }
    drop(pool);
    database.discard().await;
}

/// diesel does not see that a connection is dead, and this pool does not ask.
#[actix_web::test]
async fn a_connection_on_which_a_question_failed_is_closed() {
    let database = open::database(Backend::Mysql).await;
    let pool: Pool<ConnectionManager<MysqlConnection>> = Pool::builder()
        .max_size(1)
        .test_on_check_out(false)
        .connection_customizer(pool::mysql_customizer())
        .build(ConnectionManager::new(open::address(&database)))
        .unwrap();
    let mut lent = ConnectionPool::<Blocking<MysqlConnection>>::lend(&pool)
        .await
        .unwrap();
    let session = "SELECT CAST(CONNECTION_ID() AS signed) AS number";
    let session: QueryResult<i64> = lent
        .run(move |connection| number(connection, session))
        .await;
    database
        .execute(&format!("KILL {}", session.unwrap()))
        .await;
    assert!(unresolved(&mut **lent, 1).await.is_err());
    drop(lent);
    let mut lent = ConnectionPool::<Blocking<MysqlConnection>>::lend(&pool)
        .await
        .unwrap();
    assert!(unresolved(&mut **lent, 1).await.unwrap().is_empty());
    drop((lent, pool));
    database.discard().await;
}

/// Meets another transaction over two rows, loses, swallows that, and writes on.
#[post("/deadlocked")]
#[idempotent]
fn deadlocked(
    meeting: web::Data<Barrier>,
    connection: &mut MysqlConnection,
) -> Result<HttpResponse, AppError> {
    connection.batch_execute("UPDATE rivals SET n = n + 1 WHERE id = 1")?;
    meeting.wait();
    let inner = connection.transaction(|connection| {
        connection.batch_execute("UPDATE rivals SET n = n + 1 WHERE id = 2")
    });
    assert!(inner.is_err());
    connection.batch_execute("INSERT INTO marks VALUES ('behind')")?;
    Ok(HttpResponse::Created().finish())
}

/// What it writes behind the deadlock commits by itself, so that nobody may be told to send it again.
#[actix_web::test]
async fn a_deadlock_that_the_handler_swallows_is_never_retried() {
    let database = open::database(Backend::Mysql).await;
    let (meeting, rival) = rival(&database).await;
    let protection = identified(Idempotency::builder(pool(&database, 1)));
    let app = App::new()
        .app_data(web::Data::new(protection.build().unwrap()))
        .app_data(meeting)
        .service(deadlocked);
    let app = init_service(app).await;
    let response = call_service(&app, attempt("/deadlocked", "k").to_request()).await;
    assert_never_retried(&database, Answer::of(response).await).await;
    rival.join().unwrap();
    drop(app);
    database.discard().await;
}

/// The thread of the claim still waits when the request is answered; its connection is closed behind it, and what it
/// has locked goes with that.
#[actix_web::test]
async fn a_claim_that_gets_no_answer_leaves_no_lock() {
    let database = open::database(Backend::Mysql).await;
    let mut blocker = MysqlConnection::establish(&open::address(&database)).unwrap();
    blocker
        .batch_execute("LOCK TABLES idempotency_keys WRITE")
        .unwrap();
    let first = pool(&database, 1);
    let asked = send(first.clone(), vec![attempt("/asked", "k")]);
    let answers = tokio::time::timeout(Duration::from_secs(30), asked).await;
    assert_eq!(answers.unwrap()[0].code(), "idempotency-store-unavailable");
    blocker.batch_execute("UNLOCK TABLES").unwrap();
    let retried = until("another process has the key", || async {
        let answers = send(pool(&database, 1), vec![attempt("/asked", "k")]).await;
        let status = answers[0].status;
        (status != StatusCode::CONFLICT).then_some(status)
    })
    .await;
    assert_eq!(retried, StatusCode::CREATED);
    assert_eq!(marks(&database, "asked").await, 1);
    drop((blocker, first));
    database.discard().await;
}
