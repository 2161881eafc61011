//! The endpoint of these cases: it keeps what it gets, and reacts as it was last told.

use std::sync::{Arc, Mutex};

use idem_tests::hook;

pub(crate) use hook::{Got, Reaction};

pub(crate) struct Hook {
    endpoint: hook::Hook,
    shared: Arc<Shared>,
}

struct Shared {
    reaction: Mutex<Reaction>,
    got: Mutex<Vec<Got>>,
}

impl Hook {
    pub(crate) async fn start(reaction: Reaction) -> Self {
        let shared = Arc::new(Shared {
            reaction: Mutex::new(reaction),
            got: Mutex::default(),
        });
        let keeper = Arc::clone(&shared);
        let keep = move |got| {
            keeper.got.lock().unwrap().push(got);
            keeper.reaction.lock().unwrap().clone()
        };
        Self {
            endpoint: hook::Hook::start(keep).await,
            shared,
        }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.endpoint.address()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hooks?a=b", self.address())
    }

    pub(crate) fn react(&self, reaction: Reaction) {
        *self.shared.reaction.lock().unwrap() = reaction;
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap().clone()
    }
}

/// An answer with these further header lines, each with its line end.
pub(crate) fn answer(status: u16, headers: &str) -> Reaction {
    Reaction::answer(status, headers)
}
