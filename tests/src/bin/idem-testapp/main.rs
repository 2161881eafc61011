//! The test application: an HTTP server whose handlers do what a request's script says, so that tests can run it as
//! processes, kill it, and start two of it against one database. No assertion lives here.

mod commands;
mod effects;
mod failure;
mod fatal;
mod gates;
mod handlers;
mod identity;
mod leased;
mod measured;
mod migrate;
mod outbox;
mod play;
mod script;
mod serve;
mod tools;
mod unprotected;

use std::error::Error;
use std::net::SocketAddr;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use leased::Deployment;
use migrate::Url;
use outbox::Relaying;
use serve::Style;

#[derive(Clone, Parser)]
struct Arguments {
    /// `sqlite://PATH`, `postgres://…` or `mysql://…`
    #[arg(long)]
    database_url: String,
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[arg(long, default_value_t = 10)]
    pool_size: u32,
    #[arg(long)]
    workers: Option<usize>,
    /// Whether the handlers are `async`
    #[arg(long, value_enum, default_value_t)]
    style: Style,
    /// The other kind of pool
    #[arg(long, hide = true)]
    deadpool: bool,
    #[arg(long, hide = true)]
    pool_timeout_ms: Option<u64>,
    /// Threads of each worker for what blocks
    #[arg(long, hide = true)]
    blocking_threads: Option<usize>,
    #[arg(long, hide = true)]
    max_operations: Option<usize>,
    #[arg(long, hide = true, default_value_t = 5)]
    shutdown_timeout_s: u64,
    /// Prune in the background
    #[arg(long)]
    maintenance: bool,
    /// Drive stranded operations of `/background/script` to their end
    #[arg(long)]
    completion: bool,
    /// Ask the outside world about unresolved operations
    #[arg(long)]
    reconcile: bool,
    #[arg(long, hide = true)]
    worker_interval_ms: Option<u64>,
    #[arg(long, hide = true, value_enum, default_value_t)]
    deployment: Deployment,
    /// No claim is renewed, so that every lease can be outlived
    #[arg(long, hide = true)]
    no_heartbeat: bool,
    /// Answer `GET /metrics`
    #[arg(long)]
    metrics: bool,
    /// Log each span when it ends
    #[arg(long, hide = true)]
    spans: bool,
    #[command(flatten)]
    relaying: Relaying,
    /// Kill this process at the n-th thing that diesel reports once it runs
    #[arg(long, hide = true)]
    die_at: Option<u32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let spans = match arguments.spans {
        true => FmtSpan::CLOSE,
        false => FmtSpan::NONE,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(spans)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let url = Url::parse(&arguments.database_url)?;
    migrate::run(&url).map_err(|error| error.to_string())?;
    fatal::install()?;
    actix_web::rt::System::new().block_on(async { serve::run(url, &arguments).await })
}
