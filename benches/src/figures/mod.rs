//! The figures, one file each. A file says what is compared; what it is measured with is elsewhere.

mod growth;
mod instructions;
mod network;
mod outbox;
mod processor;
mod pruning;
mod replays;
mod sqlite;
mod statements;
mod storm;
mod throughput;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;

macro_rules! figures {
    ($($name:ident),+ $(,)?) => {
        /// As `--only` takes them, in the order of the report.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),+];

        pub(crate) async fn measure(name: &str, bench: &Bench) -> Outcome<Vec<Figure>> {
            match name {
                $(stringify!($name) => $name::measure(bench).await,)+
                _ => Err(format!("there is no figure `{name}`").into()),
            }
        }
    };
}

figures! {
    throughput,
    processor,
    replays,
    storm,
    network,
    sqlite,
    outbox,
    growth,
    pruning,
    statements,
    instructions,
}
