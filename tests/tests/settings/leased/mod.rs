//! Lease mode: what is different in one process. How these cases make applications and what they are told by the
//! handlers; no case lives here.

mod accepting;
mod both;
mod doubt;
mod ends;
mod handlers;
mod late;
mod plays;
mod pools;
mod resuming;
pub(crate) mod runs;
mod steps;
mod stranded;
mod verdicts;
mod workers;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, web};
use diesel_async::pooled_connection::{bb8, deadpool};
use futures_util::future::BoxFuture;
use idem_runtime::pool::{ConnectionPool, LendError, Loan};
use idem_runtime::{Builder, Idempotency, UnresolvedOperation};
use idem_tests::Database;
use tokio::sync::Notify;

use crate::open::{Answer, identified};

/// A backend, and the handlers that are stamped for it.
pub(crate) trait Kind: idem_runtime::Backend + diesel_async::AsyncConnection {
    const BACKEND: idem_tests::Backend;
    /// Fails, and takes the transaction with it.
    const SPOILING: &'static str;
    /// Takes longer than any time-out here.
    const ENDLESS: &'static str;
    /// Around a column of bytes: its hex digits.
    const HEX: (&'static str, &'static str);
    /// The column `key`.
    const KEY: &'static str;
    /// Takes the last byte of a body away.
    const CUT: &'static str;
    /// The same of a kept request.
    const CUT_REQUEST: &'static str;
    /// Around a column of bytes: its text.
    const TEXT: (&'static str, &'static str);

    async fn bb8(database: &Database, size: u32) -> Shared<Self>;

    fn deadpool(database: &Database, size: u32) -> Shared<Self>;

    fn routes(config: &mut web::ServiceConfig);

    /// The handlers in transaction mode.
    fn plain_routes(config: &mut web::ServiceConfig);

    async fn builder(database: &Database) -> Builder<Self> {
        identified(Idempotency::builder(Self::bb8(database, 1).await))
    }

    async fn database() -> Database {
        let database = crate::open::database(Self::BACKEND).await;
        let taken = "CREATE TABLE taken (id integer PRIMARY KEY); INSERT INTO taken VALUES (1)";
        database.execute(taken).await;
        if Self::BACKEND != idem_tests::Backend::Mysql {
            let children =
                "CREATE TABLE children (id integer REFERENCES taken DEFERRABLE INITIALLY DEFERRED)";
            database.execute(children).await;
        }
        database
    }
}

pub(crate) type Postgres = crate::postgres::handlers::Connection;
pub(crate) type Mysql = crate::mysql::handlers::Connection;
pub(crate) type Sqlite = crate::sqlite::handlers::Connection;

macro_rules! kind {
    ($connection:ident $module:ident $backend:ident, $spoiling:expr, $endless:expr, $text:expr, $hex:expr, $key:expr, $cut:expr) => {
        impl Kind for $connection {
            const BACKEND: idem_tests::Backend = idem_tests::Backend::$backend;
            const SPOILING: &'static str = $spoiling;
            const ENDLESS: &'static str = $endless;
            const TEXT: (&'static str, &'static str) = $text;
            const HEX: (&'static str, &'static str) = $hex;
            const KEY: &'static str = $key;
            const CUT: &'static str = concat!("body = ", $cut, "(body, 1, length(body) - 1)");
            const CUT_REQUEST: &'static str =
                concat!("request = ", $cut, "(request, 1, length(request) - 1)");

            async fn bb8(database: &Database, size: u32) -> Shared<Self> {
                let pool = bb8::Pool::builder().max_size(size);
                let pool = pool.build(crate::$module::manager(database)).await;
                Shared(Arc::new(pool.unwrap()))
            }

            fn deadpool(database: &Database, size: u32) -> Shared<Self> {
                let pool = deadpool::Pool::builder(crate::$module::manager(database));
                Shared(Arc::new(pool.max_size(size as usize).build().unwrap()))
            }

            fn routes(config: &mut web::ServiceConfig) {
                handlers::$module::routes(config);
            }

            fn plain_routes(config: &mut web::ServiceConfig) {
                crate::$module::handlers::routes(config);
            }
        }
    };
}

kind! { Postgres postgres Postgres, "INSERT INTO taken VALUES (1)", "SELECT pg_sleep(3600)", ("convert_from(", ", 'UTF8')"), ("encode(", ", 'hex')"), "key", "substr" }
kind! { Mysql mysql Mysql, "ROLLBACK; INSERT INTO taken VALUES (1)", "SELECT sleep(3600)", ("CONVERT(", " USING utf8mb4)"), ("hex(", ")"), "`key`", "substr" }
kind! { Sqlite sqlite Sqlite, "INSERT OR ROLLBACK INTO taken VALUES (1)",
"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000000) SELECT count(*) FROM n", ("CAST(", " AS text)"), ("hex(", ")"), "key", "substr" }

/// Stamps each `async fn<K: Kind>()` as a test on every backend.
macro_rules! each {
    ($($case:ident),+ $(,)?) => {
        mod postgres {
            $(#[actix_web::test]
            async fn $case() {
                super::$case::<crate::leased::Postgres>().await;
            })+
        }
        mod mysql {
            $(#[actix_web::test]
            async fn $case() {
                super::$case::<crate::leased::Mysql>().await;
            })+
        }
        mod sqlite {
            $(#[actix_web::test]
            async fn $case() {
                super::$case::<crate::leased::Sqlite>().await;
            })+
        }
    };
}
pub(crate) use each;

/// A pool of which a test keeps a clone.
pub(crate) struct Shared<C>(Arc<dyn ConnectionPool<C>>);

impl<C> Clone for Shared<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: 'static> ConnectionPool<C> for Shared<C> {
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>> {
        self.0.lend()
    }

    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>> {
        self.0.dedicate()
    }
}

/// What handlers tell a test.
#[derive(Default)]
pub(crate) struct Told {
    runs: AtomicU32,
    words: Mutex<Vec<String>>,
    /// For who waits for a word of the test.
    after: Notify,
}

impl Told {
    /// Counts a run; the first is 1.
    pub(crate) fn run(&self) -> u32 {
        self.runs.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn say(&self, word: impl Into<String>) {
        self.words.lock().unwrap().push(word.into());
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.words.lock().unwrap().clone()
    }

    /// How often this was said.
    pub(crate) fn times(&self, word: &str) -> u32 {
        let words = self.words.lock().unwrap();
        words.iter().map(|said| u32::from(said == word)).sum()
    }

    /// Until it was said so often.
    pub(crate) async fn until(&self, word: &str, times: u32) {
        idem_tests::until(word, async || (self.times(word) >= times).then_some(())).await;
    }
}

/// The application of these settings.
pub(crate) fn app<K: Kind>(
    idempotency: &Idempotency<K>,
    told: &web::Data<Told>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse,
        Error = actix_web::Error,
        InitError = (),
    > + use<K>,
> {
    App::new()
        .app_data(web::Data::new(idempotency.clone()))
        .app_data(told.clone())
        .configure(handlers::routes)
        .configure(K::routes)
        .configure(K::plain_routes)
        .service(idempotency.status_resource())
}

/// One request after the other, to an application of these settings.
pub(crate) async fn send<K: Kind>(
    builder: Builder<K>,
    told: &web::Data<Told>,
    requests: Vec<TestRequest>,
) -> Vec<Answer> {
    let app = init_service(app(&builder.build().unwrap(), told)).await;
    let mut answers = Vec::new();
    for request in requests {
        let response = call_service(&app, request.to_request()).await;
        answers.push(Answer::of(response).await);
    }
    answers
}

/// What requests to an application with a fresh database have come to.
struct Played {
    database: Database,
    told: web::Data<Told>,
    answers: Vec<Answer>,
}

async fn play<K: Kind>(requests: Vec<TestRequest>) -> Played {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let answers = send(K::builder(&database).await, &told, requests).await;
    Played {
        database,
        told,
        answers,
    }
}

pub(crate) fn statuses(answers: &[Answer]) -> Vec<u16> {
    let statuses = answers.iter().map(|answer| answer.status.as_u16());
    statuses.collect()
}

/// A connection of one's own.
pub(crate) async fn connect<K: Kind>(database: &Database) -> K {
    let pool = K::bb8(database, 1).await;
    match pool.dedicate().await {
        Ok(connection) => connection,
        Err(_) => panic!("no connection"),
    }
}

/// The unresolved operation whose lease the test lets run out. A renewal may have been under way.
pub(crate) async fn unresolved<K: Kind>(
    database: &Database,
    connection: &mut K,
) -> UnresolvedOperation {
    loop {
        database.expire_leases().await;
        let mut unresolved = idem_runtime::unresolved(connection, 2).await.unwrap();
        assert!(unresolved.len() < 2, "{unresolved:?}");
        if let Some(unresolved) = unresolved.pop() {
            return unresolved;
        }
    }
}

/// What the one row has in this column of text.
pub(crate) async fn column(database: &Database, name: &str) -> Option<String> {
    let query = format!("SELECT {name} FROM idempotency_keys");
    database.text(&query).await
}
