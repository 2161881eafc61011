//! The application before and after, as processes over one database: a retry was a second order, and is none; and the
//! difference is the one that the README shows.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use diesel::connection::{Connection, SimpleConnection};
use diesel::pg::PgConnection;

const BEFORE: &str = include_str!("../src/before.rs");
const AFTER: &str = include_str!("../src/after.rs");
const README: &str = include_str!("../../../README.md");

#[test]
fn a_retry_was_a_second_order_and_is_none() {
    let Ok(server) = env::var("IDEM_TEST_POSTGRES_URL") else {
        eprintln!("IDEM_TEST_POSTGRES_URL names no server: nothing was tested");
        return;
    };
    let name = format!("legacy_{}", std::process::id());
    execute(&server, &format!("CREATE DATABASE {name}"));
    let (base, database) = server.rsplit_once('/').unwrap();
    let settings = database.find('?').map_or("", |start| &database[start..]);
    let url = format!("{base}/{name}{settings}");

    let before = Program::start(env!("CARGO_BIN_EXE_legacy-before"), &url);
    for _ in 0..2 {
        assert_eq!(before.order("ann", "k", "tea").status, 201);
    }
    assert_eq!(before.orders("ann").len(), 2);
    drop(before);

    let after = Program::start(env!("CARGO_BIN_EXE_legacy"), &url);
    let first = after.order("bob", "k", "tea");
    assert_eq!(
        (first.status, first.is_replay()),
        (201, false),
        "{}",
        first.text
    );
    let again = after.order("bob", "k", "tea");
    assert_eq!(
        (again.status, again.is_replay()),
        (201, true),
        "{}",
        again.text
    );
    assert_eq!(again.body(), first.body());
    assert_eq!(after.order("bob", "k", "coffee").status, 422);
    assert_eq!(after.orders("bob").len(), 1);
    // Somebody else's key is another one.
    assert!(!after.order("ann", "k", "tea").is_replay());
    drop(after);
    // Not reached when the test fails: the database stays, to be looked at.
    execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)"));
}

#[test]
fn the_difference_is_the_one_that_the_readme_shows() {
    let difference = difference(BEFORE, AFTER);
    assert!(difference.len() <= 10, "{difference:#?}");
    let (_, shown) = README
        .split_once("```diff\n")
        .expect("a diff in the README");
    let (shown, _) = shown.split_once("```").unwrap();
    let shown: Vec<_> = shown
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    assert_eq!(shown, difference);
}

/// The lines that only one of them has, in their order: a longest common subsequence is what both have.
fn difference(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            common[i][j] = match old == new {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == after.len() || i < before.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(format!("-{}", before[i]));
            i += 1;
        } else {
            lines.push(format!("+{}", after[j]));
            j += 1;
        }
    }
    lines
}

fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::establish(url).unwrap();
    connection.batch_execute(sql).unwrap();
}

/// One of the two, running.
struct Program {
    process: Child,
    address: String,
}

impl Program {
    fn start(program: &str, url: &str) -> Self {
        let mut process = Command::new(program)
            .envs([("DATABASE_URL", url), ("PORT", "0")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("an address");
        let address = address.strip_suffix("/orders").unwrap().to_owned();
        Self { process, address }
    }

    fn order(&self, customer: &str, key: &str, item: &str) -> Answer {
        let body = format!(r#"{{"item":"{item}","quantity":1}}"#);
        let headers = format!(
            "Idempotency-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {}",
            body.len()
        );
        self.send("POST", customer, &headers, &body)
    }

    fn orders(&self, customer: &str) -> Vec<serde_json::Value> {
        let answer = self.send("GET", customer, "Accept: application/json", "");
        serde_json::from_str(answer.body()).unwrap()
    }

    fn send(&self, method: &str, customer: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(
            stream,
            "{method} /orders HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Customer: {customer}\r\n{headers}\r\n\r\n{body}"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, text }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    fn is_replay(&self) -> bool {
        self.text
            .to_lowercase()
            .contains("\r\nidempotent-replayed: true\r\n")
    }

    fn body(&self) -> &str {
        let (_, body) = self.text.split_once("\r\n\r\n").unwrap();
        body
    }
}
