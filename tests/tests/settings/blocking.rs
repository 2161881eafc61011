//! Handlers that block, and what an application does over an `r2d2` pool besides.

use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::REFERER;
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, HttpRequest, HttpResponse, Responder, post, web};
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool, R2D2Connection};
use diesel::{PgConnection, SqliteConnection};
use futures_util::join;
use idem_runtime::pool::{self, ConnectionPool};
use idem_runtime::{
    Blocking, BlockingBackend, BuildError, Builder, EncryptionKeys, Idempotency, IdempotencyKey,
    StepError, Steps, idempotent, outbox,
};
use idem_tests::{Backend, Database, until};

use crate::handlers::AppError;
use crate::open::{self, Answer, attempt, identified, marks};

/// Answers from the request that it is asked for.
struct Asked;

impl Responder for Asked {
    type Body = BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let referer = request.headers().get(REFERER).cloned();
        let text = format!("{} {} {referer:?}", request.method(), request.uri());
        HttpResponse::Created().body(text)
    }
}

/// What an error of the handler becomes in lease mode.
#[derive(Debug)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl actix_web::ResponseError for Failed {}

impl From<diesel::result::Error> for Failed {
    fn from(_: diesel::result::Error) -> Self {
        Self
    }
}

impl From<StepError> for Failed {
    fn from(_: StepError) -> Self {
        Self
    }
}

macro_rules! stamp {
    ($name:ident $backend:ident $connection:ty, $customizer:expr) => {
        pub(crate) mod $name {
            use super::*;

            #[post("/asked")]
            #[idempotent]
            fn asked(connection: &mut $connection) -> Result<Asked, AppError> {
                mark(connection, "asked")?;
                Ok(Asked)
            }

            #[post("/accepted")]
            #[idempotent]
            fn accepted(connection: &mut $connection) -> Result<HttpResponse, AppError> {
                mark(connection, "accepted")?;
                Err(AppError::Accepted)
            }

            #[post("/nested")]
            #[idempotent]
            fn nested(connection: &mut $connection) -> Result<HttpResponse, AppError> {
                mark(connection, "outer")?;
                let inner = connection.transaction(|connection| {
                    mark(connection, "inner")?;
                    Err::<(), _>(diesel::result::Error::RollbackTransaction)
                });
                Ok(HttpResponse::Created().body(format!("{inner:?}")))
            }

            #[post("/left-open")]
            #[idempotent]
            fn left_open(connection: &mut $connection) -> Result<HttpResponse, AppError> {
                mark(connection, "open")?;
                AnsiTransactionManager::begin_transaction(connection)?;
                Ok(HttpResponse::Created().finish())
            }

            #[post("/ended")]
            #[idempotent]
            fn ended(body: String, connection: &mut $connection) -> Result<HttpResponse, AppError> {
                mark(connection, "ended")?;
                // As far as this is written with the handler's own hands it is the handler's fault.
                let _ = connection.batch_execute("COMMIT");
                let status = body.parse().unwrap();
                Ok(HttpResponse::build(StatusCode::from_u16(status).unwrap()).finish())
            }

            #[post("/foreign")]
            #[idempotent]
            fn foreign(
                key: IdempotencyKey,
                pool: web::Data<Pool<ConnectionManager<$connection>>>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark(connection, "foreign")?;
                let mut other = pool.get().unwrap();
                let refused = outbox::enqueue_blocking(&mut *other, &key, "topic", "payload");
                let queued = outbox::enqueue_blocking(connection, &key, "topic", "payload");
                Ok(
                    HttpResponse::Created().body(format!(
                        "{} {}",
                        refused.is_err(),
                        queued.is_ok()
                    )),
                )
            }

            #[post("/leased")]
            #[idempotent(mode = "lease", lease = "1s", unresolved = "rerun", scope = "global")]
            async fn leased(steps: Steps<Blocking<$connection>>) -> Result<HttpResponse, Failed> {
                let work = async |connection: &mut Blocking<$connection>| {
                    connection
                        .run(|connection| mark(connection, "leased").map_err(Failed::from))
                        .await
                };
                steps.transaction("mark", work).await?;
                // Longer than the lease, so that it was renewed.
                tokio::time::sleep(Duration::from_millis(1500)).await;
                Ok(HttpResponse::Created().finish())
            }

            pub(crate) fn pool(
                database: &Database,
                size: u32,
            ) -> Pool<ConnectionManager<$connection>> {
                Pool::builder()
                    .max_size(size)
                    .min_idle(Some(0))
                    .connection_customizer($customizer)
                    .build(ConnectionManager::new(open::address(database)))
                    .unwrap()
            }

            pub(crate) async fn send(
                pool: Pool<ConnectionManager<$connection>>,
                requests: Vec<TestRequest>,
            ) -> Vec<Answer> {
                let builder = identified(Idempotency::builder(pool.clone()));
                send_to(builder, pool, requests).await
            }

            async fn send_to(
                builder: Builder<Blocking<$connection>>,
                pool: Pool<ConnectionManager<$connection>>,
                requests: Vec<TestRequest>,
            ) -> Vec<Answer> {
                let app = App::new()
                    .app_data(web::Data::new(builder.build().unwrap()))
                    .app_data(web::Data::new(pool))
                    .service(asked)
                    .service(accepted)
                    .service(nested)
                    .service(left_open)
                    .service(ended)
                    .service(foreign)
                    .service(leased);
                let app = init_service(app).await;
                let mut answers = Vec::new();
                for request in requests {
                    let response = call_service(&app, request.to_request()).await;
                    answers.push(Answer::of(response).await);
                }
                answers
            }

            #[actix_web::test]
            async fn a_responder_finds_the_request_that_it_answers() {
                let database = open::database(Backend::$backend).await;
                let request = || attempt("/asked?a=b", "k").insert_header((REFERER, "here"));
                let answers = send(pool(&database, 1), vec![request(), request()]).await;
                assert_eq!(
                    answers[0].status,
                    StatusCode::CREATED,
                    "{}",
                    answers[0].body
                );
                assert_eq!(answers[0].body, r#"POST /asked?a=b Some("here")"#);
                assert_eq!(answers[1].body, answers[0].body);
                assert_eq!(marks(&database, "asked").await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn what_a_blocking_handler_answers_is_sealed() {
                let database = open::database(Backend::$backend).await;
                let pool = pool(&database, 1);
                let builder = identified(Idempotency::builder(pool.clone()));
                let builder = builder.seal(EncryptionKeys::new(1, [1; 32]));
                let request = || attempt("/asked?a=b", "k");
                let answers = send_to(builder, pool, vec![request(), request()]).await;
                assert_eq!(answers[1].body, answers[0].body);
                assert!(answers[1].headers.contains_key("idempotent-replayed"));
                let headers = database.text("SELECT headers FROM idempotency_keys").await;
                assert_eq!(headers.as_deref(), Some("@sealed 1 1\n"));
                database.discard().await;
            }

            #[actix_web::test]
            async fn an_err_that_looks_like_a_success_is_rolled_back() {
                let database = open::database(Backend::$backend).await;
                let requests = vec![attempt("/accepted", "k"), attempt("/accepted", "k")];
                let answers = send(pool(&database, 1), requests).await;
                assert_eq!(answers[0].status, StatusCode::ACCEPTED);
                assert_eq!(answers[1].body, "later");
                assert!(answers[1].headers.contains_key("idempotent-replayed"));
                assert_eq!(marks(&database, "accepted").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_transaction_in_the_handler_is_a_savepoint_of_ours() {
                let database = open::database(Backend::$backend).await;
                let answers = send(pool(&database, 1), vec![attempt("/nested", "k")]).await;
                assert_eq!(answers[0].status, StatusCode::CREATED);
                assert_eq!(marks(&database, "outer").await, 1);
                assert_eq!(marks(&database, "inner").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_transaction_that_the_handler_leaves_open_is_not_committed() {
                let database = open::database(Backend::$backend).await;
                let requests = vec![attempt("/left-open", "k"), attempt("/asked", "k2")];
                let answers = send(pool(&database, 1), requests).await;
                assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
                assert_eq!(
                    answers[1].status,
                    StatusCode::CREATED,
                    "{}",
                    answers[1].body
                );
                assert_eq!(marks(&database, "open").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_message_goes_with_the_handlers_own_connection() {
                let database = open::database(Backend::$backend).await;
                outbox_tables(&database).await;
                let answers = send(pool(&database, 2), vec![attempt("/foreign", "k")]).await;
                assert_eq!(answers[0].body, "true true");
                let queued = "SELECT count(*) FROM idempotency_outbox";
                assert_eq!(database.number(queued).await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_step_in_lease_mode_works_on_such_a_connection() {
                let database = open::database(Backend::$backend).await;
                let requests = vec![attempt("/leased", "k"), attempt("/leased", "k")];
                let answers = send(pool(&database, 2), requests).await;
                assert_eq!(
                    answers[0].status,
                    StatusCode::CREATED,
                    "{}",
                    answers[0].body
                );
                assert!(answers[1].headers.contains_key("idempotent-replayed"));
                assert_eq!(marks(&database, "leased").await, 1);
                database.discard().await;
            }

            /// What was lent is given back although nobody waits for the job any more, and closed if it is in the middle
            /// of a transaction.
            #[actix_web::test]
            async fn a_job_that_nobody_waits_for_leaves_no_transaction() {
                let database = open::database(Backend::$backend).await;
                let pool = pool(&database, 1);
                let (entered, entering) = tokio::sync::oneshot::channel();
                let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
                let mut lent = lend(&pool).await;
                let job = lent.run(move |connection| {
                    AnsiTransactionManager::begin_transaction(connection)?;
                    mark(connection, "dropped")?;
                    entered.send(()).unwrap();
                    let _ = goes_on.recv();
                    diesel::QueryResult::Ok(())
                });
                tokio::select! {
                    _ = job => panic!("it is not over"),
                    entered = entering => entered.unwrap(),
                }
                // It has been given up with the job.
                let refused = lent.run(|connection| mark(connection, "refused")).await;
                assert!(refused.is_err());
                drop(lent);
                go_on.send(()).unwrap();
                let mut next = lend(&pool).await;
                next.run(|connection| mark(connection, "next"))
                    .await
                    .unwrap();
                drop(next);
                assert_eq!(marks(&database, "next").await, 1);
                assert_eq!(marks(&database, "dropped").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_panic_closes_the_connection() {
                let database = open::database(Backend::$backend).await;
                let pool = pool(&database, 1);
                let mut lent = lend(&pool).await;
                let job = lent.run(|connection| -> diesel::QueryResult<()> {
                    mark(connection, "kept")?;
                    panic!("in a job")
                });
                let job = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(job));
                let panic = job.await.unwrap_err();
                assert_eq!(panic.downcast_ref::<&str>(), Some(&"in a job"));
                drop(lent);
                until("the pool has noticed", || async {
                    (pool.state().connections == 0).then_some(())
                })
                .await;
                database.discard().await;
            }
        }
    };
}

#[cfg(feature = "mysql-blocking")]
stamp!(mysql Mysql diesel::MysqlConnection, pool::mysql_customizer());
stamp!(postgres Postgres PgConnection, pool::postgres_customizer());
stamp!(sqlite Sqlite SqliteConnection, pool::sqlite_customizer());

fn mark<C>(connection: &mut C, label: &str) -> QueryResult<()>
where
    C: SimpleConnection,
{
    connection.batch_execute(&format!("INSERT INTO marks VALUES ('{label}')"))
}

async fn lend<C>(pool: &Pool<ConnectionManager<C>>) -> pool::Loan<Blocking<C>>
where
    C: BlockingBackend + R2D2Connection,
{
    pool.lend().await.unwrap()
}

async fn outbox_tables(database: &Database) {
    let files = match database.backend() {
        Backend::Postgres => idem_runtime::migrations::FILES_OUTBOX_POSTGRES,
        Backend::Mysql => idem_runtime::migrations::FILES_OUTBOX_MYSQL,
        Backend::Sqlite => idem_runtime::migrations::FILES_OUTBOX_SQLITE,
    };
    for file in files {
        database.execute(file.up).await;
    }
}

/// The thread of the claim still waits when the request is answered; its connection is closed behind it.
#[actix_web::test]
async fn a_claim_that_gets_no_answer_is_given_up() {
    let database = open::database(Backend::Postgres).await;
    let mut blocker = PgConnection::establish(&open::address(&database)).unwrap();
    let lock = "BEGIN; LOCK TABLE idempotency_keys";
    blocker.batch_execute(lock).unwrap();
    let pool = postgres::pool(&database, 1);
    let asked = postgres::send(pool.clone(), vec![attempt("/asked", "k")]);
    let answers = tokio::time::timeout(Duration::from_secs(30), asked).await;
    assert_eq!(answers.unwrap()[0].code(), "idempotency-store-unavailable");
    blocker.batch_execute("ROLLBACK").unwrap();
    let answers = postgres::send(pool, vec![attempt("/asked", "k")]).await;
    assert_eq!(
        answers[0].status,
        StatusCode::CREATED,
        "{}",
        answers[0].body
    );
    assert_eq!(marks(&database, "asked").await, 1);
    drop(blocker);
    database.discard().await;
}

/// Each `Idempotency` checks the endpoints of its own kind of connection, and no other's.
#[actix_web::test]
async fn an_endpoint_is_checked_by_the_one_that_lends_its_connection() {
    let database = open::database(Backend::Sqlite).await;
    let unresolved = Idempotency::builder(sqlite::pool(&database, 1)).build();
    let Err(BuildError::ScopeWithoutResolver { handler, .. }) = unresolved else {
        panic!("{unresolved:?}");
    };
    assert!(handler.contains("::"), "{handler}");
    let (first, second) = join!(
        sqlite::send(sqlite::pool(&database, 1), vec![attempt("/asked", "k")]),
        sqlite::send(sqlite::pool(&database, 1), vec![attempt("/asked", "k2")]),
    );
    assert_eq!(
        (first[0].status, second[0].status),
        (StatusCode::CREATED, StatusCode::CREATED)
    );
    database.discard().await;
}

/// The effect is there, and nobody may be told that it is not, or to send the request again.
async fn a_transaction_that_the_handler_has_ended_is_never_retried(
    database: Database,
    answers: Vec<Answer>,
) {
    for answer in &answers {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer.body.contains("\"retryable\":false"),
            "{}",
            answer.body
        );
    }
    assert_eq!(database.records().await, 0);
    database.discard().await;
}

#[actix_web::test]
async fn a_transaction_that_the_handler_has_ended_is_never_retried_on_postgres() {
    let database = open::database(Backend::Postgres).await;
    let requests = ["201", "409"].map(|status| attempt("/ended", status).set_payload(status));
    let answers = postgres::send(postgres::pool(&database, 1), requests.into()).await;
    assert_eq!(marks(&database, "ended").await, 2);
    a_transaction_that_the_handler_has_ended_is_never_retried(database, answers).await;
}

#[cfg(feature = "mysql-blocking")]
#[actix_web::test]
async fn a_transaction_that_the_handler_has_ended_is_never_retried_on_mysql() {
    let database = open::database(Backend::Mysql).await;
    let requests = ["201", "409"].map(|status| attempt("/ended", status).set_payload(status));
    let answers = mysql::send(mysql::pool(&database, 1), requests.into()).await;
    assert_eq!(marks(&database, "ended").await, 2);
    a_transaction_that_the_handler_has_ended_is_never_retried(database, answers).await;
}

#[actix_web::test]
async fn a_transaction_that_the_handler_has_ended_is_never_retried_on_sqlite() {
    let database = open::database(Backend::Sqlite).await;
    let requests = ["201", "409"].map(|status| attempt("/ended", status).set_payload(status));
    let answers = sqlite::send(sqlite::pool(&database, 1), requests.into()).await;
    a_transaction_that_the_handler_has_ended_is_never_retried(database, answers).await;
}

/// Its record would find none when it is written.
#[actix_web::test]
async fn the_only_connection_is_not_kept_for_renewals() {
    let database = open::database(Backend::Postgres).await;
    let pool = postgres::pool(&database, 1);
    assert!(
        ConnectionPool::<Blocking<PgConnection>>::dedicate(&pool)
            .await
            .is_err()
    );
    drop(pool);
    database.discard().await;
}
