//! A database with the tables that `idem migration generate` writes, and the command on it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use idem_tests::{Backend, Database};
use tempfile::{TempDir, tempdir};

use super::{Said, command, generate};

pub(crate) struct Place {
    pub(crate) database: Database,
    pub(crate) dir: TempDir,
}

/// What `--backend` takes.
pub(crate) fn name(backend: Backend) -> &'static str {
    match backend {
        Backend::Mysql => "mysql",
        Backend::Postgres => "postgres",
        Backend::Sqlite => "sqlite",
    }
}

impl Place {
    /// With all tables.
    pub(crate) async fn fresh(backend: Backend) -> Self {
        let place = Self::empty(backend).await;
        place.migrate("outbox,inbox").await;
        place
    }

    pub(crate) async fn empty(backend: Backend) -> Self {
        let database = Database::fresh(backend).await;
        if backend == Backend::Sqlite {
            // A database that nobody has written to is no file yet.
            database.execute("CREATE TABLE other (id integer)").await;
        }
        let dir = tempdir().unwrap();
        Self { database, dir }
    }

    /// The files in their order, as diesel runs them.
    pub(crate) async fn migrate(&self, with: &str) {
        let backend = name(self.database.backend());
        generate(self.dir.path(), &["--backend", backend, "--with", with]);
        let files = fs::read_dir(self.dir.path().join("migrations")).unwrap();
        let mut files: Vec<_> = files
            .map(|file| file.unwrap().path().join("up.sql"))
            .collect();
        files.sort();
        for file in files {
            self.database
                .execute(&fs::read_to_string(file).unwrap())
                .await;
        }
    }

    /// From now on every question fails that reads steps or bodies: they are those of a view, and cannot be told.
    pub(crate) async fn poison_what_is_long(&self) {
        let (before, key, steps, body) = match self.database.backend() {
            Backend::Postgres => (
                "",
                "key",
                "(SELECT 'a' UNION ALL SELECT 'b')",
                "(SELECT 'a'::bytea UNION ALL SELECT 'b'::bytea)",
            ),
            Backend::Mysql => (
                "CREATE FUNCTION poison() RETURNS longtext DETERMINISTIC \
                 BEGIN SIGNAL SQLSTATE '45000'; RETURN ''; END",
                "`key`",
                "poison()",
                "poison()",
            ),
            Backend::Sqlite => ("", "key", "json('no')", "json('no')"),
        };
        if !before.is_empty() {
            self.database.execute(before).await;
        }
        let rename = "ALTER TABLE idempotency_keys RENAME TO records";
        self.database.execute(rename).await;
        let view = format!(
            "CREATE VIEW idempotency_keys AS SELECT id, scope, {key}, endpoint, fingerprint, status, headers, \
             {body} AS body, recorded_at, expires_at, owner, lease_expires_at, unresolved, {steps} AS steps, \
             request, attempts, next_attempt_at FROM records"
        );
        self.database.execute(&view).await;
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The command on this database, without a terminal.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(self.path(), args);
        command.args(["--database-url", self.database.url()]);
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn idem(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// The same on a terminal, on which somebody types this once they are asked and have done something else.
    pub(crate) fn typed_behind(
        &self,
        args: &[&str],
        answer: &str,
        meanwhile: impl FnOnce(),
    ) -> Said {
        let line = [args, &["--database-url", self.database.url()]].concat();
        typed_on(self.path(), &line, answer, meanwhile)
    }

    pub(crate) fn typed(&self, args: &[&str], answer: &str) -> Said {
        self.typed_behind(args, answer, || {})
    }

    pub(crate) async fn discard(self) {
        self.database.discard().await;
    }
}

/// The command with this line on a terminal, on which somebody types this once they are asked and have done something
/// else.
pub(crate) fn typed_on(dir: &Path, args: &[&str], answer: &str, meanwhile: impl FnOnce()) -> Said {
    let line = [&[env!("CARGO_BIN_EXE_idem")], args].concat();
    let quoted: Vec<_> = line.iter().map(|word| format!("'{word}'")).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &quoted.join(" "), "/dev/null"]);
    script
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let mut out = script.stdout.take().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"[y/N] ") {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).unwrap(), 1, "it did not ask");
        said.extend(byte);
    }
    meanwhile();
    writeln!(script.stdin.as_mut().unwrap(), "{answer}").unwrap();
    out.read_to_end(&mut said).unwrap();
    Said {
        code: script.wait().unwrap().code().unwrap(),
        out: String::from_utf8(said).unwrap(),
        err: String::new(),
    }
}

/// Stamps each `async fn(&Place)` as a test on every backend.
macro_rules! on_each {
    ($($case:ident),+ $(,)?) => {
        on_each! { postgres Postgres $($case)+ }
        on_each! { mysql Mysql $($case)+ }
        on_each! { sqlite Sqlite $($case)+ }
    };
    ($module:ident $backend:ident $($case:ident)+) => {
        mod $module {
            $(#[actix_web::test]
            async fn $case() {
                let place = crate::common::place::Place::fresh(idem_tests::Backend::$backend).await;
                super::$case(&place).await;
                place.discard().await;
            })+
        }
    };
}
pub(crate) use on_each;
