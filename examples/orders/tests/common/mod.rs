//! The program as a process, and what curl would send to it. Looks only; what it should find is for the tests to say.

// No test uses all of it.
#![allow(dead_code)]

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a test may set for the program; nobody else's setting reaches it.
const SETTINGS: [&str; 7] = [
    "DATABASE_URL",
    "NATS_URL",
    "ORDERS_COURIER",
    "ORDERS_DB",
    "ORDERS_DEMO_FAULTS",
    "ORDERS_RECEIPTS_SECRET",
    "ORDERS_RECEIPTS_URL",
];

/// The program, in a directory of its own.
pub(crate) struct Orders {
    process: Child,
    output: BufReader<ChildStdout>,
    url: Option<String>,
    directory: TempDir,
}

impl Orders {
    pub(crate) fn on_sqlite() -> Self {
        Self::start(None)
    }

    fn start(url: Option<String>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut process = spawn(&directory, url.as_deref(), &[]);
        Self {
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            url,
            directory,
        }
    }

    /// Kills the program as it stands, and starts it again where it was.
    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with these settings.
    pub(crate) fn restart_with(&mut self, settings: &[(&str, &str)]) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = spawn(&self.directory, self.url.as_deref(), settings);
        self.output = BufReader::new(self.process.stdout.take().unwrap());
    }

    /// As `kill` does.
    pub(crate) fn terminate(&self) {
        let process = self.process.id().to_string();
        let kill = Command::new("kill").arg(process).status();
        assert!(kill.unwrap().success());
    }

    /// Returns when it has ended by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until(|| self.process.try_wait().unwrap())
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The next commands that it prints, each as the request that curl would send.
    pub(crate) fn commands<const COUNT: usize>(&mut self) -> [Request; COUNT] {
        std::array::from_fn(|_| self.command())
    }

    /// Returns when it has printed such a line.
    pub(crate) fn says(&mut self, words: &str) {
        while !self.line().contains(words) {}
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert_ne!(length, 0, "the program ended");
        line
    }

    fn command(&mut self) -> Request {
        let mut command = String::new();
        loop {
            let line = self.line();
            let line = line.trim();
            if command.is_empty() && !line.starts_with("curl ") {
                continue;
            }
            match line.strip_suffix('\\') {
                Some(part) => command += part,
                None => return Request::from_curl(&(command + line)),
            }
        }
    }

    /// What the program's database says to a question for one number.
    pub(crate) fn number(&self, query: &str) -> i64 {
        let query = diesel::sql_query(format!("SELECT ({query}) AS number"));
        let Number { number } = match &self.url {
            None => {
                let path = self.directory().join("orders.db");
                let mut database = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
                database
                    .batch_execute("PRAGMA busy_timeout = 5000")
                    .unwrap();
                query.get_result(&mut database).unwrap()
            }
            Some(url) => tokio::runtime::Runtime::new().unwrap().block_on(async {
                let mut database = AsyncPgConnection::establish(url).await.unwrap();
                diesel_async::RunQueryDsl::get_result(query, &mut database)
                    .await
                    .unwrap()
            }),
        };
        number
    }
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn spawn(directory: &TempDir, url: Option<&str>, settings: &[(&str, &str)]) -> Child {
    let mut orders = Command::new(env!("CARGO_BIN_EXE_orders"));
    for setting in SETTINGS {
        orders.env_remove(setting);
    }
    orders
        .current_dir(directory.path())
        .env("PORT", "0")
        .env("NO_PROXY", "127.0.0.1")
        .envs(url.map(|url| ("DATABASE_URL", url)))
        .envs(settings.iter().copied())
        .stdout(Stdio::piped());
    orders.spawn().unwrap()
}

/// Returns what the question is answered with, once it is.
pub(crate) fn until<T>(mut question: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = question() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "it does not come");
        sleep(Duration::from_millis(10));
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) struct Request {
    pub(crate) address: String,
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
        let method = if body.is_empty() { "GET" } else { "POST" };
        let text = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        Self {
            address: address.to_owned(),
            text,
        }
    }

    /// As it stands on the wire.
    pub(crate) fn raw(address: &str, text: String) -> Self {
        Self {
            address: address.to_owned(),
            text,
        }
    }

    /// The same with this instead of that.
    pub(crate) fn with(&self, that: &str, this: &str) -> Self {
        assert!(self.text.contains(that), "no {that} in {}", self.text);
        Self::raw(&self.address, self.text.replacen(that, this, 1))
    }

    pub(crate) fn get(address: &str, path: &str) -> Self {
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer alice:other\r\n\r\n"
        );
        Self::raw(address, text)
    }

    /// The same to another address: that of the program after a restart.
    pub(crate) fn to(&self, address: &str) -> Self {
        Self::raw(address, self.text.clone())
    }

    /// Sends it, and leaves the answer for later.
    pub(crate) fn begin(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(self.text.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn send(&self) -> Response {
        let mut stream = self.begin();
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
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// Everything that a replay repeats. Actix writes headers of different names in any order; those of one name
    /// keep theirs.
    pub(crate) fn repeated(&self) -> (u16, Vec<&(String, String)>, &str) {
        let own = ["date", "idempotent-replayed", "connection"];
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .collect();
        headers.sort_by_key(|(name, _)| name);
        (self.status, headers, &self.body)
    }

    pub(crate) fn text(&self) -> &str {
        &self.body
    }

    pub(crate) fn json(&self) -> serde_json::Value {
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

/// Runs a test on a database of its own, on the server that the environment names.
pub(crate) fn on_postgres(name: &str, test: fn(Orders)) {
    let Ok(server) = env::var("IDEM_TEST_POSTGRES_URL") else {
        eprintln!("IDEM_TEST_POSTGRES_URL names no server: nothing was tested");
        return;
    };
    let name = format!("orders_{name}_{}", std::process::id());
    execute(&server, &format!("CREATE DATABASE {name}"));
    let (base, database) = server.rsplit_once('/').unwrap();
    let settings = database.find('?').map_or("", |start| &database[start..]);
    test(Orders::start(Some(format!("{base}/{name}{settings}"))));
    // Not reached when the test fails: the database stays, to be looked at.
    execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)"));
}
