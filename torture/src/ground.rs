//! What a run happens on: the applications, their database, who gets their messages, the history. Everybody who asks or harms has it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use idem_tests::Launch;

use crate::Outcome;
use crate::backends::Backend;
use crate::defects;
use crate::history::History;
use crate::options::{Options, Style};
use crate::plan::Operation;
use crate::proxy::Proxy;
use crate::receiver::Receiver;
use crate::slot::{Held, Slot};

const POOL: u32 = 6;
const WORKERS: u32 = 2;

pub(crate) struct Ground {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) receiver: Receiver,
    pub(crate) history: Arc<History>,
    /// Who moves the clock.
    pub(crate) clock: tokio::sync::Mutex<()>,
}

impl Ground {
    /// Everything runs.
    pub(crate) async fn prepare(
        options: &Options,
        style: Style,
        backend: Box<dyn Backend>,
        history: History,
    ) -> Outcome<Self> {
        let program = options.app()?;
        let history = Arc::new(history);
        let receiver = Receiver::start(Arc::clone(&history)).await;
        let mut slots = Vec::new();
        for number in 0..options.apps as usize {
            let back = backend.proxy().await?;
            let url = backend.url_through(back.as_ref());
            let out = Proxy::start().await?;
            out.lead_to(Some(receiver.address()));
            let is_blocking = style.is_blocking(number);
            let mut launch = launch(&program, &url, out.address(), is_blocking);
            if let Some(defect) = &options.defect {
                launch = launch.environment("IDEM_DEFECT", defect);
            }
            let log = history.directory().join(format!("app-{number}.log"));
            let file = history.directory().join(format!("clock-{number}"));
            let clock = backend.host_clock(file)?;
            if let Some(clock) = &clock {
                launch = clock.on(launch);
            }
            let slot = Slot::new(number, is_blocking, launch, clock, back, out, log);
            slots.push(slot.await?);
        }
        let ground = Self {
            backend,
            slots,
            receiver,
            history,
            clock: tokio::sync::Mutex::default(),
        };
        ground.everything_runs().await?;
        if let Some(defect) = &options.defect {
            defects::prepare(defect, &*ground.backend).await?;
        }
        for slot in &ground.slots {
            if let (Some(clock), Some(app)) = (&slot.clock, slot.hold().await.app()) {
                clock.is_seen_by(app).await?;
            }
        }
        Ok(ground)
    }

    /// Whether any application has handlers in lease mode.
    pub(crate) fn has_leases(&self) -> bool {
        self.slots.iter().any(|slot| !slot.is_blocking)
    }

    /// The applications that have a handler for it.
    pub(crate) fn serving(&self, operation: &Operation) -> Vec<&Slot> {
        let serves = |slot: &&Slot| !(operation.is_leased && slot.is_blocking);
        self.slots.iter().filter(serves).collect()
    }

    /// One of the applications that nobody else harms.
    pub(crate) fn some_app(&self, rng: &mut Rng) -> Option<(&Slot, Held<'_>)> {
        let slot = rng.choice(&self.slots)?;
        Some((slot, slot.try_hold()?))
    }

    /// All harm is undone, and every application answers.
    pub(crate) async fn everything_runs(&self) -> Outcome {
        self.backend.is_up().await?;
        self.receiver.heal();
        for slot in &self.slots {
            slot.front.heal();
            slot.out.heal();
            if let Some(back) = &slot.back {
                back.heal();
            }
            slot.hold().await.start().await?;
        }
        Ok(())
    }
}

fn launch(program: &Path, url: &str, out: SocketAddr, is_blocking: bool) -> Launch {
    let relay = format!("--relay=webhook:http://{out}/");
    let mut launch = Launch::of(program, url)
        .pool(POOL)
        .workers(WORKERS)
        .environment("RUST_LOG", "warn,idem_runtime=info")
        .environment("RUST_BACKTRACE", "0");
    for argument in [
        "--maintenance",
        "--reconcile",
        "--worker-interval-ms=300",
        "--shutdown-timeout-s=1",
        "--pool-timeout-ms=2000",
        &relay,
        // Taken over within a run, where a relay is killed or stopped.
        "--relay-claim-ms=2000",
        "--relay-poll-ms=500",
        "--relay-pause-ms=100",
        // The receiver may be away as often as it likes.
        "--relay-attempts=1000000",
    ] {
        launch = launch.argument(argument);
    }
    launch.argument(match is_blocking {
        true => "--style=blocking",
        // There is nothing that a worker could drive to its end where no handler is in lease mode.
        false => "--completion",
    })
}
