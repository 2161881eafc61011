//! The rooms of the code keep their rules, and what must be written once is written once. Reads files only.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// A file, or all files below a directory, and what never stands in its code.
struct Room {
    path: &'static str,
    never: &'static [&'static str],
    because: &'static str,
}

const SQL: &[&str] = &[
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE ",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "sql_query",
];
/// Words of one backend.
const DIALECT: &[&str] = &[
    "diesel::pg",
    "diesel::sqlite",
    "clock_timestamp",
    "interval",
    "::uuid",
    "strftime",
    "julianday",
    "SKIP LOCKED",
];
const OUTSIDE: &[&str] = &[
    "tokio",
    "diesel",
    "SystemTime",
    "Instant",
    "std::fs",
    "std::net",
    "std::env",
];

const ROOMS: &[Room] = &[
    Room {
        path: "idem-runtime/src",
        never: &["SystemTime", "chrono::"],
        because: "times are the database's, and the process measures lengths only",
    },
    Room {
        path: "idem-macros/src/args.rs",
        never: &["quote!"],
        because: "it parses",
    },
    Room {
        path: "idem-macros/src/handler.rs",
        never: &["quote!"],
        because: "it judges",
    },
    Room {
        path: "idem-macros/src/modes.rs",
        never: &["quote!", "Signature", "as_millis"],
        because: "it judges which options go together",
    },
    Room {
        path: "idem-macros/src/lengths.rs",
        never: &["quote!", "Signature"],
        because: "it judges lengths of time",
    },
    Room {
        path: "idem-macros/src/expand.rs",
        never: &["Result<", ".unwrap()"],
        because: "generation cannot fail",
    },
    Room {
        path: "idem-runtime/src/private.rs",
        never: &["if ", "match ", "loop ", "while ", ".await"],
        because: "it is a door, without logic",
    },
    Room {
        path: "idem-runtime/src/run.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/run.rs",
        never: &["Bytes"],
        because: "body bytes are the body's",
    },
    Room {
        path: "idem-runtime/src/claim.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/reach.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/attempt.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/supervise.rs",
        never: &["HttpResponse", "Problem"],
        because: "what an outcome means is decided elsewhere",
    },
    Room {
        path: "idem-runtime/src/lease",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/lease/mod.rs",
        never: &["Bytes"],
        because: "body bytes are the body's",
    },
    Room {
        path: "idem-runtime/src/lease/heartbeat.rs",
        never: &["Http", "Operation<", "Problem"],
        because: "it renews, and decides nothing about operations",
    },
    Room {
        path: "idem-runtime/src/lease/steps/log.rs",
        never: OUTSIDE,
        because: "a log is a pure value",
    },
    Room {
        path: "idem-runtime/src/workers",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/workers/completion.rs",
        never: &["take_over", "release"],
        because: "what a retry may do is decided where clients' retries are",
    },
    Room {
        path: "idem-runtime/src/outbox",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/outbox/places.rs",
        never: OUTSIDE,
        because: "a place is a pure value",
    },
    Room {
        path: "idem-runtime/src/inbox.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/inspect.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/store/inspect.rs",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/inspect.rs",
        never: &["INSERT ", "UPDATE ", "DELETE ", "C::execute"],
        because: "it only looks",
    },
    Room {
        path: "idem-cli/src",
        never: &["idem_runtime::private", "INSERT ", "UPDATE ", "DELETE "],
        because: "what changes our tables is the store's",
    },
    Room {
        path: "idem-cli/src/doctor",
        never: SQL,
        because: "the catalogs and the store are asked elsewhere",
    },
    Room {
        path: "idem-cli/src/catalog",
        never: &["Finding", "Verdict"],
        because: "a catalog says what is, and judges nothing",
    },
    Room {
        path: "idem-cli/src/check",
        never: &["idem_runtime", "diesel", "crate::database"],
        because: "it knows of a server what that answers",
    },
    Room {
        path: "idem-cli/src/check/checks",
        never: &["hyper::client", "TcpStream", "hyper::Request"],
        because: "how a request is sent is the wire's",
    },
    Room {
        path: "tests/src/broken",
        never: &["idem_runtime"],
        because: "what is written by hand owes nothing to the runtime",
    },
    Room {
        path: "idem-runtime/src/status.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/testing",
        never: SQL,
        because: "it sees what a client and the application's own count see",
    },
    Room {
        path: "idem-runtime/src/telemetry",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/transaction",
        never: &["idempotency_keys"],
        because: "tables are the store's",
    },
    Room {
        path: "idem-runtime/src/store",
        never: &["actix_web"],
        because: "a store knows no HTTP",
    },
    Room {
        path: "idem-runtime/src/store/lease.rs",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/lease",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/outbox.rs",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/outbox",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/inbox.rs",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/statement.rs",
        never: DIALECT,
        because: "what one backend alone says is the backend's",
    },
    Room {
        path: "idem-runtime/src/store/statement.rs",
        never: SQL,
        because: "it does not know what a statement is for",
    },
    Room {
        path: "idem-runtime/src/store/prune.rs",
        never: SQL,
        because: "SQL is the backend's",
    },
    Room {
        path: "idem-runtime/src/response.rs",
        never: SQL,
        because: "SQL is the store's",
    },
    Room {
        path: "idem-runtime/src/horizon.rs",
        never: OUTSIDE,
        because: "a horizon is a pure value",
    },
    Room {
        path: "idem-runtime/src/key.rs",
        never: OUTSIDE,
        because: "a key is a pure value",
    },
    Room {
        path: "idem-runtime/src/scope.rs",
        never: OUTSIDE,
        because: "a scope is a pure value",
    },
    Room {
        path: "idem-runtime/src/fingerprint.rs",
        never: OUTSIDE,
        because: "a fingerprint is a pure value",
    },
    Room {
        path: "idem-runtime/src/canonical.rs",
        never: OUTSIDE,
        because: "a canonical form is a pure value",
    },
    Room {
        path: "idem-runtime/src/outbox/webhook/signature.rs",
        never: OUTSIDE,
        because: "a signature is a pure value",
    },
    Room {
        path: "idem-runtime/src/digest.rs",
        never: OUTSIDE,
        because: "a digest is a pure value",
    },
    Room {
        path: "idem-runtime/src/policy.rs",
        never: OUTSIDE,
        because: "a policy is a pure value",
    },
    Room {
        path: "idem-runtime/src/describe.rs",
        never: OUTSIDE,
        because: "a description is a pure value",
    },
    Room {
        path: "idem-runtime/src/openapi",
        never: OUTSIDE,
        because: "a document is made of policies and settings alone",
    },
    Room {
        path: "idem-runtime/src/openapi/place.rs",
        never: &["insert(", "push_str", "Problem"],
        because: "it looks, and writes nothing",
    },
    Room {
        path: "idem-runtime/src/problem.rs",
        never: SQL,
        because: "an answer holds no SQL",
    },
    Room {
        path: "idem-client",
        never: &["idem_runtime", "idem_macros"],
        because: "it is for any server that follows the draft",
    },
    Room {
        path: "idem-client/src/verdict.rs",
        never: OUTSIDE,
        because: "a verdict is a pure function",
    },
    Room {
        path: "idem-client/src/course.rs",
        never: &["SystemTime", "fastrand", "sleep"],
        because: "the time and the random number are given",
    },
    Room {
        path: "tests/src",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/brokers",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/client",
        never: &["idem_runtime"],
        because: "what is tested is what a client sees",
    },
    Room {
        path: "tests/tests/contract",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/failover",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/openapi",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/settings",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/tests/testing",
        never: &["idem_runtime::private"],
        because: "tests use the public API",
    },
    Room {
        path: "tests/model",
        never: &["idem_runtime", "idem_macros"],
        because: "a model is an independent statement",
    },
    Room {
        path: "examples",
        never: &["idem_macros", "idem_runtime::private"],
        because: "an example is what a user writes",
    },
    Room {
        path: "benches",
        never: &["idem_macros", "idem_runtime::private"],
        because: "what is measured is what a user has",
    },
    Room {
        path: "torture",
        never: &["idem_macros", "idem_runtime::private"],
        because: "it sees what a client and an operator see",
    },
    Room {
        path: "torture/src/check",
        never: OUTSIDE,
        because: "a verdict depends on the history and the tables alone",
    },
    Room {
        path: "torture/src/workloads",
        never: OUTSIDE,
        because: "what is asked for depends on the seed alone",
    },
    Room {
        path: "xtask",
        never: &["idem_runtime", "idem_macros"],
        because: "xtask is not product code",
    },
];

/// A file, and the word that may stand in it all the same.
const EXCEPTIONS: &[(&str, &str)] = &[
    // A receiver compares the timestamp of a signed webhook with its own clock, not with our database's.
    ("idem-runtime/src/outbox/webhook.rs", "SystemTime"),
];

/// Everywhere below these are sources of ours. Below `tests/ui` stand programs that are wrong on purpose.
const SOURCES: &[&str] = &[
    "idem-macros",
    "idem-runtime",
    "idem-cli",
    "idem-client",
    "examples",
    "tests/src",
    "tests/tests",
    "tests/model",
    "benches",
    "torture",
    "xtask",
];

const MEMBERS: &[&str] = &[
    "idem-macros",
    "idem-runtime",
    "idem-cli",
    "idem-client",
    "examples/legacy",
    "examples/orders",
    "tests",
    "tests/model",
    "benches",
    "torture",
    "xtask",
];

const LONGEST_FILE: usize = 400;

#[test]
fn every_source_file_opens_with_its_purpose() {
    for (path, text) in sources(SOURCES) {
        assert!(
            text.starts_with("//! "),
            "{} does not say what lives there",
            path.display()
        );
    }
}

#[test]
fn no_product_file_is_too_long_to_read() {
    for (path, text) in sources(&[
        "idem-macros/src",
        "idem-runtime/src",
        "idem-cli/src",
        "idem-client/src",
        "examples",
        "benches",
        "tests/model",
        "torture",
        "xtask",
    ]) {
        let length = text.lines().count();
        assert!(
            length <= LONGEST_FILE,
            "{} has {length} lines",
            path.display()
        );
    }
}

#[test]
fn no_room_breaks_its_rule() {
    for room in ROOMS {
        let files = sources(&[room.path]);
        assert!(
            !files.is_empty(),
            "there is no {}; change the table here with the rooms",
            room.path
        );
        for (path, text) in files {
            for (number, line) in code(&text) {
                let is_allowed = |word: &str| {
                    let mut exceptions = EXCEPTIONS.iter();
                    exceptions.any(|(file, allowed)| path.ends_with(file) && *allowed == word)
                };
                let mut words = room.never.iter();
                let broken = words.find(|word| line.contains(**word) && !is_allowed(word));
                assert!(
                    broken.is_none(),
                    "{}:{number} has {:?}: {}\n{line}",
                    path.display(),
                    broken.unwrap(),
                    room.because
                );
            }
        }
    }
}

#[test]
fn generated_code_uses_one_door() {
    for (path, text) in sources(&["idem-macros/src/expand.rs"]) {
        for (number, line) in code(&text) {
            let outside = line.replace("idem_runtime::private", "");
            assert!(
                !outside.contains("idem_runtime"),
                "{}:{number}: {line}",
                path.display()
            );
        }
    }
}

#[test]
fn nothing_names_a_machine() {
    // In pieces, so that this file does not name one either.
    let machine = [
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("..", "/shared"),
    ];
    let files = MEMBERS.iter().chain(&[
        "migrations",
        "README.md",
        "ARCHITECTURE.md",
        "book",
        "Cargo.toml",
        ".ci",
    ]);
    for (path, text) in files
        .flat_map(|place| files_below(&root().join(place), &["rs", "toml", "sql", "md", "run"]))
    {
        for name in machine {
            assert!(!text.contains(name), "{} contains {name}", path.display());
        }
    }
}

#[test]
fn every_chapter_of_the_book_is_listed_and_compiled() {
    let (listed, compiled) = (read("book/src/SUMMARY.md"), read("tests/src/book.rs"));
    let chapters: Vec<_> = files_below(&root().join("book/src"), &["md"])
        .into_iter()
        .filter(|(path, _)| !path.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed.matches("](").count(), chapters.len());
    for (path, _) in chapters {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        assert!(
            listed.contains(&format!("]({name})")),
            "{name} is not listed"
        );
        assert!(
            compiled.contains(&format!("\"{name}\"")),
            "{name} is not compiled"
        );
    }
}

#[test]
fn versions_are_written_once() {
    let workspace = read("Cargo.toml");
    let version = value(&workspace, "version").unwrap();
    for member in MEMBERS {
        let manifest = read(&format!("{member}/Cargo.toml"));
        for inherited in ["version", "edition", "rust-version", "license"] {
            let line = format!("{inherited}.workspace = true");
            assert!(
                manifest.lines().any(|own| own == line),
                "{member}/Cargo.toml lacks `{line}`"
            );
        }
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{member}/Cargo.toml has lints of its own"
        );
    }
    // A path dependency needs a version to be published; cargo has no way to inherit that one.
    for name in ["idem-client", "idem-macros", "idem-runtime"] {
        let line = workspace
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")))
            .unwrap();
        assert!(line.contains(&format!("\"={version}\"")), "{line}");
    }
}

#[test]
fn one_toolchain() {
    let toolchain = read("rust-toolchain.toml");
    let channel = value(&toolchain, "channel").unwrap();
    let oldest = value(&read("Cargo.toml"), "rust-version").unwrap();
    assert_eq!(
        channel.rsplit_once('.').unwrap().0,
        oldest,
        "rust-toolchain.toml and rust-version differ"
    );
}

#[test]
fn every_migration_can_be_undone_and_is_on_every_backend() {
    let versions = |backend: &str| -> Vec<String> {
        let directory = root().join("migrations").join(backend);
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .inspect(|path| {
                for file in ["up.sql", "down.sql"] {
                    assert!(path.join(file).is_file(), "{} lacks {file}", path.display());
                }
            })
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(versions("postgres"), versions("sqlite"));
}

/// What may name the cfg under which the runtime is wrong on purpose: where it is defined, declared and set, and what
/// is told about it.
const SEEDED: &[&str] = &[
    "Cargo.toml",
    "idem-runtime/src/defects.rs",
    "tests/tests/tidy.rs",
    "xtask/src/torture.rs",
];

#[test]
fn seeded_defects_are_in_no_other_build() {
    let places = MEMBERS
        .iter()
        .chain(&["Cargo.toml", "fuzz", ".cargo", ".ci"]);
    for (path, text) in
        places.flat_map(|place| files_below(&root().join(place), &["rs", "toml", "run"]))
    {
        let path = path.strip_prefix(root()).unwrap();
        let may = SEEDED.iter().any(|place| path == Path::new(place));
        assert!(
            may || !text.contains("idem_defects"),
            "{} names the cfg of seeded defects",
            path.display()
        );
    }
}

#[test]
fn every_seeded_defect_is_somewhere_and_has_a_trial() {
    let text = read("idem-runtime/src/defects.rs");
    let (_, variants) = text.split_once("enum Defect {").unwrap();
    let (variants, _) = variants.split_once('}').unwrap();
    let variants: Vec<_> = code(variants)
        .filter_map(|(_, line)| line.trim().strip_suffix(','))
        .collect();
    assert!(!variants.is_empty());
    let runtime: String = sources(&["idem-runtime/src"])
        .into_iter()
        .filter(|(path, _)| !path.ends_with("defects.rs"))
        .map(|(_, text)| text)
        .collect();
    let trials = read("torture/src/defects.rs");
    for variant in variants {
        assert!(
            runtime.contains(&format!("is_seeded(Defect::{variant})")),
            "nothing is wrong with {variant}"
        );
        let name = kebab(variant);
        assert!(
            text.contains(&format!("\"{name}\"")),
            "{variant} has no name"
        );
        assert!(
            trials.contains(&format!("\"{name}\"")),
            "{name} has no trial"
        );
    }
}

fn kebab(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .into()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The value of `name = "value"` on a line of its own.
fn value(manifest: &str, name: &str) -> Option<String> {
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
    line.strip_suffix('"').map(String::from)
}

fn sources(places: &[&str]) -> Vec<(PathBuf, String)> {
    places
        .iter()
        .flat_map(|place| files_below(&root().join(place), &["rs"]))
        .collect()
}

fn files_below(path: &Path, endings: &[&str]) -> Vec<(PathBuf, String)> {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        return entries
            .iter()
            .flat_map(|entry| files_below(entry, endings))
            .collect();
    }
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_wanted = endings
        .iter()
        .any(|ending| name.rsplit('.').next() == Some(ending));
    if !is_wanted || !path.is_file() {
        return Vec::new();
    }
    vec![(path.into(), fs::read_to_string(path).unwrap())]
}

/// The lines that are not only a comment, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}
