//! A database with the tables of these tests, and answers taken apart.

use actix_web::HttpRequest;
use actix_web::body::MessageBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::test::TestRequest;
use idem_runtime::Builder;
use idem_tests::{Backend, Database};

/// One test's database, with the runtime's table and `marks`.
pub(crate) async fn database(backend: Backend) -> Database {
    let database = Database::fresh(backend).await;
    let files = match backend {
        Backend::Postgres => idem_runtime::migrations::FILES_POSTGRES,
        Backend::Mysql => idem_runtime::migrations::FILES_MYSQL,
        Backend::Sqlite => idem_runtime::migrations::FILES_SQLITE,
    };
    for file in files {
        database.execute(file.up).await;
    }
    database
        .execute("CREATE TABLE marks (label text NOT NULL)")
        .await;
    database
}

/// Takes the account and the tenant from headers. The handlers in lease mode, for which every builder needs a status
/// resource, are in this program whether a test uses them or not.
pub(crate) fn identified<C: idem_runtime::Backend>(builder: Builder<C>) -> Builder<C> {
    let header = |name: &'static str| {
        move |request: &HttpRequest| {
            let value = request.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        }
    };
    builder
        .account_with(header("x-account"))
        .scope("tenant", header("x-tenant"))
        .status_path("/operations")
}

/// How many effects there are.
pub(crate) async fn marks(database: &Database, label: &str) -> i64 {
    let count = format!("SELECT count(*) FROM marks WHERE label = '{label}'");
    database.number(&count).await
}

/// What a pool takes.
pub(crate) fn address(database: &Database) -> String {
    let url = database.url();
    url.strip_prefix("sqlite://").unwrap_or(url).to_owned()
}

/// An attempt with a key, by the account `acme`.
pub(crate) fn attempt(path: &str, key: &str) -> TestRequest {
    TestRequest::post()
        .uri(path)
        .insert_header(("idempotency-key", key))
        .insert_header(("x-account", "acme"))
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn of<B>(response: ServiceResponse<B>) -> Self
    where
        B: MessageBody,
        B::Error: std::fmt::Debug,
    {
        let status = response.status();
        let headers = response.headers().clone();
        let body = actix_web::body::to_bytes(response.into_body()).await;
        let body = String::from_utf8(body.ok().unwrap().to_vec()).unwrap();
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        problem["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn replayed(&self) -> bool {
        self.headers.contains_key("idempotent-replayed")
    }
}

/// diesel-async panics where a statement on SQLite is dropped on a worker of actix; a hundred backtraces of that help
/// nobody.
pub(crate) fn ignore_panics_of_dropped_statements() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let message = panic.payload_as_str().unwrap_or_default();
            if !message.contains("can call blocking only when") {
                others(panic);
            }
        }));
    });
}
