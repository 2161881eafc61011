//! What it costs a handler to queue one message: throughput of first attempts with one, without, and with the same row
//! written by hand, with and without NOTIFY.

use idem_tests::Backend;
use serde_json::{Map, Value, json};
use tokio_postgres::NoTls;

use super::queued::{COLUMNS, TOPIC};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;
use crate::load::Measured;
use crate::rounds::ratio;
use crate::traffic::{Script, Traffic, Work, connections_text};

const GROUP: &str = "Queueing one message";
const CONNECTIONS: usize = 16;

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    for work in Work::ALL {
        figures.extend(on_postgres(bench, work).await?);
    }
    figures.push(on_sqlite(bench).await?);
    Ok(figures)
}

async fn on_postgres(bench: &Bench, work: Work) -> Outcome<Vec<Figure>> {
    eprintln!("idem-bench:   queueing, {}", work.name());
    let database = bench.database(Backend::Postgres).await;
    let app = bench.app(&database).start().await;
    // As a relay does: each commit that notifies has somebody to wake.
    let (listener, connection) = tokio_postgres::connect(database.url(), NoTls).await?;
    tokio::spawn(connection);
    listener.batch_execute("LISTEN idempotency_outbox").await?;

    let script = Script::new(work, 300);
    let sides = [nothing(), message(), by_hand(false), by_hand(true)];
    let sides = sides.map(|beside| Traffic::outbox(script, beside));
    let sides = bench.compare(&app, CONNECTIONS, &sides).await?;
    drop(listener);
    drop(app);
    database.discard().await;
    let pairs = [
        ("one message / none", 1, 0),
        ("row by hand, no NOTIFY / none", 2, 0),
        ("row by hand, with NOTIFY / without", 3, 2),
    ];
    let figures = pairs.map(|(name, over, under)| {
        let name = format!("{name}, {}, {}", work.name(), connections_text(CONNECTIONS));
        Figure::ratio(
            GROUP,
            name,
            ratio(&sides[over], &sides[under], Measured::rate),
        )
    });
    Ok(figures.into())
}

async fn on_sqlite(bench: &Bench) -> Outcome<Figure> {
    let database = bench.database(Backend::Sqlite).await;
    let app = bench.app(&database).start().await;
    let script = Script::new(Work::OneInsert, 300);
    let sides = [nothing(), message()].map(|beside| Traffic::outbox(script, beside));
    let sides = bench.compare(&app, CONNECTIONS, &sides).await?;
    drop(app);
    database.discard().await;
    let name = format!(
        "one message / none, SQLite, one insert, {}",
        connections_text(CONNECTIONS)
    );
    let spread = ratio(&sides[1], &sides[0], Measured::rate);
    Ok(Figure::ratio(GROUP, name, spread))
}

fn nothing() -> Map<String, Value> {
    Map::new()
}

fn message() -> Map<String, Value> {
    Map::from_iter([("messages".to_owned(), messages())])
}

/// One, as a script has it.
pub(in crate::figures) fn messages() -> Value {
    json!([{ "topic": TOPIC, "payload": "x".repeat(300), "quiet": true }])
}

/// As a plain statement, which the server plans anew each time, on either side of the comparison.
fn by_hand(notifies: bool) -> Map<String, Value> {
    let insert = format!(
        "INSERT INTO idempotency_outbox ({COLUMNS}) VALUES (gen_random_uuid(), 'account:bench', 'k', '{TOPIC}', NULL, \
         '[]', 'application/json', convert_to('\"{}\"', 'UTF8'), clock_timestamp(), clock_timestamp())",
        "x".repeat(300)
    );
    let sql = match notifies {
        true => format!(
            "WITH changed AS ({insert} RETURNING 1) SELECT pg_notify('idempotency_outbox', '') FROM changed"
        ),
        false => insert,
    };
    Map::from_iter([("sql".to_owned(), sql.into())])
}
