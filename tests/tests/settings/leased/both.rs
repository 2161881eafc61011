//! An application with both backends: a handler in lease mode has no connection that would say which is meant.

use actix_web::test::{call_service, init_service};
use actix_web::web;

use super::{Kind, Postgres, Sqlite, Told, app};
use crate::open::{Answer, attempt};

#[actix_web::test]
async fn postgres_is_taken() {
    let (postgres, sqlite) = (Postgres::database().await, Sqlite::database().await);
    let told = web::Data::<Told>::default();
    let other = Sqlite::builder(&sqlite).await.build().unwrap();
    let settings = Postgres::builder(&postgres).await.build().unwrap();
    let app = app(&settings, &told)
        .app_data(web::Data::new(other))
        .service(web::scope("/sqlite").configure(Sqlite::routes));
    let app = init_service(app).await;
    for path in ["/hold/201", "/steps/small"] {
        for replayed in [false, true] {
            let response = call_service(&app, attempt(path, path).to_request()).await;
            let answer = Answer::of(response).await;
            assert_eq!(answer.status.as_u16(), 201, "{path}: {}", answer.body);
            assert_eq!(answer.replayed(), replayed, "{path}");
        }
    }
    // The steps of the other one are not there.
    let request = attempt("/sqlite/steps/small", "k").to_request();
    let answer = Answer::of(call_service(&app, request).await).await;
    assert_eq!(answer.code(), "idempotency-misconfigured");
    assert_eq!((postgres.records().await, sqlite.records().await), (2, 0));
    postgres.discard().await;
    sqlite.discard().await;
}
