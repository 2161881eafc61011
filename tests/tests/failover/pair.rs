//! Two servers: a primary and its standby, switches in front of both ways between, and looks into either. What should be
//! found there is for the cases to say.

use std::mem;
use std::net::SocketAddr;
use std::path::Path;

use idem_tests::{App, Launch, Request, Response, Switch, until};
use serde_json::json;
use tokio::task::block_in_place;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use xtask::{Cluster, Purpose};

/// What a COMMIT of the primary waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replication {
    /// The standby has it on its disk.
    Synchronous,
    /// The primary alone has it.
    Asynchronous,
}

pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) standby: Server,
    /// The applications' way to the database.
    pub(crate) database: Switch,
    /// The standby's way to the primary.
    pub(crate) link: Switch,
}

pub(crate) struct Server(Cluster);

impl Pair {
    /// Both running, the standby with all that the primary has.
    pub(crate) async fn start(replication: Replication) -> Self {
        let primary = Server::start(|| Cluster::start(Purpose::Replication));
        let (standby, link) = follower(&primary, replication).await;
        let database = Switch::to(primary.address()).await;
        Self {
            primary,
            standby,
            database,
            link,
        }
    }

    /// The application, not yet running, on its way through the switch.
    pub(crate) fn app(&self) -> Launch {
        app_at(self.database.address())
    }

    /// The primary dies and the standby takes its place.
    pub(crate) async fn fail_over(&mut self) {
        self.lose_primary().await;
        self.promote().await;
    }

    /// The primary dies, and nothing is in its place.
    pub(crate) async fn lose_primary(&mut self) {
        self.primary.kill();
        self.database.cut().await;
    }

    /// The standby is the applications' database.
    pub(crate) async fn promote(&self) {
        self.standby.promote();
        self.database.lead_to(self.standby.address()).await;
    }

    /// The one that was promoted is the primary, and has a new standby in place of the server that died.
    pub(crate) async fn rebuild(&mut self, replication: Replication) {
        let (standby, link) = follower(&self.standby, replication).await;
        self.primary = mem::replace(&mut self.standby, standby);
        self.link = link;
    }

    /// Returns when the standby has received all that the primary has written by now.
    pub(crate) async fn caught_up(&self) {
        let written = "SELECT pg_current_wal_flush_lsn()";
        let written = self.primary.rows(written).await[0][0].clone();
        let behind = format!("SELECT pg_last_wal_receive_lsn() >= '{written}'");
        until("the standby has caught up", || async {
            (self.standby.rows(&behind).await[0][0] == "t").then_some(())
        })
        .await;
    }
}

/// The application, not yet running, with the database that is reached there.
pub(crate) fn app_at(database: SocketAddr) -> Launch {
    let url = format!("postgres://postgres@{database}/postgres");
    let program = Path::new(env!("CARGO_BIN_EXE_idem-testapp"));
    Launch::of(program, &url)
        .argument("--pool-timeout-ms")
        .argument("1000")
}

/// A standby that has all that the primary has, and its way there. The primary waits for nobody before that.
async fn follower(primary: &Server, replication: Replication) -> (Server, Switch) {
    let link = Switch::to(primary.address()).await;
    let way = link.address();
    let standby = Server::start(|| Cluster::standby(way));
    if replication == Replication::Synchronous {
        primary
            .execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            .await;
        primary.execute("SELECT pg_reload_conf()").await;
    }
    let state = match replication {
        Replication::Synchronous => "sync",
        Replication::Asynchronous => "async",
    };
    let standbys = format!(
        "SELECT application_name FROM pg_stat_replication
         WHERE state = 'streaming' AND sync_state = '{state}'"
    );
    until("the standby follows", || async {
        (primary.rows(&standbys).await.len() == 1).then_some(())
    })
    .await;
    (standby, link)
}

/// Asks until the answer is final.
pub(crate) async fn settled(app: &App, request: &Request) -> Response {
    until("the answer is final", || async {
        let answer = app.send(request).await;
        (answer.status < 400).then_some(answer)
    })
    .await
}

/// Waits until the application can use the database again, whatever state its pool is in.
pub(crate) async fn reconnected(app: &App) {
    // It needs no key, but a connection of the pool.
    let request = Request::post("/optional/script").json(&json!({ "label": "connected" }));
    settled(app, &request).await;
}

impl Server {
    fn start<E: ToString>(start: impl FnOnce() -> Result<Cluster, E>) -> Self {
        Self(block_in_place(start).unwrap_or_else(|error| panic!("{}", error.to_string())))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    pub(crate) fn kill(&mut self) {
        block_in_place(|| self.0.kill()).unwrap();
    }

    pub(crate) fn promote(&self) {
        block_in_place(|| self.0.promote()).unwrap();
    }

    /// One of its processes is killed, for which the server restarts itself.
    pub(crate) async fn crash(&self) {
        let kill = "COPY (SELECT 1) TO PROGRAM 'kill -KILL $PPID'";
        let killed = self.connect().await.batch_execute(kill).await;
        assert!(killed.is_err(), "the process lives");
    }

    /// Returns when so many COMMITs wait for the standby.
    pub(crate) async fn commits_wait(&self, count: usize) {
        let waiting =
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
        until("COMMIT waits for the standby", || async {
            (self.rows(waiting).await.len() == count).then_some(())
        })
        .await;
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.connect().await.batch_execute(sql).await.expect(sql);
    }

    /// What a query gives; NULL as an empty text.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let answer = self.connect().await.simple_query(sql).await.expect(sql);
        let rows = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let text = |column: Option<&str>| column.unwrap_or_default().to_owned();
        rows.map(|row| (0..row.len()).map(|at| text(row.get(at))).collect())
            .collect()
    }

    pub(crate) async fn effects(&self, label: &str) -> usize {
        let effects = format!("SELECT id FROM effects WHERE label = '{label}'");
        self.rows(&effects).await.len()
    }

    /// The keys with which the outside world was called, in their order, each as often as it was.
    pub(crate) async fn calls(&self, label: &str) -> Vec<String> {
        let calls = format!("SELECT key FROM calls WHERE label = '{label}' ORDER BY key");
        self.rows(&calls).await.concat()
    }

    async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.0.url(), NoTls)
            .await
            .expect("PostgreSQL answers");
        tokio::spawn(connection);
        client
    }
}
