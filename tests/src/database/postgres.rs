//! A PostgreSQL database of one test.

use std::{env, thread};

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::names::{unique_name, with_database};
use crate::with_address;

const SERVER: &str = "IDEM_TEST_POSTGRES_URL";

/// `ADDRESS:PORT` of a pooler in front of that server, for the applications. The tests themselves look past it.
const WAY: &str = "IDEM_TEST_POSTGRES_VIA";

pub(super) const REFUSE_TO_RECORD: &str = "
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no record today'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION refuse();";

pub(super) const REFUSE_TO_FINISH: &str = "
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no record today'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON idempotency_keys FOR EACH ROW WHEN (NEW.status IS NOT NULL)
        EXECUTE FUNCTION refuse();";

/// The functions that tell the time.
pub(super) const CLOCKS: [&str; 4] = [
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "now",
];

pub(super) struct Place {
    name: String,
    url: String,
    /// As the applications reach it.
    way: String,
}

impl Place {
    pub(super) async fn fresh() -> Self {
        let name = unique_name();
        connect(&server())
            .await
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .expect("a new database");
        let url = with_database(&server(), &name);
        let way = match env::var(WAY) {
            Ok(pooler) => with_address(&url, pooler.parse().expect("an address and a port")),
            Err(_) => url.clone(),
        };
        Self { name, url, way }
    }

    pub(super) fn way(&self) -> &str {
        &self.way
    }

    pub(super) async fn discard(self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        connect(&server())
            .await
            .batch_execute(&drop)
            .await
            .expect("the database is dropped");
    }

    pub(super) async fn execute(&self, sql: &str) {
        connect(&self.url)
            .await
            .batch_execute(sql)
            .await
            .expect(sql);
    }

    pub(super) async fn text(&self, sql: &str) -> Option<String> {
        let answer = connect(&self.url).await.simple_query(sql).await.expect(sql);
        answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
            _ => None,
        })
    }

    pub(super) async fn open_transactions(&self) -> i64 {
        let count = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        self.text(count)
            .await
            .and_then(|count| count.parse().ok())
            .expect("a count")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("kept for a look: {}", self.url);
        }
    }
}

fn server() -> String {
    match env::var(SERVER) {
        Ok(url) if !url.is_empty() => url,
        _ => panic!(
            "{SERVER} is not set: `cargo xtask test` starts a private PostgreSQL and sets it"
        ),
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .expect("PostgreSQL answers");
    tokio::spawn(connection);
    client
}
