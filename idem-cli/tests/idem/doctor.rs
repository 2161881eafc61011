//! `idem doctor`: each of its verdicts, by making the fault, on every backend that can have it.

use std::path::Path;
use std::process::Stdio;

use crate::common::Said;
use crate::common::app::{self, ask};
use crate::common::holder::Holder;
use crate::common::place::{Place, on_each};
use diesel::sql_query;
use diesel_async::{AsyncConnection, AsyncMysqlConnection};
use idem_runtime::inspect::{self, OperationState};
use idem_tests::{Backend, until};
use serde_json::Value;

on_each! {
    a_healthy_database,
    an_empty_database,
    a_column_is_missing,
    an_index_is_missing,
    a_table_that_a_crash_empties,
    diesel_has_run_less_or_more,
    the_clocks_differ,
    somebody_should_look_at_what_is_unresolved,
    a_row_is_stuck,
    nobody_prunes,
    a_risky_scope,
    a_short_retention,
    no_relay_runs,
    a_message_was_given_up,
    much_room_is_of_no_use,
    a_check_that_cannot_be_made_keeps_no_other_from_being_made,
    who_may_not_read_is_told_what_was_not_checked,
    a_database_that_goes_away_is_no_mere_finding,
    a_sample_reads_no_steps_and_no_bodies,
    what_is_stuck_is_counted_without_reading_records,
}

/// The verdict of one check, and what was said and advised.
fn verdict(place: &Place, check: &str) -> (String, Value) {
    let report = place.idem(&["doctor", "--json"]).json();
    finding(&report, check)
}

#[track_caller]
fn finding(report: &Value, check: &str) -> (String, Value) {
    let mut checks = report["checks"].as_array().unwrap().iter();
    let found = checks.find(|found| found["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no {check}: {report}"));
    (found["verdict"].as_str().unwrap().to_owned(), found.clone())
}

#[track_caller]
fn assert_finding(place: &Place, check: &str, verdict_is: &str) {
    let said = place.idem(&["doctor", "--json"]);
    let report = said.json();
    let (verdict, found) = finding(&report, check);
    assert_eq!(verdict, verdict_is, "{found}");
    assert!(verdict == "ok" || found["to_do"].is_string(), "{found}");
    assert_eq!(said.code, i32::from(report["verdict"] != "ok"), "{report}");
}

const CHECKS: [&str; 20] = [
    "keys-schema",
    "keys-indexes",
    "keys-durability",
    "outbox-schema",
    "outbox-indexes",
    "outbox-durability",
    "inbox-schema",
    "inbox-indexes",
    "inbox-durability",
    "migrations",
    "clock",
    "unresolved",
    "stuck",
    "maintenance",
    "scopes",
    "retention",
    "keys-size",
    "overdue",
    "dead-messages",
    "outbox-size",
];

async fn a_healthy_database(place: &Place) {
    app::order(place, "k").await;
    let said = place.idem(&["doctor", "--json"]).done();
    let report = said.json();
    assert_eq!(report["verdict"], "ok");
    let checks: Vec<_> = report["checks"].as_array().unwrap().iter().collect();
    assert!(
        checks.iter().all(|found| found["verdict"] == "ok"),
        "{report}"
    );
    let names: Vec<_> = checks
        .iter()
        .map(|found| found["check"].as_str().unwrap())
        .collect();
    let mut expected = CHECKS.to_vec();
    if place.database.backend() == Backend::Sqlite {
        expected.retain(|name| !name.ends_with("durability"));
    }
    assert_eq!(names, expected);
    let table = place.idem(&["doctor"]).done().out;
    assert!(
        table.contains("VERDICT") && table.contains("recorded nowhere"),
        "{table}"
    );
}

async fn an_empty_database(place: &Place) {
    let empty = Place::empty(place.database.backend()).await;
    let said = empty.idem(&["doctor", "--json"]);
    assert_eq!(said.code, 1, "{}", said.out);
    let (verdict, found) = finding(&said.json(), "keys-schema");
    assert_eq!(verdict, "failure");
    assert!(
        found["says"]
            .as_str()
            .unwrap()
            .contains("the table idempotency_keys"),
        "{found}"
    );
    // Nobody has to have an outbox.
    assert!(!said.out.contains("outbox-schema"), "{}", said.out);
    empty.discard().await;
}

async fn a_column_is_missing(place: &Place) {
    place
        .database
        .execute("ALTER TABLE idempotency_keys DROP COLUMN steps")
        .await;
    assert_finding(place, "keys-schema", "failure");
    let (_, found) = verdict(place, "keys-schema");
    assert_eq!(found["says"], "missing: idempotency_keys.steps");
    place
        .database
        .execute("ALTER TABLE idempotency_outbox DROP COLUMN content_type")
        .await;
    assert_finding(place, "outbox-schema", "failure");
}

async fn an_index_is_missing(place: &Place) {
    let on = match place.database.backend() {
        Backend::Mysql => " ON idempotency_keys",
        Backend::Postgres | Backend::Sqlite => "",
    };
    place
        .database
        .execute(&format!("DROP INDEX idempotency_keys_expires_at{on}"))
        .await;
    assert_finding(place, "keys-indexes", "failure");
    let (_, found) = verdict(place, "keys-indexes");
    assert!(
        found["says"]
            .as_str()
            .unwrap()
            .ends_with("idempotency_keys_expires_at"),
        "{found}"
    );
}

async fn a_table_that_a_crash_empties(place: &Place) {
    let spoil = match place.database.backend() {
        Backend::Postgres => "ALTER TABLE idempotency_keys SET UNLOGGED",
        Backend::Mysql => "ALTER TABLE idempotency_keys ENGINE = MyISAM",
        // Here it is a matter of each connection.
        Backend::Sqlite => {
            let report = place.idem(&["doctor", "--json"]).done().out;
            assert!(!report.contains("durability"), "{report}");
            return;
        }
    };
    place.database.execute(spoil).await;
    assert_finding(place, "keys-durability", "failure");
}

async fn diesel_has_run_less_or_more(place: &Place) {
    let table = "CREATE TABLE __diesel_schema_migrations (version varchar(50) PRIMARY KEY)";
    place.database.execute(table).await;
    assert_finding(place, "migrations", "ok");
    let ran = async |version: &str| {
        let insert = format!("INSERT INTO __diesel_schema_migrations VALUES ('{version}')");
        place.database.execute(&insert).await;
    };
    ran("202601010000000000").await;
    assert_finding(place, "migrations", "failure");
    ran("202601010000000001").await;
    assert_finding(place, "migrations", "ok");
    ran("202601010000000099").await;
    assert_finding(place, "migrations", "warning");
}

async fn the_clocks_differ(place: &Place) {
    let fake = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
    if !Path::new(fake).exists() {
        eprintln!("skipped: libfaketime is not installed");
        return;
    }
    let with = |offset: &str| {
        let mut command = place.command(&["doctor", "--json"]);
        command.env("LD_PRELOAD", fake).env("FAKETIME", offset);
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let said = Said::of(command.output().unwrap());
        finding(&said.json(), "clock").0
    };
    let expected = match place.database.backend() {
        // There is one clock.
        Backend::Sqlite => ["ok", "ok", "ok"],
        Backend::Postgres | Backend::Mysql => ["warning", "warning", "failure"],
    };
    assert_eq!(["+20s", "-20s", "-10m"].map(with), expected);
    assert_finding(place, "clock", "ok");
}

async fn somebody_should_look_at_what_is_unresolved(place: &Place) {
    app::unresolved(place, "k").await;
    assert_finding(place, "unresolved", "ok");
    for (seconds, verdict) in [(700, "warning"), (90_000, "failure")] {
        let past = place.database.backend().ago(seconds);
        place
            .database
            .execute(&format!(
                "UPDATE idempotency_keys SET lease_expires_at = {past}"
            ))
            .await;
        assert_finding(place, "unresolved", verdict);
    }
    // From then on it waits for its client, who may never come.
    let release = ["keys", "release", "account:alice", "k", "--yes"];
    place.idem(&release).done();
    assert_finding(place, "unresolved", "ok");
}

async fn a_row_is_stuck(place: &Place) {
    app::unresolved(place, "k").await;
    place
        .database
        .execute("UPDATE idempotency_keys SET lease_expires_at = NULL")
        .await;
    assert_finding(place, "stuck", "failure");
}

async fn nobody_prunes(place: &Place) {
    app::order(place, "k").await;
    place.database.expire_all().await;
    assert_finding(place, "maintenance", "ok");
    let past = place.database.backend().ago(7_200);
    place
        .database
        .execute(&format!("UPDATE idempotency_keys SET expires_at = {past}"))
        .await;
    assert_finding(place, "maintenance", "warning");
}

async fn a_risky_scope(place: &Place) {
    app::order(place, "k").await;
    assert_eq!(ask(place, "alice", "/global", "k", "").await.status, 200);
    assert_finding(place, "scopes", "warning");
    let said = place.idem(&["doctor", "--fail-on", "failure"]).done();
    assert!(said.out.contains("account (1), global (1)"), "{}", said.out);
}

async fn a_short_retention(place: &Place) {
    app::order(place, "k").await;
    assert_eq!(ask(place, "alice", "/brief", "k2", "").await.status, 200);
    assert_finding(place, "retention", "warning");
    let (_, found) = verdict(place, "retention");
    assert!(
        found["says"]
            .as_str()
            .unwrap()
            .contains("is 2m, of POST /brief"),
        "{found}"
    );
}

async fn no_relay_runs(place: &Place) {
    assert_eq!(ask(place, "alice", "/messages", "k", "").await.status, 202);
    assert_finding(place, "overdue", "ok");
    let past = place.database.backend().ago(700);
    place
        .database
        .execute(&format!(
            "UPDATE idempotency_outbox SET available_at = {past}"
        ))
        .await;
    assert_finding(place, "overdue", "warning");
}

async fn a_message_was_given_up(place: &Place) {
    app::dead_message(place, "k").await;
    assert_finding(place, "dead-messages", "warning");
}

/// Rows that were there and are gone.
async fn much_room_is_of_no_use(place: &Place) {
    let columns = "INSERT INTO idempotency_keys (id, scope, \"key\", endpoint, fingerprint, body) ";
    let rows = match place.database.backend() {
        Backend::Postgres => {
            "ALTER TABLE idempotency_keys SET (autovacuum_enabled = false);
             INSERT INTO idempotency_keys (id, scope, key, endpoint, fingerprint)
             SELECT gen_random_uuid(), 's', 'k', 'e', '' FROM generate_series(1, 100000)".to_owned()
        }
        Backend::Sqlite => format!(
            "{columns} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
             SELECT randomblob(16), 's', 'k', 'e', x'', zeroblob(4000) FROM n"
        ),
        Backend::Mysql => format!(
            "{columns} SELECT unhex(replace(uuid(), '-', '')), 's', 'k', 'e', x'', repeat('x', 8000)
             FROM seq_1_to_4000"
        ),
    };
    place.database.execute(&rows).await;
    assert_eq!(verdict(place, "keys-size").0, "ok");
    place.database.execute("DELETE FROM idempotency_keys").await;
    // The server's statistics, and its purge, are behind.
    idem_tests::until("the room is seen to be of no use", || async {
        (verdict(place, "keys-size").0 == "warning").then_some(())
    })
    .await;
    if place.database.backend() != Backend::Postgres {
        return;
    }
    // VACUUM leaves the indexes as large as they were.
    place.database.execute("VACUUM idempotency_keys").await;
    idem_tests::until("the indexes are seen to be too large", || async {
        let (_, found) = verdict(place, "keys-size");
        found["to_do"].as_str()?.contains("REINDEX").then_some(())
    })
    .await;
    let reindex = "REINDEX TABLE idempotency_keys";
    place.database.execute(reindex).await;
    assert_finding(place, "keys-size", "ok");
}

#[track_caller]
fn assert_unchecked(report: &Value, check: &str, because: &str) {
    let (verdict, found) = finding(report, check);
    assert_eq!(verdict, "warning", "{found}");
    assert_eq!(
        found["says"],
        format!("could not be checked: {because}"),
        "{found}"
    );
}

async fn a_check_that_cannot_be_made_keeps_no_other_from_being_made(place: &Place) {
    app::order(place, "k").await;
    let table = "CREATE TABLE __diesel_schema_migrations (other integer)";
    place.database.execute(table).await;
    let said = place.idem(&["doctor", "--json"]);
    assert_eq!((said.code, &*said.err), (1, ""));
    let report = said.json();
    assert_unchecked(
        &report,
        "migrations",
        "the database refused the question, or did not answer in time",
    );
    assert!(!said.out.contains("version"), "{}", said.out);
    for check in CHECKS {
        let is_of_connections =
            check.ends_with("durability") && place.database.backend() == Backend::Sqlite;
        if check != "migrations" && !is_of_connections {
            assert_eq!(finding(&report, check).0, "ok");
        }
    }
    let table = place.idem(&["doctor", "--fail-on", "failure"]).done().out;
    assert!(table.contains("could not be checked"), "{table}");
}

/// Catalogs can be read by everybody.
async fn who_may_not_read_is_told_what_was_not_checked(place: &Place) {
    if place.database.backend() != Backend::Postgres {
        return;
    }
    let url = place.database.url();
    let name = url.rsplit('/').next().unwrap();
    let database = name.split('?').next().unwrap();
    let role = format!("reader_of_{database}");
    let grant = format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON idempotency_outbox TO {role}");
    place.database.execute(&grant).await;
    let theirs = url.replacen("postgres@", &format!("{role}@"), 1);
    assert_ne!(theirs, url);
    let mut command = crate::common::command(
        place.path(),
        &["doctor", "--json", "--database-url", &theirs],
    );
    let said = Said::of(command.output().unwrap());
    let drop = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    place.database.execute(&drop).await;
    assert_eq!((said.code, &*said.err), (1, ""));
    let report = said.json();
    for check in ["unresolved", "stuck", "maintenance", "scopes", "retention"] {
        assert_unchecked(
            &report,
            check,
            "the database refused the question, or did not answer in time",
        );
    }
    for check in [
        "keys-schema",
        "outbox-schema",
        "overdue",
        "dead-messages",
        "clock",
    ] {
        assert_eq!(finding(&report, check).0, "ok");
    }
}

/// What was found so far is told all the same.
async fn a_database_that_goes_away_is_no_mere_finding(place: &Place) {
    if place.database.backend() != Backend::Postgres {
        return;
    }
    let holder = Holder::of(place, "LOCK TABLE idempotency_keys").await;
    let mut command = place.command(&["doctor", "--json", "--fail-on", "failure"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let examining = command.spawn().unwrap();
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("it waits, and is cut off", async || {
        (place.database.number(end).await > 0).then_some(())
    })
    .await;
    let said = Said::of(examining.wait_with_output().unwrap());
    holder.end().await;
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert_eq!(finding(&said.json(), "keys-schema").0, "ok");
    assert_unchecked(&said.json(), "overdue", "the connection is lost");
}

async fn a_sample_reads_no_steps_and_no_bodies(place: &Place) {
    app::order(place, "k1").await;
    app::unresolved(place, "k2").await;
    place.poison_what_is_long().await;
    let report = place.idem(&["doctor", "--json"]).json();
    let (verdict, found) = finding(&report, "scopes");
    assert_eq!(verdict, "ok", "{found}");
    assert_eq!(found["says"], "of 2 rows looked at: account (2)");
    assert_eq!(finding(&report, "retention").0, "ok");
}

/// The others have an index of pending rows.
async fn what_is_stuck_is_counted_without_reading_records(place: &Place) {
    if place.database.backend() != Backend::Mysql {
        return;
    }
    app::unresolved(place, "k").await;
    let stuck = "UPDATE idempotency_keys SET lease_expires_at = NULL";
    place.database.execute(stuck).await;
    let records = "INSERT INTO idempotency_keys (id, scope, `key`, endpoint, fingerprint, status, recorded_at, expires_at)
                   SELECT unhex(replace(uuid(), '-', '')), 's', 'k', 'e', x'', 200, now(6), now(6) + INTERVAL 1 DAY
                   FROM seq_1_to_2000";
    place.database.execute(records).await;
    let mut conn = AsyncMysqlConnection::establish(place.database.url())
        .await
        .unwrap();
    for state in [
        OperationState::Stuck,
        OperationState::Running,
        OperationState::Unresolved,
    ] {
        let (found, read) = counted(&mut conn, state).await;
        assert_eq!(
            found,
            u64::from(state == OperationState::Stuck),
            "{state:?}"
        );
        assert!(read < 50, "{state:?}: {read}");
    }
}

/// How many there are, and how many rows and entries of indexes were read to count them.
async fn counted(conn: &mut AsyncMysqlConnection, state: OperationState) -> (u64, i64) {
    use diesel_async::RunQueryDsl as _;
    sql_query("FLUSH STATUS").execute(conn).await.unwrap();
    let found = inspect::count(conn, state).await.unwrap();
    let read: Read = sql_query(
        "SELECT CAST(sum(variable_value) AS signed) AS number FROM information_schema.session_status \
         WHERE variable_name LIKE 'HANDLER_READ%'",
    )
    .get_result(conn)
    .await
    .unwrap();
    (found.count, read.number)
}

#[derive(diesel::QueryableByName)]
struct Read {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    number: i64,
}
