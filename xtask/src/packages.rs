//! The runtime linted with each of its features alone, and the packages packed as for a release.

use crate::Outcome;
use crate::features::can_be_built;
use crate::process::{cargo, run};

/// What a build with all features does not build. Features come in pairs only where one needs the other to be of use.
const FEATURE_SETS: &[&str] = &[
    "",
    "postgres",
    "sqlite",
    "bb8",
    "deadpool",
    "postgres,bb8",
    "mysql",
    "mysql,bb8",
    "mysql-blocking",
    "sqlite,deadpool",
    "postgres-blocking",
    "sqlite,r2d2",
    "postgres,mysql,sqlite",
    "nats",
    "rabbitmq",
    "webhook",
    "openapi",
    "encryption",
    "zstd",
];

/// Packages that are never published.
const OURS: &[&str] = &[
    "idem-bench",
    "idem-model",
    "idem-tests",
    "idem-torture",
    "legacy",
    "orders",
    "xtask",
];

pub(crate) fn feature_sets() -> impl Iterator<Item = Outcome> {
    let sets = FEATURE_SETS.iter().filter(|set| can_be_built(set));
    sets.map(|features| {
        run(&mut cargo([
            "clippy",
            "--quiet",
            "--package=idem-runtime",
            "--no-default-features",
            "--features",
            features,
            "--",
            "-Dwarnings",
        ]))
    })
}

/// Packs what is published, and builds it from the packages: a file that is left out shows here.
pub(crate) fn package() -> Outcome {
    let mut command = cargo(["package", "--workspace", "--allow-dirty", "--quiet"]);
    for name in OURS {
        command.args(["--exclude", name]);
    }
    run(&mut command)
}
