//! Leases run out while their owners are at work: all of them, or every second one.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "expire lease",
    weight: 3,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let (of, whose) = match rng.u32(..3) {
        0 => ("", "all"),
        1 => (r#"AND length(scope || "key") % 2 = 0"#, "half of them"),
        _ => ("AND length(steps) > 0", "those with finished steps"),
    };
    let past = ground.backend.seconds_ago(1);
    let sql = format!(
        "UPDATE idempotency_keys SET lease_expires_at = {past}
          WHERE status IS NULL AND lease_expires_at > {past} {of}"
    );
    ground.backend.execute(&sql).await?;
    done(whose)
}
