//! The test application as a process: started, watched, killed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use crate::{Connection, Request, Response};

const PATIENCE: Duration = Duration::from_secs(60);

/// The application, not yet running.
pub struct Launch {
    program: OsString,
    url: String,
    pool: u32,
    workers: u32,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// The application, running. Killed when dropped.
pub struct App {
    child: Child,
    address: SocketAddr,
    log: Log,
}

/// What `GET /effects` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Rows that are committed, whoever wrote them.
    pub committed: u64,
    /// How often a handler was entered in this process.
    pub entered: u64,
    /// How often the outside world was called, by anybody, with each derived key.
    pub calls: BTreeMap<String, u64>,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Launch {
    /// This program against this database, with a pool of four and two workers.
    pub fn of(program: &Path, url: &str) -> Self {
        Self {
            program: program.into(),
            url: url.into(),
            pool: 4,
            workers: 2,
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Connections in its pool.
    #[must_use]
    pub fn pool(mut self, size: u32) -> Self {
        self.pool = size;
        self
    }

    /// Worker threads of its server.
    #[must_use]
    pub fn workers(mut self, count: u32) -> Self {
        self.workers = count;
        self
    }

    /// Another way to the same database.
    #[must_use]
    pub fn database_url(mut self, url: &str) -> Self {
        self.url = url.into();
        self
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// One more variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs it, until it says that it listens.
    pub async fn start(&self) -> App {
        let started = self.try_start().await;
        started.unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Like [`Self::start`], where it may end at once: what it said then.
    pub async fn try_start(&self) -> Result<App, String> {
        let mut child = Command::new(&self.program)
            .args(["--database-url", &self.url, "--listen", "127.0.0.1:0"])
            .args([
                "--pool-size",
                &self.pool.to_string(),
                "--workers",
                &self.workers.to_string(),
            ])
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the test application starts");
        let log = Log::default();
        tokio::spawn(log.clone().follow(child.stderr.take().expect("piped")));
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let said = timeout(PATIENCE, lines.next_line())
            .await
            .expect("a line in time")
            .expect("a line");
        let Some(line) = said else {
            let status = child.wait().await.expect("an exit status");
            let said = log.lock().clone();
            return Err(format!("the test application ended with {status}:\n{said}"));
        };
        let address = line
            .strip_prefix("listening on http://")
            .expect("`listening on http://ADDR`");
        Ok(App {
            child,
            address: address.parse().expect("an address"),
            log,
        })
    }
}

impl App {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its number among the processes.
    pub fn process(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// What it has written to standard error.
    pub fn log(&self) -> String {
        self.log.lock().clone()
    }

    /// Sends a request on a new connection.
    pub async fn send(&self, request: &Request) -> Response {
        let answer = self.try_send(request).await;
        answer.unwrap_or_else(|error| panic!("{error}: {request:?}\n{}", self.log()))
    }

    /// Like [`Self::send`], where the application may die meanwhile.
    pub async fn try_send(&self, request: &Request) -> io::Result<Response> {
        send(self.address, request).await
    }

    /// Sends a request from a task of its own.
    pub fn send_in_background(&self, request: &Request) -> tokio::task::JoinHandle<Response> {
        let (address, request) = (self.address, request.clone());
        tokio::spawn(async move { send(address, &request).await.expect("an answer") })
    }

    /// A connection for less than whole requests.
    pub async fn connect(&self) -> Connection {
        Connection::open(self.address).await.expect("a connection")
    }

    /// What became of a label.
    pub async fn effects(&self, label: &str) -> Effects {
        let answer = self
            .send(&Request::get(&format!("/effects?label={label}")))
            .await
            .json();
        let number = |member: &str| answer[member].as_u64().expect("a number");
        Effects {
            committed: number("committed"),
            entered: number("entered"),
            calls: serde_json::from_value(answer["calls"].clone()).expect("counts"),
        }
    }

    /// How often the handler was entered, without asking the database.
    pub async fn entered(&self, label: &str) -> u64 {
        let answer = self
            .send(&Request::get(&format!("/entered?label={label}")))
            .await;
        answer.text().parse().expect("a number")
    }

    /// Returns when `count` handlers stand at the gate at once.
    pub async fn reached(&self, gate: &str, count: usize) {
        let wait = Request::get(&format!("/gate?name={gate}&count={count}"));
        assert_eq!(self.send(&wait).await.status, 204);
    }

    /// Lets everyone through the gate, now and later.
    pub async fn open_gate(&self, gate: &str) {
        let open = Request::post(&format!("/gate?name={gate}"));
        assert_eq!(self.send(&open).await.status, 204);
    }

    /// From now on, the application kills itself at the n-th thing that diesel reports.
    pub async fn arm(&self, event: u32) {
        let arm = Request::post(&format!("/arm?at={event}"));
        assert_eq!(self.send(&arm).await.status, 204);
    }

    /// SIGKILL.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// SIGTERM.
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Any signal, by its name.
    pub async fn signal(&self, name: &str) {
        let process = self.process().to_string();
        let script = ["-c", r#"kill -"$1" "$2""#, "sh", name, &process];
        let status = Command::new("sh")
            .args(script)
            .status()
            .await
            .expect("a shell");
        assert!(status.success(), "kill says {status}");
    }

    /// Waits until it has ended by itself.
    pub async fn ended(mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait())
            .await
            .expect("an end in time")
            .expect("an exit status")
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "-- log of the application at {}:\n{}",
                self.address,
                self.log.lock()
            );
        }
    }
}

impl Log {
    async fn follow(self, stderr: ChildStderr) {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut log = self.lock();
            log.push_str(&line);
            log.push('\n');
        }
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a request on a new connection.
pub async fn send(address: SocketAddr, request: &Request) -> io::Result<Response> {
    Connection::open(address).await?.send(request).await
}
