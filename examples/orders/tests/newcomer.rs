//! The program starts from nothing, and the three commands that it prints do what it says: on SQLite, and on
//! PostgreSQL where `IDEM_TEST_POSTGRES_URL` names a server, as `cargo xtask test` does.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};

/// The program, in a directory of its own.
struct Orders {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    _directory: tempfile::TempDir,
}

impl Orders {
    fn on_sqlite() -> Self {
        Self::start(|orders| orders.env_remove("DATABASE_URL"))
    }

    fn on_postgres(url: &str) -> Self {
        Self::start(|orders| orders.env("DATABASE_URL", url))
    }

    fn start(database: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut orders = Command::new(env!("CARGO_BIN_EXE_orders"));
        orders
            .current_dir(directory.path())
            .env("PORT", "0")
            .env_remove("ORDERS_DB")
            .stdout(Stdio::piped());
        let mut process = database(&mut orders).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            output,
            _directory: directory,
        }
    }

    /// The three commands, each as the request that curl would send.
    fn commands(&mut self) -> Vec<Request> {
        let mut commands = Vec::new();
        let mut command = String::new();
        while commands.len() < 3 {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "the program ended"
            );
            let line = line.trim();
            if command.is_empty() && !line.starts_with("curl ") {
                continue;
            }
            match line.strip_suffix('\\') {
                Some(part) => command += part,
                None => {
                    commands.push(Request::from_curl(&(std::mem::take(&mut command) + line)));
                }
            }
        }
        commands
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Request {
    address: String,
    text: String,
}

impl Request {
    fn from_curl(command: &str) -> Self {
        let mut words = shell_words(command).into_iter();
        assert_eq!(words.next().as_deref(), Some("curl"));
        let (mut headers, mut body, mut url) = (String::new(), String::new(), String::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "-i" => {}
                "-H" => headers += &(words.next().unwrap() + "\r\n"),
                "-d" => body = words.next().unwrap(),
                _ => url = word,
            }
        }
        let (address, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let text = format!(
            "POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        Self {
            address: address.to_owned(),
            text,
        }
    }

    fn get(address: &str, path: &str) -> Self {
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer alice:other\r\n\r\n"
        );
        Self {
            address: address.to_owned(),
            text,
        }
    }

    fn send(&self) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(self.text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Response {
            status,
            headers,
            body: body.to_owned(),
        }
    }
}

#[derive(Debug)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// Everything that a replay repeats. Actix writes headers of different names in any order; those of one name
    /// keep theirs.
    fn repeated(&self) -> (u16, Vec<&(String, String)>, &str) {
        let own = ["date", "idempotent-replayed", "connection"];
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .collect();
        headers.sort_by_key(|(name, _)| name);
        (self.status, headers, &self.body)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The words of a command as a shell would split them: single quotes are all that ours use.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in command.split('\'').enumerate() {
        if number % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        let mut plain = part.split(' ');
        words.last_mut().unwrap().push_str(plain.next().unwrap());
        words.extend(plain.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Runs one statement on the server, outside of any transaction.
fn execute(url: &str, statement: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut connection = AsyncPgConnection::establish(url).await.unwrap();
        connection.batch_execute(statement).await.unwrap();
    });
}

#[test]
fn the_printed_commands_do_what_is_said_on_sqlite() {
    the_printed_commands_do_what_is_said(Orders::on_sqlite());
}

#[test]
fn the_printed_commands_do_what_is_said_on_postgres() {
    let Ok(server) = env::var("IDEM_TEST_POSTGRES_URL") else {
        eprintln!("IDEM_TEST_POSTGRES_URL names no server: nothing was tested");
        return;
    };
    let name = format!("orders_{}", std::process::id());
    execute(&server, &format!("CREATE DATABASE {name}"));
    let (base, database) = server.rsplit_once('/').unwrap();
    let settings = database.find('?').map_or("", |start| &database[start..]);
    the_printed_commands_do_what_is_said(Orders::on_postgres(&format!("{base}/{name}{settings}")));
    // Not reached when the test fails: the database stays, to be looked at.
    execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)"));
}

fn the_printed_commands_do_what_is_said(mut orders: Orders) {
    let [first, retry, other] = orders.commands().try_into().ok().unwrap();

    let created = first.send();
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.header("idempotent-replayed"), None);
    assert_eq!(created.header("location"), Some("/orders/1"));
    assert_eq!(created.json()["total_cents"], 900);

    let replayed = retry.send();
    assert_eq!(
        replayed.header("idempotent-replayed"),
        Some("true"),
        "{replayed:?}"
    );
    assert_eq!(replayed.repeated(), created.repeated());

    let refused = other.send();
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(refused.json()["code"], "idempotency-key-reused");

    let all = Request::get(&first.address, "/orders").send();
    assert_eq!(all.json().as_array().map(Vec::len), Some(1), "{all:?}");
}

#[test]
fn a_taken_port_is_a_clear_message() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_orders"))
        .current_dir(directory.path())
        .env("PORT", &port)
        .env_remove("DATABASE_URL")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("port {port} is taken")), "{said}");
}
