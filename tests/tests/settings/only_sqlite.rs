//! What can only happen on SQLite: its transaction ends in the middle of a statement.

use actix_web::http::StatusCode;
use idem_tests::Backend;

use crate::open::{self, attempt, marks};
use crate::sqlite::{builder, send};

/// The honest limit: what the handler writes after that has committed by itself, and the client must not be told to
/// send the request again.
#[actix_web::test]
async fn a_transaction_that_ended_behind_the_handlers_back_is_never_a_success() {
    let database = open::database(Backend::Sqlite).await;
    database
        .execute("CREATE TABLE taken (id INTEGER PRIMARY KEY); INSERT INTO taken VALUES (1);")
        .await;
    let trap =
        || attempt("/swallowing", "k").set_payload("INSERT OR ROLLBACK INTO taken VALUES (1)");
    let answers = send(
        builder(&database, 1).await,
        vec![trap(), attempt("/plain", "l")],
    )
    .await;
    assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answers[0].code(), "handler-failed");
    assert!(
        answers[0].body.contains("\"retryable\":false"),
        "{}",
        answers[0].body
    );
    assert_eq!(answers[1].status, StatusCode::CREATED);
    assert_eq!(marks(&database, "before").await, 0);
    assert_eq!(marks(&database, "after").await, 1);
    assert_eq!(database.records().await, 1);
    database.discard().await;
}
