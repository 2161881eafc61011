//! A place for one process of the application: its address stays the same, whatever is done to the process. Decides
//! nothing about when something is done.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use idem_tests::{App, Launch};
use tokio::sync::{Mutex, MutexGuard};

use crate::Outcome;
use crate::host::{self, HostClock};
use crate::proxy::Proxy;

/// The application comes up when its database does.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Slot {
    pub(crate) number: usize,
    /// Whether the application's handlers block: they have no lease mode.
    pub(crate) is_blocking: bool,
    /// Between clients and the application.
    pub(crate) front: Proxy,
    /// Between the application and its database, where there is a wire.
    pub(crate) back: Option<Proxy>,
    /// Between the application and who gets its messages.
    pub(crate) out: Proxy,
    /// That of the application's host, where it can be moved.
    pub(crate) clock: Option<HostClock>,
    launch: Launch,
    log: PathBuf,
    app: Mutex<Option<App>>,
}

/// The process, while one does something to it.
pub(crate) struct Held<'a> {
    slot: &'a Slot,
    app: MutexGuard<'a, Option<App>>,
}

impl Slot {
    pub(crate) async fn new(
        number: usize,
        is_blocking: bool,
        launch: Launch,
        clock: Option<HostClock>,
        back: Option<Proxy>,
        out: Proxy,
        log: PathBuf,
    ) -> Outcome<Self> {
        Ok(Self {
            number,
            is_blocking,
            front: Proxy::start().await?,
            back,
            out,
            clock,
            launch,
            log,
            app: Mutex::default(),
        })
    }

    /// Nobody else does anything to it meanwhile; `None` where somebody does already.
    pub(crate) fn try_hold(&self) -> Option<Held<'_>> {
        let app = self.app.try_lock().ok()?;
        Some(Held { slot: self, app })
    }

    pub(crate) async fn hold(&self) -> Held<'_> {
        Held {
            slot: self,
            app: self.app.lock().await,
        }
    }

    pub(crate) fn log(&self) -> &PathBuf {
        &self.log
    }
}

impl Held<'_> {
    pub(crate) fn app(&self) -> Option<&App> {
        self.app.as_ref()
    }

    /// SIGKILL.
    pub(crate) async fn kill(&mut self) {
        if let Some(app) = self.take() {
            let process = app.process();
            app.kill().await;
            host::forget(process);
        }
    }

    /// Waits until it has ended by itself, and kills it if it does not.
    pub(crate) async fn ended(&mut self, patience: Duration) -> Result<(), String> {
        let Some(app) = self.take() else {
            return Ok(());
        };
        let process = app.process();
        // Dropping it kills it.
        let ended = tokio::time::timeout(patience, app.ended()).await;
        host::forget(process);
        match ended {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("it did not end in {patience:?}, and was killed")),
        }
    }

    /// Runs it, if it does not run.
    pub(crate) async fn start(&mut self) -> Outcome {
        if self.app.is_some() {
            return Ok(());
        }
        let start = tokio::time::Instant::now();
        loop {
            match self.slot.launch.try_start().await {
                Ok(app) => {
                    self.slot.front.lead_to(Some(app.address()));
                    *self.app = Some(app);
                    return Ok(());
                }
                Err(failure) if start.elapsed() > PATIENCE => return Err(failure.into()),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Its log goes to a file.
    pub(crate) fn keep_log(&self) {
        let Some(app) = self.app.as_ref() else {
            return;
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.slot.log);
        if let Ok(mut file) = file {
            let _ = write!(file, "-- process {}\n{}", app.process(), app.log());
        }
    }

    fn take(&mut self) -> Option<App> {
        self.keep_log();
        self.slot.front.lead_to(None);
        self.app.take()
    }
}
