//! A SQLite database of one test: a file in a directory of its own.

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::QueryResult;
use diesel::sql_types::{Nullable, Text};
use tempfile::TempDir;

pub(super) const REFUSE_TO_RECORD: &str = "
    CREATE TRIGGER refuse BEFORE INSERT ON idempotency_keys
        BEGIN SELECT RAISE(ABORT, 'no record today'); END;";

pub(super) const REFUSE_TO_FINISH: &str = "
    CREATE TRIGGER refuse BEFORE UPDATE ON idempotency_keys WHEN NEW.status IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'no record today'); END;";

pub(super) struct Place {
    directory: Option<TempDir>,
    path: String,
    url: String,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Nullable<Text>)]
    answer: Option<String>,
}

impl Place {
    pub(super) fn fresh() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("idem-test-")
            .tempdir()
            .expect("a directory");
        let path = directory
            .path()
            .join("test.db")
            .to_str()
            .expect("a path in UTF-8")
            .to_owned();
        let url = format!("sqlite://{path}");
        Self {
            directory: Some(directory),
            path,
            url,
        }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn discard(mut self) {
        if let Some(directory) = self.directory.take() {
            directory.close().expect("the directory is removed");
        }
    }

    pub(super) async fn execute(&self, sql: &str) {
        let statements = sql.to_owned();
        self.with_connection(Duration::from_secs(10), move |connection| {
            connection.batch_execute(&statements)
        })
        .await
        .expect(sql);
    }

    pub(super) async fn text(&self, sql: &str) -> Option<String> {
        let query = format!("SELECT CAST(({sql}) AS TEXT) AS answer");
        let rows: QueryResult<Vec<Row>> = self
            .with_connection(Duration::from_secs(10), move |connection| {
                diesel::sql_query(query).load(connection)
            })
            .await;
        rows.expect(sql).pop().and_then(|row| row.answer)
    }

    pub(super) async fn open_transactions(&self) -> i64 {
        let attempt = self
            .with_connection(Duration::ZERO, |connection| {
                connection.batch_execute("BEGIN IMMEDIATE; ROLLBACK")
            })
            .await;
        i64::from(attempt.is_err())
    }

    async fn with_connection<T, F>(&self, patience: Duration, work: F) -> T
    where
        F: FnOnce(&mut SqliteConnection) -> T + Send + 'static,
        T: Send + 'static,
    {
        let path = self.path.clone();
        let run = move || {
            let mut connection = SqliteConnection::establish(&path).expect("the file opens");
            let timeout = format!("PRAGMA busy_timeout = {}", patience.as_millis());
            connection.batch_execute(&timeout).expect("a busy timeout");
            work(&mut connection)
        };
        tokio::task::spawn_blocking(run)
            .await
            .expect("the work ends")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(directory) = self.directory.take()
            && thread::panicking()
        {
            eprintln!("kept for a look: {}", directory.keep().display());
        }
    }
}
