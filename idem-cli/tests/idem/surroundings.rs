//! What the surroundings say where the command line says nothing.

use std::fs;

use crate::common::{Said, command};
use idem_tests::Backend;
use tempfile::tempdir;

use crate::common::place::Place;

const NAME: &str = "2026-01-01-000000-0000_idempotency_keys";

#[test]
fn the_database_decides_the_backend() {
    for (url, word) in [
        ("postgres://localhost/orders", "timestamptz"),
        ("postgresql://localhost/orders", "timestamptz"),
        ("mysql://localhost/orders", "InnoDB"),
        ("sqlite://orders.db", "BLOB"),
        ("orders.db", "BLOB"),
    ] {
        let project = tempdir().unwrap();
        let mut generate = command(project.path(), &["migration", "generate"]);
        Said::of(generate.env("DATABASE_URL", url).output().unwrap()).done();
        let up = project.path().join("migrations").join(NAME).join("up.sql");
        assert!(fs::read_to_string(up).unwrap().contains(word), "{url}");
        // And so does `.env`, also that of a directory above; the command line outdoes both.
        let other = tempdir().unwrap();
        fs::create_dir(other.path().join("inside")).unwrap();
        fs::write(other.path().join(".env"), format!("DATABASE_URL={url}\n")).unwrap();
        let inside = other.path().join("inside");
        Said::of(
            command(&inside, &["migration", "generate"])
                .output()
                .unwrap(),
        )
        .done();
        let up = inside.join("migrations").join(NAME).join("up.sql");
        assert!(fs::read_to_string(&up).unwrap().contains(word), "{url}");
        let args = [
            "migration",
            "generate",
            "--backend",
            "sqlite",
            "--dir",
            "given",
        ];
        Said::of(command(&inside, &args).output().unwrap()).done();
        let up = inside.join("given").join(NAME).join("up.sql");
        assert!(fs::read_to_string(&up).unwrap().contains("BLOB"), "{url}");
    }
}

#[test]
fn diesel_toml_decides_the_directory() {
    let project = tempdir().unwrap();
    let config = "[print_schema]\nfile = \"src/schema.rs\"\n[migrations_directory]\ndir = \"db/migrations\"\n";
    fs::write(project.path().join("diesel.toml"), config).unwrap();
    fs::create_dir_all(project.path().join("src/bin")).unwrap();
    for from in [".", "src/bin"] {
        let args = [
            "migration",
            "generate",
            "--backend",
            "sqlite",
            "--with",
            "outbox,steps",
        ];
        let said = Said::of(command(&project.path().join(from), &args).output().unwrap()).done();
        assert!(
            said.out.contains("have no table of their own"),
            "{}",
            said.out
        );
        assert!(
            project
                .path()
                .join("db/migrations")
                .join(NAME)
                .join("up.sql")
                .is_file()
        );
        assert!(!project.path().join(from).join("migrations").exists());
    }
    let args = ["migration", "generate", "--backend", "sqlite"];
    let mut generate = command(project.path(), &args);
    Said::of(
        generate
            .env("MIGRATION_DIRECTORY", "elsewhere")
            .output()
            .unwrap(),
    )
    .done();
    assert!(project.path().join("elsewhere").join(NAME).is_dir());

    fs::write(
        project.path().join("diesel.toml"),
        "[migrations_directory\n",
    )
    .unwrap();
    let said = Said::of(command(project.path(), &args).output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("diesel.toml"), "{}", said.err);
}

#[actix_web::test]
async fn the_environment_names_the_database() {
    let place = Place::fresh(Backend::Sqlite).await;
    let url = place.database.url();
    let mut doctor = command(place.path(), &["doctor"]);
    Said::of(doctor.env("DATABASE_URL", url).output().unwrap()).done();
    fs::write(
        place.path().join(".env"),
        format!("OTHER=1\nDATABASE_URL=\"{url}\"\n"),
    )
    .unwrap();
    Said::of(command(place.path(), &["doctor"]).output().unwrap()).done();
    // An empty one is as none, and hides `.env`, as it does for diesel.
    let mut doctor = command(place.path(), &["doctor"]);
    assert_eq!(
        Said::of(doctor.env("DATABASE_URL", "").output().unwrap()).code,
        2
    );
    let broken = "OTHER=secret with \"room\n";
    fs::write(place.path().join(".env"), broken).unwrap();
    let said = Said::of(command(place.path(), &["doctor"]).output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("cannot be read"), "{}", said.err);
    assert!(!said.err.contains("secret"), "{}", said.err);
    place.discard().await;
}
