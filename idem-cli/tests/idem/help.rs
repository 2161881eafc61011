//! What the command says of itself, and its exit codes.

use crate::common::{Said, command, idem};
use tempfile::tempdir;

fn help(args: &[&str]) -> String {
    let dir = tempdir().unwrap();
    Said::of(idem(dir.path(), &[args, &["--help"]].concat()))
        .done()
        .out
}

#[test]
fn every_command_is_explained() {
    let commands: [&[&str]; 14] = [
        &[],
        &["migration", "generate"],
        &["doctor"],
        &["keys"],
        &["keys", "list"],
        &["keys", "show"],
        &["keys", "release"],
        &["keys", "settle"],
        &["prune"],
        &["outbox"],
        &["outbox", "list"],
        &["outbox", "retry"],
        &["outbox", "drop"],
        &["check"],
    ];
    let all = commands.map(|args| {
        let line = [&["idem"], args, &["--help"]].concat().join(" ");
        format!("$ {line}\n\n{}", help(args))
    });
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn no_database_is_exit_code_two() {
    let dir = tempdir().unwrap();
    let secret = "hunter2";
    let urls = [
        format!("postgres://idem:{secret}@127.0.0.1:1/none"),
        format!("mysql://idem:{secret}@127.0.0.1:1/none"),
        format!("oracle://idem:{secret}@127.0.0.1:1/none"),
        format!("host=127.0.0.1 password={secret}"),
        "sqlite://no/such/file".to_owned(),
    ];
    for url in urls {
        for args in [
            &["doctor"][..],
            &["keys", "list"],
            &["prune", "--yes"],
            &["outbox", "list"],
        ] {
            let said = Said::of(
                command(dir.path(), args)
                    .args(["--database-url", &url])
                    .output()
                    .unwrap(),
            );
            assert_eq!(said.code, 2, "{url}: {}", said.err);
            assert!(said.err.starts_with("idem: "), "{}", said.err);
            assert!(!said.err.contains(secret), "{}", said.err);
        }
    }
    let said = Said::of(idem(dir.path(), &["doctor"]));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("DATABASE_URL"), "{}", said.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
