//! The database server is restarted in the usual way: it ends every transaction and closes every connection.

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Fault, done};
use crate::Outcome;
use crate::backends::Whom;
use crate::ground::Ground;

pub(crate) struct RestartDatabase;

impl Fault for RestartDatabase {
    fn name(&self) -> &'static str {
        "restart database"
    }

    fn weight(&self) -> u32 {
        1
    }

    fn is_possible_on_sqlite(&self) -> bool {
        false
    }

    fn inject<'a>(&'a self, ground: &'a Ground, _: Rng) -> BoxFuture<'a, Outcome<Option<String>>> {
        async move {
            if !ground.backend.signal("INT", Whom::Server).await? {
                return Ok(None);
            }
            done("fast shutdown")
        }
        .boxed()
    }
}
