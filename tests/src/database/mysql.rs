//! A database of one test on MySQL or MariaDB.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use diesel_async::{AsyncConnection, AsyncMysqlConnection, RunQueryDsl, SimpleAsyncConnection};

use super::names::{unique_name, with_database};

const SERVER: &str = "IDEM_TEST_MYSQL_URL";

/// URLs of nodes that have what that server has, with commas between: each application gets the next one. The tests
/// themselves look at the server.
const WAY: &str = "IDEM_TEST_MYSQL_VIA";

pub(super) const REFUSE_TO_RECORD: &str = "
    CREATE TRIGGER refuse BEFORE INSERT ON idempotency_keys FOR EACH ROW
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no record today'";

pub(super) const REFUSE_TO_FINISH: &str = "
    CREATE TRIGGER refuse BEFORE UPDATE ON idempotency_keys FOR EACH ROW
        IF NEW.status IS NOT NULL THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no record today';
        END IF";

pub(super) struct Place {
    name: String,
    url: String,
    /// As the applications reach it, in turn.
    ways: Vec<String>,
    next: AtomicUsize,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Nullable<Text>)]
    answer: Option<String>,
}

impl Place {
    pub(super) async fn fresh() -> Self {
        let via = env::var(WAY).unwrap_or_else(|_| server());
        let nodes: Vec<_> = via.split(',').map(String::from).collect();
        Self::on(&server(), &nodes).await
    }

    /// Of this server, which the applications reach at these nodes.
    pub(super) async fn on(server: &str, nodes: &[String]) -> Self {
        let name = unique_name();
        execute(server, &format!("CREATE DATABASE {name}")).await;
        let url = with_database(server, &name);
        let ways = nodes.iter().map(|node| with_database(node, &name));
        Self {
            ways: ways.collect(),
            name,
            url,
            next: AtomicUsize::new(0),
        }
    }

    pub(super) fn way(&self) -> &str {
        self.at(self.next.fetch_add(1, Ordering::Relaxed) % self.ways.len())
    }

    pub(super) fn at(&self, node: usize) -> &str {
        &self.ways[node]
    }

    pub(super) async fn discard(self) {
        execute(&self.url, &format!("DROP DATABASE {}", self.name)).await;
    }

    pub(super) async fn execute(&self, sql: &str) {
        execute(&self.url, sql).await;
    }

    pub(super) async fn text(&self, sql: &str) -> Option<String> {
        let query = format!("SELECT CAST(({sql}) AS CHAR) AS answer");
        let rows: Vec<Row> = diesel::sql_query(query)
            .load(&mut connect(&self.url).await)
            .await
            .expect(sql);
        rows.into_iter().find_map(|row| row.answer)
    }

    pub(super) async fn open_transactions(&self) -> i64 {
        let count = "SELECT count(*) FROM information_schema.innodb_trx
             JOIN information_schema.processlist ON id = trx_mysql_thread_id
             WHERE db = database() AND command = 'Sleep'";
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
        _ => panic!("{SERVER} is not set: `cargo xtask test` starts a private MariaDB and sets it"),
    }
}

async fn execute(url: &str, sql: &str) {
    connect(url).await.batch_execute(sql).await.expect(sql);
}

/// In the SQL of the others: `"key"` is a name, and `||` puts texts together. What another node of a cluster has
/// committed is seen.
const STANDARD: &str = "SET sql_mode = concat(@@sql_mode, ',ANSI_QUOTES,PIPES_AS_CONCAT') \
     /*M! , SESSION wsrep_sync_wait = 15 */";

async fn connect(url: &str) -> AsyncMysqlConnection {
    let connection = AsyncMysqlConnection::establish(url).await;
    let mut connection = connection.expect("the server answers");
    connection.batch_execute(STANDARD).await.expect(STANDARD);
    connection
}
