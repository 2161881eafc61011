//! What the database is asked for one request, and what it writes for it: figures that come out the same every time.
//! Times nothing.

mod wire;
mod written;

use idem_tests::{App, Backend, Request};

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Target};
use crate::figures::outbox;
use crate::traffic::{Script, Work, fresh_keys, key_text};

/// A request of one side.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    path: &'static str,
    is_replay: bool,
    /// Whether a message is queued.
    is_queueing: bool,
}

/// Their places among the kinds.
const FIRST_ATTEMPT: usize = 0;
const BARE: usize = 1;
const KINDS: [Kind; 7] = [
    Kind {
        name: "first attempt, protected",
        path: "/account/script",
        is_replay: false,
        is_queueing: false,
    },
    Kind {
        name: "bare",
        path: "/bare/script",
        is_replay: false,
        is_queueing: false,
    },
    Kind {
        name: "first attempt, by hand",
        path: "/byhand/script",
        is_replay: false,
        is_queueing: false,
    },
    Kind {
        name: "first attempt, floor",
        path: "/floor/script",
        is_replay: false,
        is_queueing: false,
    },
    Kind {
        name: "first attempt, protected, with one message",
        path: "/outbox/script",
        is_replay: false,
        is_queueing: true,
    },
    Kind {
        name: "replay, protected",
        path: "/account/script",
        is_replay: true,
        is_queueing: false,
    },
    Kind {
        name: "replay, by hand",
        path: "/byhand/script",
        is_replay: true,
        is_queueing: false,
    },
];

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let database = bench.database(Backend::Postgres).await;
    // The migrations write too.
    drop(bench.app(&database).start().await);
    let mut figures = Vec::new();
    let mut trips = Vec::new();
    for kind in KINDS {
        let wire = wire::read(bench, &database, kind).await;
        let written = written::count(bench, &database, kind).await?;
        trips.push(wire.round_trips as f64);
        figures.extend(wire.figures(kind));
        figures.extend(written.figures(kind));
    }
    database.discard().await;
    let extra = trips[FIRST_ATTEMPT] - trips[BARE];
    let extra = Figure::count(
        wire::ROUND_TRIPS,
        "extra wire round trips of a first attempt",
        extra,
        "",
    );
    figures.insert(0, extra.target(Some(Target::AtMost(0.0))));
    Ok(figures)
}

impl Kind {
    /// A request, and those that must have been answered before it is one of this kind.
    async fn request(self, app: &App) -> Request {
        let mut body = Script::new(Work::OneInsert, 300).body();
        if self.is_queueing {
            body["messages"] = outbox::messages();
        }
        let request = Request::post(self.path)
            .bearer("bench:token")
            .key(key_text(fresh_keys(1).start))
            .json(&body);
        if self.is_replay {
            ask(app, &request).await;
        }
        request
    }
}

async fn ask(app: &App, request: &Request) {
    let answer = app.send(request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}
