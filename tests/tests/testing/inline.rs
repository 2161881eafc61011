//! A handler that looks, works and records with blocking diesel and no await in between: it is over at its first poll, and on
//! one thread no other request can come in its way.

use std::sync::{Mutex, PoisonError};

use actix_web::error::ErrorInternalServerError;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, HttpRequest, HttpResponse, post, web};
use diesel::connection::SimpleConnection;
use diesel::dsl::max;
use diesel::prelude::*;
use idem_runtime::testing::{Proof, Rule, Verdict};

diesel::table! {
    orders (id) {
        id -> BigInt,
        scope -> Text,
        key -> Text,
        item -> Text,
    }
}

type Journal = Mutex<SqliteConnection>;

fn header(request: &HttpRequest, name: &str) -> String {
    let value = request.headers().get(name);
    value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

#[post("/orders")]
async fn create_order(
    request: HttpRequest,
    wanted: String,
    journal: web::Data<Journal>,
) -> actix_web::Result<HttpResponse> {
    let scope = header(&request, "x-account");
    let key = header(&request, "idempotency-key");
    if key.is_empty() {
        return Ok(HttpResponse::BadRequest().finish());
    }
    let mut connection = journal.lock().unwrap_or_else(PoisonError::into_inner);
    let recorded: Option<(i64, String)> = orders::table
        .filter(orders::scope.eq(&scope).and(orders::key.eq(&key)))
        .select((orders::id, orders::item))
        .first(&mut *connection)
        .optional()
        .map_err(ErrorInternalServerError)?;
    if let Some((id, item)) = recorded {
        if item != wanted {
            return Ok(HttpResponse::UnprocessableEntity().finish());
        }
        let mut replay = HttpResponse::Created();
        replay.insert_header(("idempotent-replayed", "true"));
        return Ok(replay.body(id.to_string()));
    }
    let last: Option<i64> = orders::table
        .select(max(orders::id))
        .first(&mut *connection)
        .map_err(ErrorInternalServerError)?;
    let id = last.unwrap_or_default() + 1;
    let order = (
        orders::id.eq(id),
        orders::scope.eq(&scope),
        orders::key.eq(&key),
        orders::item.eq(&wanted),
    );
    diesel::insert_into(orders::table)
        .values(order)
        .execute(&mut *connection)
        .map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Created().body(id.to_string()))
}

#[actix_web::test]
async fn a_handler_that_nobody_can_come_in_the_way_of_is_not_proven_against_duplicates() {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY, scope text, key text, item text)";
    connection.batch_execute(table).unwrap();
    let journal = web::Data::new(Mutex::new(connection));
    let app = App::new().app_data(journal.clone()).service(create_order);
    let app = init_service(app).await;
    let request = || {
        let request = TestRequest::post().uri("/orders").set_payload("tea");
        request.insert_header(("x-account", "acme"))
    };
    let count = async || {
        let mut connection = journal.lock().unwrap();
        orders::table.count().get_result(&mut *connection).unwrap()
    };
    let report = Proof::of(request)
        .other_body(|request| request.set_payload("coffee"))
        .other_account(|request| request.insert_header(("x-account", "other")))
        .effects(count)
        .skip(Rule::Failure, "it cannot be made to fail")
        .skip(Rule::LateOwner, "it has no claim")
        .skip(Rule::KeyMalformed, "it takes any")
        .check(&app)
        .await;
    assert_eq!(report.broken(), [], "{report}");
    let unproven = [Rule::Concurrent, Rule::DroppedClient];
    assert_eq!(report.unproven(), unproven, "{report}");
    let text = report.to_string();
    for reason in ["idem check", "over before anybody can go"] {
        assert!(text.contains(reason), "{report}");
    }
    assert_eq!(report.verdict(Rule::Retry), Some(&Verdict::Proven));
}
