//! What a server is told, read off the wire: how many round trips, and in which order.

use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, RunQueryDsl};
use idem_tests::{App, Backend, Proxy, Request, Sent, Stage, on_postgres, on_servers};

use crate::asking::{
    ask, assert_in_flight, assert_replay, assert_runs, gated, marking, nothing_open,
};
use crate::words::{COMMIT, RECORD, ROLLBACK, words};

/// Longer than a client that is not waiting for an answer takes to send the rest.
const QUIET: Duration = Duration::from_millis(60);
const SAMPLES: usize = 5;

on_servers! {
    round_trips_of_a_first_attempt,
    in_order_on_a_cold_and_on_a_warm_connection,
    round_trips_of_a_replay,
    round_trips_of_a_refusal,
    a_connection_is_set_up_once,
    a_crowd_of_duplicates_asks_once,
}

on_postgres! { in_order_where_commit_is_warm_and_the_record_is_cold }

diesel::table! {
    effects (id) {
        id -> BigInt,
        label -> Text,
    }
}

/// No more than bare on PostgreSQL, where a claim needs none of its own.
async fn round_trips_of_a_first_attempt(stage: &Stage) {
    let more = match stage.backend() {
        Backend::Mysql => 6,
        _ => 0,
    };
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_runs(&app, "warm", "warm").await;
    proxy.hold(QUIET);
    let protected = fewest(&proxy, async |sample| {
        let key = format!("k{sample}");
        assert_runs(&app, &key, "counted").await;
    })
    .await;
    let sent = proxy.sent();
    let mut bare = Bare::connect(stage.backend(), proxy.url()).await;
    bare.run().await;
    let bare = fewest(&proxy, async |_| bare.run().await).await;
    assert_eq!(protected, bare + more, "{sent:#?}");
}

/// The fewest of several tries: a slow machine can only make them look like more.
pub(crate) async fn fewest(proxy: &Proxy, mut run: impl AsyncFnMut(usize)) -> usize {
    let mut fewest = usize::MAX;
    for sample in 0..SAMPLES {
        proxy.clear();
        run(sample).await;
        fewest = fewest.min(proxy.round_trips());
    }
    fewest
}

/// `BEGIN; work; COMMIT`, as diesel does it.
enum Bare {
    Mysql(AsyncMysqlConnection),
    Postgres(Box<AsyncPgConnection>),
}

impl Bare {
    async fn connect(backend: Backend, url: &str) -> Self {
        match backend {
            Backend::Mysql => Self::Mysql(AsyncMysqlConnection::establish(url).await.unwrap()),
            _ => Self::Postgres(Box::new(AsyncPgConnection::establish(url).await.unwrap())),
        }
    }

    async fn run(&mut self) {
        use diesel::ExpressionMethods;
        let insert = diesel::insert_into(effects::table).values(effects::label.eq("bare"));
        match self {
            Self::Mysql(connection) => {
                connection
                    .transaction(async |connection| insert.execute(connection).await)
                    .await
            }
            Self::Postgres(connection) => {
                connection
                    .transaction(async |connection| insert.execute(connection).await)
                    .await
            }
        }
        .unwrap();
    }
}

async fn in_order_on_a_cold_and_on_a_warm_connection(stage: &Stage) {
    for status in [201, 404] {
        let (app, proxy) = stage.start_behind_proxy().await;
        in_order(stage, &app, &proxy, status).await;
    }
}

/// A request without a key has left COMMIT in the connection's statement cache, but no record: nothing but the cache's
/// lock keeps COMMIT behind a record that has to be prepared first.
async fn in_order_where_commit_is_warm_and_the_record_is_cold(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let script = serde_json::json!({ "label": "order", "status": 201 });
    let keyless = Request::post("/optional/script").json(&script);
    assert_eq!(app.send(&keyless).await.status, 201);
    assert!(proxy.sent().iter().any(|one| one.sql == COMMIT));
    in_order(stage, &app, &proxy, 201).await;
}

/// The first time on a connection and the second. Answers are held back, so that whatever is sent without waiting for
/// one is sent before it.
async fn in_order(stage: &Stage, app: &App, proxy: &Proxy, status: u16) {
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
        assert_in_order(stage, &proxy.sent(), status);
    }
}

#[track_caller]
fn assert_in_order(stage: &Stage, sent: &[Sent], status: u16) {
    let words = words(stage.backend());
    let end = match status {
        ..400 => [words.work, RECORD, COMMIT],
        _ => [words.work, ROLLBACK, RECORD],
    };
    let order = words.claim.iter().chain(&end).chain(&words.behind);
    let places: Vec<_> = order.map(|piece| place(sent, piece)).collect();
    assert!(places.is_sorted_by(|one, next| one < next), "{sent:#?}");
    assert!(
        sent.iter().all(|one| one.connection == sent[0].connection),
        "{sent:#?}"
    );
}

/// The message that has this piece first, and where in it.
#[track_caller]
fn place(sent: &[Sent], piece: &str) -> (usize, usize) {
    let at = |(number, one): (usize, &Sent)| Some((number, one.sql.find(piece)?));
    let found = sent.iter().enumerate().find_map(at);
    found.unwrap_or_else(|| panic!("{piece} was not sent: {sent:#?}"))
}

/// What asks, and its end.
async fn round_trips_of_a_replay(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let request = ask("/account/script", "k", &marking("replayed"));
    assert_eq!(app.send(&request).await.status, 201);
    assert!(app.send(&request).await.is_replay());
    proxy.hold(QUIET);
    let count = fewest(&proxy, async |_| {
        assert!(app.send(&request).await.is_replay())
    })
    .await;
    assert_asked_only(stage, count, &proxy);
}

/// 409 from a process that has to ask: somebody else's runs it.
async fn round_trips_of_a_refusal(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let other = stage.start().await;
    let request = ask("/account/script", "k", &gated("gate"));
    let first = other.send_in_background(&request);
    other.reached("gate", 1).await;
    assert_in_flight(&app.send(&request).await);
    proxy.hold(QUIET);
    let count = fewest(&proxy, async |_| {
        assert_in_flight(&app.send(&request).await);
    })
    .await;
    assert_asked_only(stage, count, &proxy);
    other.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    nothing_open(stage).await;
}

#[track_caller]
fn assert_asked_only(stage: &Stage, count: usize, proxy: &Proxy) {
    let sent = proxy.sent();
    let expected = match stage.backend() {
        Backend::Mysql => 3,
        _ => 2,
    };
    assert_eq!(count, expected, "{sent:#?}");
    let writes = |one: &Sent| one.sql.contains("INSERT");
    assert!(!sent.iter().any(writes), "{sent:#?}");
}

/// A host that vanishes is noticed, and no request pays for it.
async fn a_connection_is_set_up_once(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    for key in ["one", "two", "three"] {
        assert_runs(&app, key, "set up").await;
    }
    for setting in words(stage.backend()).settings {
        assert_eq!(times(&proxy, setting), 1, "{setting}: {:#?}", proxy.sent());
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
    let claims = times(&proxy, words(stage.backend()).lock);
    assert!(claims <= 10, "{claims} claims of one operation");
}

fn times(proxy: &Proxy, piece: &str) -> usize {
    let sent = proxy.sent();
    sent.iter().filter(|one| one.sql.contains(piece)).count()
}
