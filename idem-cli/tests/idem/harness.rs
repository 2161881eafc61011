//! What `idem migration generate` writes is what diesel reads, and is the same as what is embedded.

use crate::common::generate;
use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel::{Connection, SqliteConnection};
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use idem_runtime::migrations::{postgres, sqlite};
use tempfile::{TempDir, tempdir};

fn written(backend: &str) -> (TempDir, FileBasedMigrations) {
    let project = tempdir().unwrap();
    generate(project.path(), &["--backend", backend]);
    let source = FileBasedMigrations::from_path(project.path().join("migrations")).unwrap();
    (project, source)
}

fn versions<DB: Backend>(source: &dyn MigrationSource<DB>) -> Vec<(String, String)> {
    let migrations = source.migrations().unwrap();
    let names = migrations.iter().map(|migration| migration.name());
    let mut versions: Vec<_> = names
        .map(|name| (name.version().to_string(), name.to_string()))
        .collect();
    versions.sort();
    versions
}

#[test]
fn written_and_embedded_versions_are_the_same() {
    let (_project, source) = written("postgres");
    assert_eq!(versions::<Pg>(&source), versions(&postgres()));
    let (_project, source) = written("sqlite");
    assert_eq!(versions::<Sqlite>(&source), versions(&sqlite()));
}

#[test]
fn written_migrations_run_and_revert() {
    let (_project, source) = written("sqlite");
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    let ran = conn.run_pending_migrations(source.clone()).unwrap().len();
    assert_eq!(ran, versions(&sqlite()).len());
    conn.batch_execute("SELECT scope, key FROM idempotency_keys")
        .unwrap();
    conn.revert_all_migrations(source).unwrap();
    conn.batch_execute("SELECT scope, key FROM idempotency_keys")
        .unwrap_err();
}

#[test]
fn an_application_may_change_from_one_way_to_the_other() {
    let (_project, source) = written("sqlite");
    let mut conn = SqliteConnection::establish(":memory:").unwrap();

    conn.run_pending_migrations(source.clone()).unwrap();
    assert!(!conn.has_pending_migration(sqlite()).unwrap());
    conn.revert_all_migrations(sqlite()).unwrap();

    conn.run_pending_migrations(sqlite()).unwrap();
    assert!(!conn.has_pending_migration(source.clone()).unwrap());
    conn.revert_all_migrations(source).unwrap();
}
