//! What an operator and a consumer ask for. No key protects these.

use std::time::Duration;

use actix_web::{HttpResponse, Responder, error, get, post, web};
use diesel::SqliteConnection;
use diesel::result::Error;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, TransactionManager};
use idem_runtime::{Backend, inbox, outbox};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::effects::Writes;
use crate::migrate::Url;
use crate::tools::Tools;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Deserialize)]
struct Page {
    after: Option<i64>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    #[serde(default)]
    in_transaction: bool,
}

#[derive(Deserialize)]
struct Received {
    id: String,
    consumer: String,
    label: String,
    #[serde(default)]
    fail: bool,
}

/// Does the same on a connection of its own, whatever its type.
macro_rules! on_connection {
    ($tools:expr, $connection:ident => $work:expr) => {{
        let done: Outcome<_> = async {
            Ok(match &$tools.url {
                Url::Mysql(url) => {
                    let $connection = &mut AsyncMysqlConnection::establish(url).await?;
                    $work
                }
                Url::Postgres(url) => {
                    let $connection = &mut AsyncPgConnection::establish(url).await?;
                    $work
                }
                Url::Sqlite(path) => {
                    let $connection =
                        &mut SyncConnectionWrapper::<SqliteConnection>::establish(path).await?;
                    $connection.run("PRAGMA busy_timeout = 5000").await?;
                    $work
                }
            })
        }
        .await;
        done.map_err(|failure| error::ErrorServiceUnavailable(failure.to_string()))
    }};
}

#[get("/dead")]
async fn dead(
    page: web::Query<Page>,
    tools: web::Data<Tools>,
) -> actix_web::Result<impl Responder> {
    let limit = page.limit.unwrap_or(100);
    let dead =
        on_connection!(tools, connection => outbox::dead(connection, page.after, limit).await?)?;
    let told: Vec<Value> = dead
        .into_iter()
        .map(|message| {
            json!({
                "id": message.id.to_string(),
                "position": message.position,
                "topic": message.topic,
                "attempts": message.attempts,
                "last_error": message.last_error,
                "key": message.key,
            })
        })
        .collect();
    Ok(web::Json(told))
}

#[post("/requeue")]
async fn requeue(
    query: web::Query<Named>,
    tools: web::Data<Tools>,
) -> actix_web::Result<impl Responder> {
    let found = on_connection!(tools, connection => requeued(connection, Uuid::parse_str(&query.id)?, query.in_transaction).await?)?;
    Ok(web::Json(found))
}

async fn requeued<C: Backend + AsyncConnection>(
    connection: &mut C,
    id: Uuid,
    in_transaction: bool,
) -> Result<bool, Error> {
    if !in_transaction {
        return outbox::requeue(connection, id).await;
    }
    C::TransactionManager::begin_transaction(connection).await?;
    let found = outbox::requeue(connection, id).await?;
    C::TransactionManager::commit_transaction(connection).await?;
    Ok(found)
}

/// A consumer's work is an effect of this label. Whether the message was new.
#[post("/inbox")]
async fn receive(
    query: web::Query<Received>,
    tools: web::Data<Tools>,
) -> actix_web::Result<HttpResponse> {
    let is_new = on_connection!(tools, connection => work(connection, Uuid::parse_str(&query.id)?, &query).await?)?;
    Ok(HttpResponse::Ok().json(is_new))
}

async fn work<C: Backend + AsyncConnection + Writes>(
    connection: &mut C,
    id: Uuid,
    query: &Received,
) -> Result<bool, Error> {
    C::TransactionManager::begin_transaction(connection).await?;
    let done = inbox::once(connection, &query.consumer, id, async |connection| {
        connection.insert(&query.label).await?;
        match query.fail {
            true => Err(Error::RollbackTransaction),
            false => Ok(()),
        }
    })
    .await;
    match done {
        Ok(done) => {
            C::TransactionManager::commit_transaction(connection).await?;
            Ok(done.is_some())
        }
        Err(error) => {
            C::TransactionManager::rollback_transaction(connection).await?;
            Err(error)
        }
    }
}

/// How many were forgotten.
#[post("/inbox/prune")]
async fn prune(tools: web::Data<Tools>) -> actix_web::Result<impl Responder> {
    let hour = Duration::from_secs(3600);
    let count = on_connection!(tools, connection => inbox::prune(connection, hour, 100).await?)?;
    Ok(count.to_string())
}

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(dead)
        .service(requeue)
        .service(receive)
        .service(prune);
}
