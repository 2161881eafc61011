//! The tables of the runtime: the migrations of each backend, embedded, and run by diesel's own
//! harness.
//!
//! No SQL stands here: it lives in `migrations/`, one directory per version, and a released one
//! never changes. There are two ways to apply it. Both record the same versions, so that an
//! application may change from one to the other:
//!
//! - `idem migration generate` (of the crate `idem-cli`) writes the files into the application's own
//!   migrations directory, for `diesel migration run` and `embed_migrations!`.
//! - `postgres()`, `mysql()` and `sqlite()` run from the application, without files.
//!
//! The tables of the outbox and of the inbox are for who uses them: they have sources of their own, and
//! `idem migration generate --with outbox,inbox` adds them.
//!
//! Diesel reverts the newest version first, and asks one source for it. An application that reverts
//! migrations should have ours among its own files.

use std::fmt;
use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{
    Migration, MigrationMetadata, MigrationName, MigrationSource, MigrationVersion, Result,
};

/// One migration as it stands in `migrations/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationFile {
    /// The name of its directory: the version, `_`, and what it is about.
    pub name: &'static str,
    /// The text of its `up.sql`.
    pub up: &'static str,
    /// The text of its `down.sql`.
    pub down: &'static str,
}

macro_rules! files {
    ($backend:literal: $($name:literal),+ $(,)?) => {
        &[$(MigrationFile {
            name: $name,
            up: include_str!(concat!("../migrations/", $backend, "/", $name, "/up.sql")),
            down: include_str!(concat!("../migrations/", $backend, "/", $name, "/down.sql")),
        }),+]
    };
}

/// The migrations for PostgreSQL, oldest first.
pub const FILES_POSTGRES: &[MigrationFile] = files!("postgres":
    "2026-01-01-000000-0000_idempotency_keys",
    "2026-01-01-000000-0001_idempotency_leases",
);

/// The migration of the [outbox](crate::outbox) for PostgreSQL.
pub const FILES_OUTBOX_POSTGRES: &[MigrationFile] = files!("postgres":
    "2026-01-01-000000-0100_idempotency_outbox",
);

/// The migration of the [inbox](crate::inbox) for PostgreSQL.
pub const FILES_INBOX_POSTGRES: &[MigrationFile] = files!("postgres":
    "2026-01-01-000000-0200_idempotency_inbox",
);

/// The migrations for MySQL and MariaDB, oldest first.
pub const FILES_MYSQL: &[MigrationFile] = files!("mysql":
    "2026-01-01-000000-0000_idempotency_keys",
    "2026-01-01-000000-0001_idempotency_leases",
);

/// The migration of the [outbox](crate::outbox) for MySQL and MariaDB.
pub const FILES_OUTBOX_MYSQL: &[MigrationFile] = files!("mysql":
    "2026-01-01-000000-0100_idempotency_outbox",
);

/// The migration of the [inbox](crate::inbox) for MySQL and MariaDB.
pub const FILES_INBOX_MYSQL: &[MigrationFile] = files!("mysql":
    "2026-01-01-000000-0200_idempotency_inbox",
);

/// The migrations for SQLite, oldest first.
pub const FILES_SQLITE: &[MigrationFile] = files!("sqlite":
    "2026-01-01-000000-0000_idempotency_keys",
    "2026-01-01-000000-0001_idempotency_leases",
);

/// The migration of the [outbox](crate::outbox) for SQLite.
pub const FILES_OUTBOX_SQLITE: &[MigrationFile] = files!("sqlite":
    "2026-01-01-000000-0100_idempotency_outbox",
);

/// The migration of the [inbox](crate::inbox) for SQLite.
pub const FILES_INBOX_SQLITE: &[MigrationFile] = files!("sqlite":
    "2026-01-01-000000-0200_idempotency_inbox",
);

/// The migrations of one backend, as a source for diesel's harness.
pub struct Embedded<DB> {
    files: &'static [MigrationFile],
    backend: PhantomData<fn() -> DB>,
}

/// The migrations for PostgreSQL.
///
/// An asynchronous connection goes through `AsyncMigrationHarness`. It blocks the thread it is on,
/// which the runtime of `#[actix_web::main]` refuses: give it a runtime of its own on a thread of its
/// own, before the server starts.
///
/// ```no_run
/// use diesel_async::{AsyncConnection, AsyncMigrationHarness, AsyncPgConnection};
/// use diesel_migrations::MigrationHarness;
///
/// type Error = Box<dyn std::error::Error + Send + Sync>;
///
/// fn migrate(database_url: &str) -> Result<(), Error> {
///     let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
///     runtime.block_on(async {
///         let conn = AsyncPgConnection::establish(database_url).await?;
///         let mut harness = AsyncMigrationHarness::new(conn);
///         harness.run_pending_migrations(idem_runtime::migrations::postgres())?;
///         Ok(())
///     })
/// }
///
/// std::thread::spawn(|| migrate("postgres://localhost/orders")).join().expect("no panic")?;
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "postgres")]
#[must_use]
pub fn postgres() -> Embedded<diesel::pg::Pg> {
    Embedded::new(FILES_POSTGRES)
}

/// The migrations for MySQL and MariaDB. As [`postgres`], through `AsyncMigrationHarness`.
///
/// These databases commit each change of a table by itself: a migration that was interrupted may be there in
/// part.
#[cfg(feature = "mysql")]
#[must_use]
pub fn mysql() -> Embedded<diesel::mysql::Mysql> {
    Embedded::new(FILES_MYSQL)
}

/// The migrations for SQLite.
///
/// ```no_run
/// use diesel::{Connection, SqliteConnection};
/// use diesel_migrations::MigrationHarness;
///
/// let mut conn = SqliteConnection::establish("orders.db")?;
/// conn.run_pending_migrations(idem_runtime::migrations::sqlite())?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[cfg(feature = "sqlite")]
#[must_use]
pub fn sqlite() -> Embedded<diesel::sqlite::Sqlite> {
    Embedded::new(FILES_SQLITE)
}

/// The migration of the [outbox](crate::outbox) for PostgreSQL, for who uses it.
#[cfg(feature = "postgres")]
#[must_use]
pub fn outbox_postgres() -> Embedded<diesel::pg::Pg> {
    Embedded::new(FILES_OUTBOX_POSTGRES)
}

/// The migration of the [outbox](crate::outbox) for MySQL and MariaDB, for who uses it.
#[cfg(feature = "mysql")]
#[must_use]
pub fn outbox_mysql() -> Embedded<diesel::mysql::Mysql> {
    Embedded::new(FILES_OUTBOX_MYSQL)
}

/// The migration of the [outbox](crate::outbox) for SQLite, for who uses it.
#[cfg(feature = "sqlite")]
#[must_use]
pub fn outbox_sqlite() -> Embedded<diesel::sqlite::Sqlite> {
    Embedded::new(FILES_OUTBOX_SQLITE)
}

/// The migration of the [inbox](crate::inbox) for PostgreSQL, for who uses it.
#[cfg(feature = "postgres")]
#[must_use]
pub fn inbox_postgres() -> Embedded<diesel::pg::Pg> {
    Embedded::new(FILES_INBOX_POSTGRES)
}

/// The migration of the [inbox](crate::inbox) for MySQL and MariaDB, for who uses it.
#[cfg(feature = "mysql")]
#[must_use]
pub fn inbox_mysql() -> Embedded<diesel::mysql::Mysql> {
    Embedded::new(FILES_INBOX_MYSQL)
}

/// The migration of the [inbox](crate::inbox) for SQLite, for who uses it.
#[cfg(feature = "sqlite")]
#[must_use]
pub fn inbox_sqlite() -> Embedded<diesel::sqlite::Sqlite> {
    Embedded::new(FILES_INBOX_SQLITE)
}

impl<DB> Embedded<DB> {
    #[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
    fn new(files: &'static [MigrationFile]) -> Self {
        let backend = PhantomData;
        Self { files, backend }
    }
}

impl<DB> fmt::Debug for Embedded<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.files.iter().map(|file| file.name);
        f.debug_list().entries(names).finish()
    }
}

impl<DB: Backend> MigrationSource<DB> for Embedded<DB> {
    fn migrations(&self) -> Result<Vec<Box<dyn Migration<DB>>>> {
        let boxed = |file| Box::new(Step(file)) as Box<dyn Migration<DB>>;
        Ok(self.files.iter().map(boxed).collect())
    }
}

/// One migration in the eyes of diesel's harness, and its own name and metadata.
struct Step(&'static MigrationFile);

/// A migration that the database refused.
#[derive(Debug, thiserror::Error)]
#[error("migration {name}: {source}")]
struct Refused {
    name: &'static str,
    source: diesel::result::Error,
}

impl Step {
    fn execute<DB: Backend>(&self, conn: &mut dyn BoxableConnection<DB>, sql: &str) -> Result<()> {
        let name = self.0.name;
        conn.batch_execute(sql)
            .map_err(|source| Refused { name, source }.into())
    }
}

impl<DB: Backend> Migration<DB> for Step {
    fn run(&self, conn: &mut dyn BoxableConnection<DB>) -> Result<()> {
        self.execute(conn, self.0.up)
    }

    fn revert(&self, conn: &mut dyn BoxableConnection<DB>) -> Result<()> {
        self.execute(conn, self.0.down)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        self
    }
}

/// In a transaction, which is the default.
impl MigrationMetadata for Step {}

impl MigrationName for Step {
    /// What diesel makes of a directory with this name: the part before the first `_`, without `-`.
    fn version(&self) -> MigrationVersion<'_> {
        let version = self.0.name.split('_').next().unwrap_or_default();
        version.replace('-', "").into()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

#[cfg(test)]
mod tests {
    //! No migration is forgotten, none is misnamed, and the harness sees what diesel would see.

    use super::*;

    #[track_caller]
    fn are_all_listed(backend: &str, files: &[&[MigrationFile]]) {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        let mut names: Vec<_> = std::fs::read_dir(format!("{root}/{backend}"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let listed: Vec<_> = files.concat().iter().map(|file| file.name).collect();
        assert_eq!(listed, names);
    }

    #[test]
    fn every_directory_is_listed_in_order() {
        let postgres = [FILES_POSTGRES, FILES_OUTBOX_POSTGRES, FILES_INBOX_POSTGRES];
        are_all_listed("postgres", &postgres);
        let mysql = [FILES_MYSQL, FILES_OUTBOX_MYSQL, FILES_INBOX_MYSQL];
        are_all_listed("mysql", &mysql);
        let sqlite = [FILES_SQLITE, FILES_OUTBOX_SQLITE, FILES_INBOX_SQLITE];
        are_all_listed("sqlite", &sqlite);
    }

    #[test]
    fn nothing_names_a_schema() {
        let files = [FILES_POSTGRES, FILES_OUTBOX_POSTGRES, FILES_INBOX_POSTGRES];
        for file in files.concat() {
            assert!(!file.up.contains("public."), "{}", file.name);
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_version_is_what_diesel_reads_from_the_name() {
        let migrations = postgres().migrations().unwrap();
        let name = migrations[0].name();
        assert_eq!(name.to_string(), "2026-01-01-000000-0000_idempotency_keys");
        assert_eq!(name.version(), "202601010000000000".into());
        assert!(migrations[0].metadata().run_in_transaction());
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn sqlite_goes_up_and_down_and_up() {
        use diesel::connection::SimpleConnection;
        use diesel::{Connection, SqliteConnection};

        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        let sources = [sqlite(), outbox_sqlite(), inbox_sqlite()];
        let sources = sources.iter().map(|source| source.migrations().unwrap());
        let migrations: Vec<_> = sources.flatten().collect();
        for _ in 0..2 {
            for migration in &migrations {
                migration.run(&mut conn).unwrap();
                let again = migration.run(&mut conn).unwrap_err().to_string();
                assert!(
                    again.starts_with(&format!("migration {}: ", migration.name())),
                    "{again}"
                );
            }
            conn.batch_execute("SELECT id, unresolved FROM idempotency_keys")
                .unwrap();
            for migration in migrations.iter().rev() {
                migration.revert(&mut conn).unwrap();
                migration.revert(&mut conn).unwrap_err();
            }
            conn.batch_execute("SELECT id FROM idempotency_keys")
                .unwrap_err();
        }
    }
}
