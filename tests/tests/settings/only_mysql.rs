//! What can only happen on MySQL and MariaDB: their driver takes the answer to a query that was dropped for the answer to
//! the next one, they take no message that is larger than they were told, and a deadlock ends the whole transaction.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, HttpResponse, post, web};
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::{
    AnsiTransactionManager, AsyncConnection, AsyncMysqlConnection, RunQueryDsl,
    SimpleAsyncConnection, TransactionManager,
};
use idem_runtime::idempotent;
use idem_tests::{Backend, Database};
use tokio::time::timeout;

use crate::handlers::AppError;
use crate::mysql::builder;
use crate::open::{self, Answer, attempt};

diesel::table! {
    marks (label) {
        label -> Text,
    }
}

/// Two answers are in the socket that nobody has read: one as COMMIT has it, and a row of numbers.
#[post("/dropping")]
#[idempotent]
async fn dropping(body: String, connection: &mut AsyncMysqlConnection) -> HttpResponse {
    const BRIEF: Duration = Duration::from_millis(50);
    let insert = diesel::insert_into(marks::table)
        .values(marks::label.eq("dropping"))
        .execute(connection)
        .await;
    assert!(insert.is_ok());
    let numbers = async |connection: &mut AsyncMysqlConnection| {
        let numbers = marks::table.select((count_star(), count_star()));
        numbers.get_result::<(i64, i64)>(connection).await
    };
    // From now on it is prepared.
    assert!(numbers(connection).await.is_ok());
    if body == "keep" {
        return HttpResponse::Created().finish();
    }
    let late = timeout(BRIEF, connection.batch_execute("DO sleep(0.4)")).await;
    assert!(late.is_err());
    if body == "drop" {
        assert!(timeout(BRIEF, numbers(connection)).await.is_err());
    } else {
        // Its answer is that of the query before.
        assert!(connection.batch_execute("ROLLBACK").await.is_ok());
    }
    HttpResponse::Created().finish()
}

#[actix_web::test]
async fn what_was_dropped_in_the_handler_is_no_proof_of_a_commit() {
    nothing_is_half_done("drop").await;
}

/// The savepoint is gone with the transaction, and an answer from before says that it was released.
#[actix_web::test]
async fn what_was_dropped_in_the_handler_is_no_proof_of_a_transaction() {
    nothing_is_half_done("roll back").await;
}

async fn nothing_is_half_done(body: &'static str) {
    let database = open::database(Backend::Mysql).await;
    let app = App::new()
        .app_data(web::Data::new(builder(&database, 1).await.build().unwrap()))
        .service(dropping);
    let app = init_service(app).await;
    let send = async |request: TestRequest| {
        let response = call_service(&app, request.to_request()).await;
        Answer::of(response).await
    };
    let warm = send(attempt("/dropping", "warm").set_payload("keep")).await;
    assert_eq!(warm.status.as_u16(), 201);
    let first = send(attempt("/dropping", "k").set_payload(body)).await;
    assert_eq!(first.status.as_u16(), 503, "{}", first.body);
    assert_eq!(first.code(), "idempotency-store-unavailable");
    // Whether it has been committed or not: nothing is half done, and the next one reads its own answers.
    let left = open::marks(&database, "dropping").await - 1;
    assert_eq!(database.records().await - 1, left);
    let other = send(attempt("/dropping", "other").set_payload("keep")).await;
    assert_eq!((other.status.as_u16(), other.replayed()), (201, false));
    database.discard().await;
}

/// As hexadecimal digits it is more than the server takes by default.
const LARGE: usize = 9 << 20;

#[post("/large")]
#[idempotent(response_limit = "64MiB")]
async fn large(connection: &mut AsyncMysqlConnection) -> HttpResponse {
    let insert = diesel::insert_into(marks::table).values(marks::label.eq("large"));
    assert!(insert.execute(connection).await.is_ok());
    HttpResponse::Created().body("x".repeat(LARGE))
}

#[actix_web::test]
async fn a_record_that_is_larger_than_the_server_takes_cannot_be_stored() {
    let database = open::database(Backend::Mysql).await;
    let most = database.number("@@max_allowed_packet").await;
    assert!(
        most < 2 * i64::try_from(LARGE).unwrap(),
        "{most} is no bound here"
    );
    let app = App::new()
        .app_data(web::Data::new(builder(&database, 1).await.build().unwrap()))
        .service(large)
        .service(dropping);
    let app = init_service(app).await;
    let send = async |request: TestRequest| {
        let response = call_service(&app, request.to_request()).await;
        Answer::of(response).await
    };
    for _ in 0..2 {
        let answer = send(attempt("/large", "k")).await;
        assert_eq!(answer.code(), "response-not-storable", "{}", answer.body);
        assert_eq!(answer.status.as_u16(), 500);
    }
    assert_eq!(open::marks(&database, "large").await, 0);
    assert_eq!(database.records().await, 0);
    let other = send(attempt("/dropping", "other").set_payload("keep")).await;
    assert_eq!((other.status.as_u16(), other.replayed()), (201, false));
    database.discard().await;
}

/// Meets another transaction over two rows in a transaction of its own, loses, swallows that, and writes on.
#[post("/deadlocked")]
#[idempotent]
async fn deadlocked(
    meeting: web::Data<Barrier>,
    connection: &mut AsyncMysqlConnection,
) -> Result<HttpResponse, AppError> {
    let mine = "UPDATE rivals SET n = n + 1 WHERE id = 1";
    connection.batch_execute(mine).await?;
    meeting.wait();
    AnsiTransactionManager::begin_transaction(connection).await?;
    let theirs = "UPDATE rivals SET n = n + 1 WHERE id = 2";
    assert!(connection.batch_execute(theirs).await.is_err());
    let _ = AnsiTransactionManager::rollback_transaction(connection).await;
    let behind = "INSERT INTO marks VALUES ('behind')";
    connection.batch_execute(behind).await?;
    Ok(HttpResponse::Created().finish())
}

/// Another transaction, which has more to undo: it is the handler's that is rolled back.
pub(crate) async fn rival(database: &Database) -> (web::Data<Barrier>, thread::JoinHandle<()>) {
    for sql in [
        "CREATE TABLE rivals (id int PRIMARY KEY, n int NOT NULL)",
        "INSERT INTO rivals SELECT seq, 0 FROM seq_1_to_100",
    ] {
        database.execute(sql).await;
    }
    let meeting = web::Data::new(Barrier::new(2));
    let (there, url) = (meeting.clone(), open::address(database));
    let rival = thread::spawn(move || {
        actix_web::rt::System::new().block_on(async {
            let mut connection = AsyncMysqlConnection::establish(&url).await.unwrap();
            let heavy = "BEGIN; UPDATE rivals SET n = n + 1 WHERE id >= 2";
            connection.batch_execute(heavy).await.unwrap();
            there.wait();
            let meet = "UPDATE rivals SET n = n + 1 WHERE id = 1; ROLLBACK";
            connection.batch_execute(meet).await.unwrap();
        });
    });
    (meeting, rival)
}

/// What is written behind the deadlock commits by itself, so that nobody may be told to send it again.
pub(crate) async fn assert_never_retried(database: &Database, answer: Answer) {
    assert_eq!(answer.status.as_u16(), 500, "{}", answer.body);
    let never = "\"retryable\":false";
    assert!(answer.body.contains(never), "{}", answer.body);
    assert_eq!(database.records().await, 0);
    assert_eq!(open::marks(database, "behind").await, 1);
}

#[actix_web::test]
async fn a_deadlock_that_the_handler_swallows_is_never_retried() {
    let database = open::database(Backend::Mysql).await;
    let (meeting, rival) = rival(&database).await;
    let app = App::new()
        .app_data(web::Data::new(builder(&database, 1).await.build().unwrap()))
        .app_data(meeting)
        .service(deadlocked);
    let app = init_service(app).await;
    let response = call_service(&app, attempt("/deadlocked", "k").to_request()).await;
    assert_never_retried(&database, Answer::of(response).await).await;
    rival.join().unwrap();
    database.discard().await;
}
