//! `idem migration generate` adds what is missing, overwrites nothing, and says what it did.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::common::{generate, idem};
use idem_runtime::migrations::{
    FILES_INBOX_POSTGRES, FILES_INBOX_SQLITE, FILES_MYSQL, FILES_OUTBOX_POSTGRES,
    FILES_OUTBOX_SQLITE, FILES_POSTGRES, FILES_SQLITE, MigrationFile,
};
use tempfile::tempdir;

const NAME: &str = "2026-01-01-000000-0000_idempotency_keys";

/// Every file below the directory with its text and the time of its last change, hidden ones included.
fn files(dir: &Path) -> Vec<(PathBuf, String, SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            let changed = path.metadata().unwrap().modified().unwrap();
            found.push((path.clone(), fs::read_to_string(path).unwrap(), changed));
        }
    }
    found.sort();
    found
}

/// What the directory must hold, and nothing else.
fn expected(dir: &Path, migrations: &[MigrationFile]) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for migration in migrations {
        let home = dir.join(migration.name);
        files.push((home.join("down.sql"), migration.down.to_owned()));
        files.push((home.join("up.sql"), migration.up.to_owned()));
    }
    files
}

fn texts(dir: &Path) -> Vec<(PathBuf, String)> {
    let files = files(dir).into_iter();
    files.map(|(path, text, _)| (path, text)).collect()
}

#[test]
fn the_first_run_writes_and_the_second_writes_nothing() {
    let all = [
        ("postgres", FILES_POSTGRES),
        ("mysql", FILES_MYSQL),
        ("sqlite", FILES_SQLITE),
    ];
    for (backend, migrations) in all {
        let project = tempdir().unwrap();
        let dir = project.path().join("migrations");

        let said = generate(project.path(), &["--backend", backend]);
        assert_eq!(texts(&dir), expected(&dir, migrations));
        assert_eq!(
            said.matches("created").count(),
            2 * migrations.len(),
            "{said}"
        );
        assert!(
            said.contains(&format!("migrations/{NAME}/up.sql")),
            "{said}"
        );

        let before = files(&dir);
        let said = generate(project.path(), &["--backend", backend]);
        assert_eq!(files(&dir), before);
        assert_eq!(
            said.matches("unchanged").count(),
            2 * migrations.len(),
            "{said}"
        );
        assert!(!said.contains("created"), "{said}");
    }
}

#[test]
fn the_parts_that_are_wanted_are_added() {
    let all = [
        (
            "postgres",
            FILES_POSTGRES,
            FILES_OUTBOX_POSTGRES,
            FILES_INBOX_POSTGRES,
        ),
        (
            "sqlite",
            FILES_SQLITE,
            FILES_OUTBOX_SQLITE,
            FILES_INBOX_SQLITE,
        ),
    ];
    for (backend, keys, outbox, inbox) in all {
        let project = tempdir().unwrap();
        let dir = project.path().join("migrations");
        generate(project.path(), &["--backend", backend, "--with", "outbox"]);
        assert_eq!(texts(&dir), expected(&dir, &[keys, outbox].concat()));
        let both = ["--backend", backend, "--with", "outbox,inbox"];
        generate(project.path(), &both);
        assert_eq!(texts(&dir), expected(&dir, &[keys, outbox, inbox].concat()));
    }
}

#[test]
fn another_directory_is_created_with_its_parents() {
    let project = tempdir().unwrap();
    generate(
        project.path(),
        &["--backend", "sqlite", "--dir", "db/sqlite/migrations"],
    );
    let dir = project.path().join("db/sqlite/migrations");
    assert_eq!(texts(&dir), expected(&dir, FILES_SQLITE));
    assert!(!project.path().join("migrations").exists());
}

#[test]
fn what_is_missing_is_added_and_what_is_there_is_kept() {
    let project = tempdir().unwrap();
    let dir = project.path().join("migrations");
    fs::create_dir_all(dir.join("2020-01-01-000000_users")).unwrap();
    fs::write(dir.join("2020-01-01-000000_users/up.sql"), "SELECT 1;").unwrap();
    fs::create_dir_all(dir.join(NAME)).unwrap();
    fs::write(dir.join(NAME).join("up.sql"), "SELECT 2;").unwrap();

    let output = idem(
        project.path(),
        &["migration", "generate", "--backend", "sqlite"],
    );
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("created") && said.contains("down.sql"),
        "{said}"
    );
    assert!(!said.contains(&format!("{NAME}/up.sql")), "{said}");
    let kept = format!("kept, differs: migrations/{NAME}/up.sql");
    assert!(complaint.contains(&kept), "{complaint}");

    let text = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
    assert_eq!(text("2020-01-01-000000_users/up.sql"), "SELECT 1;");
    assert_eq!(text(&format!("{NAME}/up.sql")), "SELECT 2;");
    assert_eq!(text(&format!("{NAME}/down.sql")), FILES_SQLITE[0].down);
    for migration in &FILES_SQLITE[1..] {
        assert_eq!(text(&format!("{}/up.sql", migration.name)), migration.up);
    }
}

#[test]
fn line_endings_are_no_difference() {
    let project = tempdir().unwrap();
    generate(project.path(), &["--backend", "sqlite"]);
    let path = project.path().join("migrations").join(NAME).join("up.sql");
    let checked_out = FILES_SQLITE[0].up.replace('\n', "\r\n");
    fs::write(&path, &checked_out).unwrap();
    generate(project.path(), &["--backend", "sqlite"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), checked_out);
}

#[test]
fn a_migration_of_the_same_version_is_not_doubled() {
    let project = tempdir().unwrap();
    let dir = project.path().join("migrations");
    let renamed = dir.join("20260101000000-0000_keys");
    fs::create_dir_all(&renamed).unwrap();
    fs::write(renamed.join("up.sql"), "SELECT 1;").unwrap();

    let output = idem(
        project.path(),
        &["migration", "generate", "--backend", "sqlite"],
    );
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.contains(NAME) && complaint.contains("20260101000000-0000_keys"),
        "{complaint}"
    );
    let mut others = expected(&dir, &FILES_SQLITE[1..]);
    others.push((renamed.join("up.sql"), "SELECT 1;".to_owned()));
    others.sort();
    assert_eq!(texts(&dir), others);
}

#[test]
fn many_at_once_agree() {
    let project = tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| generate(project.path(), &["--backend", "postgres"]));
        }
    });
    let dir = project.path().join("migrations");
    assert_eq!(texts(&dir), expected(&dir, FILES_POSTGRES));
}

#[test]
fn what_cannot_be_done_is_said_with_its_path() {
    let project = tempdir().unwrap();
    fs::write(project.path().join("file"), "").unwrap();
    fs::create_dir_all(project.path().join("odd").join(NAME).join("up.sql")).unwrap();
    fs::create_dir_all(project.path().join("blocked")).unwrap();
    fs::write(project.path().join("blocked").join(NAME), "").unwrap();

    for (dir, path) in [
        ("file", "file".to_owned()),
        ("file/migrations", "file/migrations".to_owned()),
        ("odd", format!("odd/{NAME}/up.sql")),
        ("blocked", format!("blocked/{NAME}")),
    ] {
        let options = ["migration", "generate", "--backend", "sqlite", "--dir", dir];
        let output = idem(project.path(), &options);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.starts_with("idem: cannot "), "{complaint}");
        assert!(complaint.contains(&path), "{complaint}");
    }
}

#[test]
fn a_wrong_command_line_is_explained() {
    let project = tempdir().unwrap();
    for (args, hint) in [
        (
            &["migration", "generate", "--backend", "oracle"][..],
            "postgres, mysql, sqlite",
        ),
        (&["migration", "generate"], "--backend"),
        (
            &[
                "migration",
                "generate",
                "--backend",
                "sqlite",
                "--with",
                "x",
            ],
            "outbox, inbox, steps",
        ),
        (&["migration"], "generate"),
        (&[], "migration"),
    ] {
        let output = idem(project.path(), args);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(hint), "{complaint}");
    }
    assert_eq!(files(project.path()), []);
}

#[cfg(unix)]
#[test]
fn the_files_have_the_rights_of_any_other_file() {
    use std::os::unix::fs::PermissionsExt;

    let project = tempdir().unwrap();
    generate(project.path(), &["--backend", "sqlite"]);
    let other = project.path().join("other");
    fs::write(&other, "").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    let up = project.path().join("migrations").join(NAME).join("up.sql");
    assert_eq!(mode(&up), mode(&other));
}
