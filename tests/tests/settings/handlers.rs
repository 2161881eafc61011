//! The handlers of these tests, stamped per connection type.

use actix_web::body::BoxBody;
use actix_web::{HttpResponse, ResponseError};
use idem_runtime::Retry;
use tokio::sync::Semaphore;

/// Lets `/held` go on, one permit a request.
pub(crate) static HOLD: Semaphore = Semaphore::const_new(0);

/// An application's own error around ours.
#[derive(Debug)]
pub(crate) enum AppError {
    Conflict(Retry),
    Database(diesel::result::Error),
    /// An error whose answer looks like a success.
    Accepted,
}

impl std::fmt::Display for AppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl From<diesel::result::Error> for AppError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error)
    }
}

impl ResponseError for AppError {
    fn error_response(&self) -> HttpResponse<BoxBody> {
        match self {
            Self::Conflict(retry) => retry.error_response(),
            Self::Database(error) => HttpResponse::InternalServerError().body(error.to_string()),
            Self::Accepted => HttpResponse::Accepted().body("later"),
        }
    }
}

macro_rules! stamp {
    ($connection:ty) => {
        pub(crate) mod handlers {
            use std::sync::atomic::{AtomicU32, Ordering};

            use actix_web::{HttpRequest, HttpResponse, post, web};
            use diesel_async::{AsyncConnection, RunQueryDsl};
            use idem_runtime::{IdempotencyKey, Retry, idempotent};

            use crate::handlers::AppError;

            pub(crate) type Connection = $connection;

            async fn mark(label: &str, connection: &mut Connection) -> Result<(), AppError> {
                diesel::sql_query(format!("INSERT INTO marks VALUES ('{label}')"))
                    .execute(connection)
                    .await?;
                Ok(())
            }

            #[post("/plain")]
            #[idempotent(scope = "account", retain = "24h")]
            pub(crate) async fn plain(
                body: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("plain", connection).await?;
                Ok(HttpResponse::Created().body(body))
            }

            /// `inner` is rolled back, `kept` and `outer` are not; then the whole is, if the body says so.
            #[post("/nested")]
            #[idempotent]
            pub(crate) async fn nested(
                body: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("outer", connection).await?;
                let rolled_back = connection
                    .transaction(async |connection| {
                        mark("inner", connection).await?;
                        Err::<(), _>(AppError::Database(
                            diesel::result::Error::RollbackTransaction,
                        ))
                    })
                    .await;
                assert!(rolled_back.is_err());
                connection
                    .transaction(async |connection| mark("kept", connection).await)
                    .await?;
                match body.as_str() {
                    "fail" => Ok(HttpResponse::UnprocessableEntity().body("no")),
                    _ => Ok(HttpResponse::Created().body("yes")),
                }
            }

            /// Leaves a transaction of its own open.
            #[post("/careless")]
            #[idempotent]
            pub(crate) async fn careless(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                use diesel_async::TransactionManager;
                type Manager = <$connection as AsyncConnection>::TransactionManager;
                Manager::begin_transaction(connection).await?;
                mark("careless", connection).await?;
                Ok(HttpResponse::Created().finish())
            }

            /// Asks to be run again until its third run.
            #[post("/conflict")]
            #[idempotent(retries = 2)]
            pub(crate) async fn conflict(
                runs: web::Data<AtomicU32>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("conflict", connection).await?;
                match runs.fetch_add(1, Ordering::SeqCst) {
                    0 | 1 => Err(AppError::Conflict(Retry::new("deadlock"))),
                    _ => Ok(HttpResponse::Created().body("third")),
                }
            }

            /// The same without retries.
            #[post("/conflict-once")]
            #[idempotent]
            pub(crate) async fn conflict_once(
                runs: web::Data<AtomicU32>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, Retry> {
                mark("conflict", connection)
                    .await
                    .map_err(|_| Retry::new("mark"))?;
                match runs.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(Retry::new("deadlock")),
                    _ => Ok(HttpResponse::Created().body("second")),
                }
            }

            #[post("/accepted")]
            #[idempotent]
            pub(crate) async fn accepted(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("accepted", connection).await?;
                Err(AppError::Accepted)
            }

            #[post("/derived")]
            #[idempotent(key = "optional")]
            pub(crate) async fn derived(
                key: Option<IdempotencyKey>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("derived", connection).await?;
                Ok(HttpResponse::Ok().body(match key {
                    Some(key) => key.derive("charge"),
                    None => "no key".to_owned(),
                }))
            }

            #[post("/tenant")]
            #[idempotent(scope = "tenant")]
            pub(crate) async fn tenant(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("tenant", connection).await?;
                Ok(HttpResponse::Created().finish())
            }

            #[post("/large")]
            #[idempotent]
            pub(crate) async fn large(
                size: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("large", connection).await?;
                let size = size.parse().unwrap();
                Ok(HttpResponse::Created().body("x'\\\u{e9}".repeat(size)))
            }

            /// Runs for ever, in one statement or between two.
            #[post("/forever")]
            #[idempotent(timeout = "1s")]
            pub(crate) async fn forever(
                statement: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("forever", connection).await?;
                if statement.is_empty() {
                    std::future::pending::<()>().await;
                }
                diesel::sql_query(statement).execute(connection).await?;
                Ok(HttpResponse::Created().finish())
            }

            /// Starts a statement and drops it.
            #[post("/dropped")]
            #[idempotent]
            pub(crate) async fn dropped(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                {
                    let mut started = std::pin::pin!(mark("dropped", connection));
                    let _ = futures_util::poll!(&mut started);
                }
                Err(AppError::Database(diesel::result::Error::NotFound))
            }

            /// Starts a statement at about the moment when its time is over.
            #[post("/late")]
            #[idempotent(timeout = "40ms")]
            pub(crate) async fn late(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                let key = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap();
                let jitter = u64::from(key.subsec_micros() % 3000);
                tokio::time::sleep(std::time::Duration::from_micros(37_500 + jitter)).await;
                mark("late", connection).await?;
                Ok(HttpResponse::Created().finish())
            }

            #[post("/json")]
            #[idempotent]
            pub(crate) async fn json(
                _value: web::Json<serde_json::Value>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("json", connection).await?;
                Ok(HttpResponse::Created().finish())
            }

            /// Swallows the error of a statement, and goes on as if nothing had happened.
            #[post("/swallowing")]
            #[idempotent]
            pub(crate) async fn swallowing(
                statement: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("before", connection).await?;
                let swallowed = diesel::sql_query(statement).execute(connection).await;
                assert!(swallowed.is_err());
                let _ = mark("after", connection).await;
                Ok(HttpResponse::Created().finish())
            }

            /// Runs until somebody adds a permit.
            #[post("/held")]
            #[idempotent]
            pub(crate) async fn held(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("held", connection).await?;
                crate::handlers::HOLD.acquire().await.unwrap().forget();
                Ok(HttpResponse::Created().finish())
            }

            /// What no attribute can see: the method comes with the route.
            #[idempotent]
            pub(crate) async fn unseen(
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("unseen", connection).await?;
                Ok(HttpResponse::Ok().finish())
            }

            /// Answers with its body, in headers too.
            #[post("/secret")]
            #[idempotent]
            pub(crate) async fn secret(
                body: String,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("secret", connection).await?;
                let mut answer = HttpResponse::Created();
                answer.insert_header(("x-secret", body.clone()));
                Ok(match body.is_empty() {
                    true => answer.finish(),
                    false => answer.body(body),
                })
            }

            /// Answers with its body, of the type and in the encoding that the request wants, and keeps some of it to
            /// itself.
            #[post("/card")]
            #[idempotent(redact = ["/card/number", "/pins"])]
            pub(crate) async fn card(
                request: HttpRequest,
                body: web::Bytes,
                connection: &mut $connection,
            ) -> Result<HttpResponse, AppError> {
                mark("card", connection).await?;
                let mut answer = HttpResponse::Created();
                answer.insert_header(("content-digest", "sha-256=:x:"));
                answer.insert_header(("etag", "\"x\""));
                for (wanted, header) in [("accept", "content-type"), ("te", "content-encoding")] {
                    if let Some(value) = request.headers().get(wanted) {
                        answer.insert_header((header, value.clone()));
                    }
                }
                Ok(answer.body(body))
            }

            pub(crate) fn routes(config: &mut web::ServiceConfig) {
                config
                    .service(plain)
                    .service(nested)
                    .service(careless)
                    .service(conflict)
                    .service(conflict_once)
                    .service(accepted)
                    .service(dropped)
                    .service(held)
                    .service(swallowing)
                    .service(late)
                    .service(json)
                    .service(secret)
                    .service(card)
                    .service(derived)
                    .service(tenant)
                    .service(large)
                    .service(forever)
                    .service(
                        web::resource("/unseen")
                            .route(web::get().to(unseen))
                            .route(web::post().to(unseen)),
                    );
            }
        }
    };
}

pub(crate) use stamp;
