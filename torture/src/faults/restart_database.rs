//! The database server is restarted in the usual way: it ends every transaction and closes every connection.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::backends::End;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "restart database",
    weight: 1,
    needs_server: true,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, _: Rng) -> Outcome<Option<String>> {
    if !ground.backend.end(End::Restarted).await? {
        return Ok(None);
    }
    done("fast shutdown")
}
