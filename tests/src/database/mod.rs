//! A fresh database per test, on any backend: dropped on success, kept on failure. Looks only; what it should find
//! there is for the tests to say.

mod mysql;
mod names;
mod postgres;
mod sqlite;

/// Where a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A database of the server in `IDEM_TEST_MYSQL_URL`.
    Mysql,
    /// A database of the server in `IDEM_TEST_POSTGRES_URL`.
    Postgres,
    /// A file in a directory of its own.
    Sqlite,
}

impl Backend {
    /// In its SQL: so many seconds ago, by the database's clock.
    pub fn ago(self, seconds: u64) -> String {
        match self {
            Self::Mysql => format!("timestampadd(SECOND, -{seconds}, utc_timestamp(6))"),
            Self::Postgres => format!("clock_timestamp() - interval '{seconds} seconds'"),
            Self::Sqlite => format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-{seconds} seconds')"),
        }
    }
}

/// One test's database.
pub struct Database {
    place: Place,
}

enum Place {
    Mysql(mysql::Place),
    Postgres(postgres::Place),
    Sqlite(sqlite::Place),
}

impl Database {
    /// Empty: whoever uses it runs the migrations.
    pub async fn fresh(backend: Backend) -> Self {
        let place = match backend {
            Backend::Mysql => Place::Mysql(mysql::Place::fresh().await),
            Backend::Postgres => Place::Postgres(postgres::Place::fresh().await),
            Backend::Sqlite => Place::Sqlite(sqlite::Place::fresh()),
        };
        Self { place }
    }

    /// Of the first of these nodes, of which each application gets the next one.
    pub async fn of_nodes(nodes: &[String]) -> Self {
        Self {
            place: Place::Mysql(mysql::Place::on(&nodes[0], nodes).await),
        }
    }

    /// Which backend it is of.
    pub fn backend(&self) -> Backend {
        match self.place {
            Place::Mysql(_) => Backend::Mysql,
            Place::Postgres(_) => Backend::Postgres,
            Place::Sqlite(_) => Backend::Sqlite,
        }
    }

    /// What `idem-testapp --database-url` takes.
    pub fn url(&self) -> &str {
        match &self.place {
            Place::Mysql(place) => place.way(),
            Place::Postgres(place) => place.way(),
            Place::Sqlite(place) => place.url(),
        }
    }

    /// The same at this one of several nodes.
    pub fn url_at(&self, node: usize) -> &str {
        match &self.place {
            Place::Mysql(place) => place.at(node),
            Place::Postgres(_) | Place::Sqlite(_) => panic!("it has no nodes"),
        }
    }

    /// The test succeeded: nothing of it stays.
    pub async fn discard(self) {
        match self.place {
            Place::Mysql(place) => place.discard().await,
            Place::Postgres(place) => place.discard().await,
            Place::Sqlite(place) => place.discard(),
        }
    }

    /// Runs statements on a connection of their own.
    pub async fn execute(&self, sql: &str) {
        match &self.place {
            Place::Mysql(place) => place.execute(sql).await,
            Place::Postgres(place) => place.execute(sql).await,
            Place::Sqlite(place) => place.execute(sql).await,
        }
    }

    /// The one text that a query gives, or nothing if it gives no row or NULL.
    pub async fn text(&self, sql: &str) -> Option<String> {
        match &self.place {
            Place::Mysql(place) => place.text(sql).await,
            Place::Postgres(place) => place.text(sql).await,
            Place::Sqlite(place) => place.text(sql).await,
        }
    }

    /// The one number that a query gives.
    pub async fn number(&self, sql: &str) -> i64 {
        let text = self.text(sql).await.expect("a number");
        text.parse().expect("a number")
    }

    /// Committed effects of a label.
    pub async fn effects(&self, label: &str) -> i64 {
        let label = label.replace('\'', "''");
        self.number(&format!(
            "SELECT count(*) FROM effects WHERE label = '{label}'"
        ))
        .await
    }

    /// All records.
    pub async fn records(&self) -> i64 {
        self.number("SELECT count(*) FROM idempotency_keys").await
    }

    /// Every record has expired a minute ago.
    pub async fn expire_all(&self) {
        let past = self.backend().ago(60);
        self.execute(&format!("UPDATE idempotency_keys SET expires_at = {past}"))
            .await;
    }

    /// Operations that are claimed and not yet recorded.
    pub async fn pending(&self) -> i64 {
        self.number("SELECT count(*) FROM idempotency_keys WHERE status IS NULL")
            .await
    }

    /// Every lease that there is has run out a minute ago.
    pub async fn expire_leases(&self) {
        let past = self.backend().ago(60);
        self.execute(&format!(
            "UPDATE idempotency_keys SET lease_expires_at = {past}
             WHERE status IS NULL AND lease_expires_at IS NOT NULL"
        ))
        .await;
    }

    /// Sets the database's clock forward, for whoever connects from now on: every application's own clock is then
    /// wrong by as much (PostgreSQL only; with SQLite there is one clock).
    pub async fn set_clock_forward(&self, minutes: i32) {
        let name = self.text("SELECT current_database()").await;
        let name = name.expect("a name");
        let mut sql = format!("ALTER DATABASE {name} SET search_path = public, pg_catalog;");
        for clock in postgres::CLOCKS {
            sql += &format!(
                "CREATE OR REPLACE FUNCTION public.{clock}() RETURNS timestamptz VOLATILE LANGUAGE sql
                 AS $$ SELECT pg_catalog.{clock}() + interval '{minutes} minutes' $$;"
            );
        }
        self.execute(&sql).await;
    }

    /// Makes every attempt to store a record fail, until [`Self::let_record`].
    pub async fn refuse_to_record(&self) {
        self.execute(match self.backend() {
            Backend::Mysql => mysql::REFUSE_TO_RECORD,
            Backend::Postgres => postgres::REFUSE_TO_RECORD,
            Backend::Sqlite => sqlite::REFUSE_TO_RECORD,
        })
        .await;
    }

    /// Makes every attempt to finish a pending record fail, until [`Self::let_record`].
    pub async fn refuse_to_finish(&self) {
        self.execute(match self.backend() {
            Backend::Mysql => mysql::REFUSE_TO_FINISH,
            Backend::Postgres => postgres::REFUSE_TO_FINISH,
            Backend::Sqlite => sqlite::REFUSE_TO_FINISH,
        })
        .await;
    }

    /// Undoes [`Self::refuse_to_record`] and [`Self::refuse_to_finish`].
    pub async fn let_record(&self) {
        self.execute(match self.backend() {
            Backend::Postgres => "DROP TRIGGER refuse ON idempotency_keys",
            Backend::Mysql | Backend::Sqlite => "DROP TRIGGER refuse",
        })
        .await;
    }

    /// Transactions that somebody has open without a statement running (PostgreSQL), or whether somebody holds the
    /// write lock (SQLite).
    pub async fn open_transactions(&self) -> i64 {
        match &self.place {
            Place::Mysql(place) => place.open_transactions().await,
            Place::Postgres(place) => place.open_transactions().await,
            Place::Sqlite(place) => place.open_transactions().await,
        }
    }
}
