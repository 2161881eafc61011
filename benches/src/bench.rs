//! What every figure is measured on: fresh databases and the test application. Says nothing of what is compared.

use std::env;
use std::path::PathBuf;

use idem_tests::{App, Backend, Database, Launch};
use tokio_postgres::{Client, NoTls};

use crate::Outcome;
use crate::load::{Load, Measured, Until};
use crate::options::Options;
use crate::rounds::interleaved;
use crate::traffic::Traffic;

/// The server of all fresh databases, by the name that `idem_tests` reads too.
const SERVER: &str = "IDEM_TEST_POSTGRES_URL";
const POOL: u32 = 16;
const WORKERS: u32 = 2;

/// A run: what it was told, and what it runs on.
pub(crate) struct Bench {
    pub(crate) options: Options,
    /// Any database of the PostgreSQL server.
    pub(crate) postgres: String,
    testapp: PathBuf,
}

impl Bench {
    pub(crate) fn new(options: Options) -> Outcome<Self> {
        let postgres = env::var(SERVER)
            .ok()
            .filter(|url| !url.is_empty())
            .ok_or_else(|| format!("{SERVER} is not set: `cargo xtask bench` sets it"))?;
        let testapp = match &options.testapp {
            Some(path) => path.clone(),
            None => env::current_exe()?.with_file_name("idem-testapp"),
        };
        if !testapp.is_file() {
            return Err(format!("there is no test application at {}", testapp.display()).into());
        }
        Ok(Self {
            options,
            postgres,
            testapp,
        })
    }

    /// Where the report goes.
    pub(crate) fn output(&self) -> Outcome<PathBuf> {
        match &self.options.output {
            Some(directory) => Ok(directory.clone()),
            None => {
                // We are target/release/idem-bench.
                let program = env::current_exe()?;
                let target = program.ancestors().nth(2).ok_or("we are nowhere")?;
                Ok(target.join("bench"))
            }
        }
    }

    /// A database of its own, empty; to be discarded by whoever asked.
    pub(crate) async fn database(&self, backend: Backend) -> Database {
        Database::fresh(backend).await
    }

    /// The application, not yet running, as every figure has it unless it says otherwise.
    pub(crate) fn app(&self, database: &Database) -> Launch {
        Launch::of(&self.testapp, database.url())
            .pool(POOL)
            .workers(WORKERS)
            .environment("RUST_LOG", "warn")
    }

    /// The sides in turn, warmed up, against one process and one database; by side, then by round.
    pub(crate) async fn compare(
        &self,
        app: &App,
        connections: usize,
        sides: &[Traffic],
    ) -> Outcome<Vec<Vec<Measured>>> {
        self.checkpoint().await?;
        // After a checkpoint a page is written to the log whole when it is first touched. That is over after this.
        for side in sides {
            self.load(app, connections, side.clone()).await?;
        }
        interleaved(self.options.rounds(), sides.len(), async |side: usize| {
            self.load(app, connections, sides[side].clone()).await
        })
        .await
    }

    /// One side of one round.
    pub(crate) async fn load(
        &self,
        app: &App,
        connections: usize,
        traffic: Traffic,
    ) -> Outcome<Measured> {
        let measured = Load {
            address: app.address(),
            connections,
            until: Until::Elapsed(self.options.duration()),
            traffic,
        }
        .run()
        .await?;
        if self.options.verbose {
            eprintln!("idem-bench:     {measured}");
        }
        Ok(measured)
    }

    /// A connection to the PostgreSQL server, beside those of the application.
    pub(crate) async fn connect(&self) -> Outcome<Client> {
        let (client, connection) = tokio_postgres::connect(&self.postgres, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// What was written so far is on disk, so that no checkpoint falls into what is measured next.
    pub(crate) async fn checkpoint(&self) -> Outcome {
        Ok(self.connect().await?.batch_execute("CHECKPOINT").await?)
    }
}
