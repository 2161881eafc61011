//! What PostgreSQL is told, read off the wire: how many round trips, and in which order.

use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use idem_tests::{App, Proxy, Request, Sent, Stage, on_postgres};

use crate::asking::{ask, assert_replay, assert_runs, gated, marking};

/// Longer than a client that is not waiting for an answer takes to send the rest.
const QUIET: Duration = Duration::from_millis(60);
const SAMPLES: usize = 5;

on_postgres! {
    no_more_round_trips_than_bare,
    in_order_on_a_cold_and_on_a_warm_connection,
    in_order_where_commit_is_warm_and_the_record_is_cold,
    a_replay_is_one_round_trip_before_its_end,
    a_connection_is_set_up_once,
    a_crowd_of_duplicates_asks_once,
}

diesel::table! {
    effects (id) {
        id -> BigInt,
        label -> Text,
    }
}

async fn no_more_round_trips_than_bare(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_runs(&app, "warm", "warm").await;
    proxy.hold(QUIET);
    let protected = fewest(&proxy, async |sample| {
        let key = format!("k{sample}");
        assert_runs(&app, &key, "counted").await;
    })
    .await;
    let mut connection = AsyncPgConnection::establish(proxy.url()).await.unwrap();
    bare(&mut connection).await;
    let bare = fewest(&proxy, async |_| bare(&mut connection).await).await;
    assert!(
        protected <= bare,
        "{protected} round trips, {bare} without protection:\n{:#?}",
        proxy.sent()
    );
}

/// The fewest of several tries: a slow machine can only make them look like more.
async fn fewest(proxy: &Proxy, mut run: impl AsyncFnMut(usize)) -> usize {
    let mut fewest = usize::MAX;
    for sample in 0..SAMPLES {
        proxy.clear();
        run(sample).await;
        fewest = fewest.min(proxy.round_trips());
    }
    fewest
}

/// `BEGIN; work; COMMIT`, as diesel does it.
async fn bare(connection: &mut AsyncPgConnection) {
    use diesel::ExpressionMethods;
    let insert = async |connection: &mut AsyncPgConnection| {
        diesel::insert_into(effects::table)
            .values(effects::label.eq("bare"))
            .execute(connection)
            .await
    };
    connection.transaction(insert).await.unwrap();
}

async fn in_order_on_a_cold_and_on_a_warm_connection(stage: &Stage) {
    for status in [201, 404] {
        let (app, proxy) = stage.start_behind_proxy().await;
        in_order(&app, &proxy, status).await;
    }
}

/// A request without a key has left COMMIT in the connection's statement cache, but no record: nothing but the cache's
/// lock keeps COMMIT behind a record that has to be prepared first.
async fn in_order_where_commit_is_warm_and_the_record_is_cold(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let script = serde_json::json!({ "label": "order", "status": 201 });
    let keyless = Request::post("/optional/script").json(&script);
    assert_eq!(app.send(&keyless).await.status, 201);
    assert!(proxy.sent().iter().any(|one| one.sql == "COMMIT"));
    in_order(&app, &proxy, 201).await;
}

/// The first time on a connection and the second. Answers are held back, so that whatever is sent without waiting for
/// one is sent before it.
async fn in_order(app: &App, proxy: &Proxy, status: u16) {
    proxy.hold(QUIET);
    for temperature in ["cold", "warm"] {
        proxy.clear();
        let script = serde_json::json!({ "label": "order", "status": status });
        let key = format!("{temperature}{status}{}", app.address().port());
        assert_eq!(
            app.send(&ask("/account/script", &key, &script))
                .await
                .status,
            status
        );
        assert_in_order(&proxy.sent(), status);
    }
}

#[track_caller]
fn assert_in_order(sent: &[Sent], status: u16) {
    let keeps = status < 400;
    let end_word = if keeps { "COMMIT" } else { "ROLLBACK" };
    let begin = position(sent, |sql| sql.contains("BEGIN"));
    let lock = position(sent, |sql| sql.contains("pg_try_advisory_xact_lock"));
    let look = position(sent, is_look);
    let work = position(sent, |sql| sql.contains("INSERT INTO \"effects\""));
    let record = position(sent, is_record);
    let end = position(sent, |sql| sql.contains(end_word));
    assert!(begin <= lock && lock < look && look < work, "{sent:#?}");
    assert_eq!(record < end, keeps, "{sent:#?}");
    assert!(work < record.min(end), "{sent:#?}");
    assert!(
        sent.iter().all(|one| one.connection == sent[0].connection),
        "{sent:#?}"
    );
}

fn is_look(sql: &str) -> bool {
    sql.contains("FROM idempotency_keys WHERE id")
}

fn is_record(sql: &str) -> bool {
    sql.contains("INSERT INTO") && sql.contains("idempotency_keys")
}

#[track_caller]
fn position(sent: &[Sent], is_it: impl Fn(&str) -> bool) -> usize {
    let found = sent.iter().position(|one| is_it(&one.sql));
    found.unwrap_or_else(|| panic!("not sent: {sent:#?}"))
}

async fn a_replay_is_one_round_trip_before_its_end(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let request = ask("/account/script", "k", &marking("replayed"));
    assert_eq!(app.send(&request).await.status, 201);
    assert!(app.send(&request).await.is_replay());
    proxy.hold(QUIET);
    let count = fewest(&proxy, async |_| {
        assert!(app.send(&request).await.is_replay())
    })
    .await;
    assert!(count <= 2, "{count} round trips: {:#?}", proxy.sent());
    assert!(
        proxy.sent().iter().all(|one| !one.sql.contains("INSERT")),
        "a replay writes nothing"
    );
}

/// A host that vanishes is noticed, and no request pays for it.
async fn a_connection_is_set_up_once(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    for key in ["one", "two", "three"] {
        assert_runs(&app, key, "set up").await;
    }
    let settings = ["idle_in_transaction_session_timeout", "tcp_keepalives_idle"];
    for setting in settings {
        let count = proxy
            .sent()
            .iter()
            .filter(|one| one.sql.contains(setting))
            .count();
        assert_eq!(count, 1, "{setting}: {:#?}", proxy.sent());
    }
}

/// Those who wait for the first attempt get the answer from it, not from the database.
async fn a_crowd_of_duplicates_asks_once(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let request = ask("/wait/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let crowd: Vec<_> = (0..30).map(|_| app.send_in_background(&request)).collect();
    // Whoever comes too late to wait asks for itself; that none comes too late cannot be seen from here.
    assert_eq!(app.entered("gate").await, 1);
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    for answer in crowd {
        assert_replay(&first, &answer.await.unwrap());
    }
    let begins = proxy
        .sent()
        .iter()
        .filter(|one| one.sql.contains("BEGIN"))
        .count();
    assert!(begins <= 10, "{begins} transactions for one operation");
}
