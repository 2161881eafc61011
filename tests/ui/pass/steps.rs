// Steps are an extractor among others, with the connection's type or without, and have closures that borrow.

use actix_web::{App, HttpResponse, ResponseError, post, web};
use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use idem_runtime::{StepError, Steps, idempotent};
use serde::{Deserialize, Serialize};

type Sqlite = SyncConnectionWrapper<SqliteConnection>;

#[derive(Serialize, Deserialize)]
struct Receipt {
    id: u64,
    key: String,
}

#[derive(Debug)]
enum OrderError {
    Step(StepError),
    Database(diesel::result::Error),
}

impl std::fmt::Display for OrderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl ResponseError for OrderError {}

impl From<StepError> for OrderError {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl From<diesel::result::Error> for OrderError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error)
    }
}

async fn charge(card: &str, key: &str) -> Result<Receipt, OrderError> {
    let key = format!("{card} {key}");
    Ok(Receipt { id: 1, key })
}

#[post("/plain")]
#[idempotent(mode = "lease", unresolved = "rerun")]
async fn plain(card: String, steps: Steps) -> Result<HttpResponse, OrderError> {
    let receipt: Receipt = steps
        .call("charge", async |key| charge(&card, &key).await)
        .await?;
    let rows: usize = steps
        .transaction("order", async |conn| {
            let insert = diesel::sql_query(format!("INSERT INTO orders VALUES ({})", receipt.id));
            Ok::<_, OrderError>(insert.execute(conn).await?)
        })
        .await?;
    Ok(HttpResponse::Created().json((receipt, rows)))
}

#[post("/postgres")]
#[idempotent(mode = "lease")]
async fn postgres(steps: Steps<AsyncPgConnection>) -> Result<HttpResponse, StepError> {
    steps
        .transaction("order", async |_: &mut AsyncPgConnection| Ok::<(), StepError>(()))
        .await?;
    Ok(HttpResponse::Created().finish())
}

#[post("/sqlite")]
#[idempotent(mode = "lease")]
async fn sqlite(steps: Steps<Sqlite>, body: String) -> Result<String, actix_web::Error> {
    let length = work(&steps, &body).await?;
    Ok(length.to_string())
}

/// Elsewhere than in the handler, and with actix's own error.
async fn work(steps: &Steps<Sqlite>, body: &str) -> Result<usize, actix_web::Error> {
    steps.call("measure", async |_key| Ok(body.len())).await
}

fn main() {
    let _ = App::new()
        .service(plain)
        .service(postgres)
        .service(sqlite)
        .route("/", web::get().to(HttpResponse::Ok));
    assert_eq!(idem_runtime::policies().len(), 3);
}
