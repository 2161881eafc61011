//! A shop whose idempotency is written by hand, right or with one defect: what a conformance check has to tell apart.
//! None of it uses the runtime, so that a check that passes here owes nothing to it.
//!
//! `POST /orders` takes `{"item": "tea", "quantity": 1}`; with `"sleep_ms"` it takes its time, and with `"fail": true` it
//! answers 503. `GET /orders` answers the committed orders of everybody. The account is that of
//! `Authorization: Bearer ACCOUNT:ANYTHING`.

mod handler;
mod journal;
mod reply;
mod request;
mod serve;

use std::time::Duration;

use actix_web::web::{self, ServiceConfig};
use clap::ValueEnum;

pub use journal::Journal;
pub use serve::{Running, serve};

/// What is wrong with a shop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Defect {
    /// Nothing: the control.
    #[default]
    None,
    /// It looks for a record, works, and records: nothing holds the key meanwhile.
    CheckThenAct,
    /// A key is a key, whatever the request says.
    NoFingerprint,
    /// The record keeps the response's JSON as a value, and a replay writes it anew.
    Reserialized,
    /// A key is everybody's.
    GlobalScope,
    /// A failure is recorded like any other answer.
    FailureRemembered,
    /// A claim that is older than its lease is taken over, although its owner still works and will still record.
    StaleTakeOver,
    /// Numbers go through floating point on their way into the fingerprint.
    FloatFingerprint,
    /// The work belongs to the connection: a client that hangs up leaves its claim behind for ever.
    Abandoned,
    /// Any text is a key, in its first so many bytes and without regard to case; none is no matter either.
    LaxKeys,
    /// A body is the bytes that it came as.
    RawFingerprint,
    /// A replay does not say that it is one.
    Unmarked,
    /// Who says nothing of themselves is let in as nobody.
    Anonymous,
    /// The key is taken before the body is there, and kept if it never comes.
    EarlyClaim,
    /// The same order again is taken for a retry, whatever its key.
    BodyIsKey,
    /// None but a deviation that an API may document: another body is answered 409.
    MismatchAsConflict,
    /// None either: all answers are alike, and say nothing.
    Alike,
}

impl Defect {
    /// All of them, the control first.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Its name on a command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .expect("none is hidden")
            .get_name()
            .to_owned()
    }
}

/// One shop: what is wrong with it, and where it keeps its orders and keys. Clones are the same shop.
#[derive(Clone)]
pub struct Shop {
    defect: Defect,
    journal: Journal,
    call: Duration,
}

impl Shop {
    /// A shop that keeps everything in this SQLite file, which may be new. Panics if it cannot be opened.
    pub fn open(defect: Defect, path: &str) -> Self {
        let journal = Journal::open(path);
        Self {
            defect,
            journal,
            call: handler::CALL,
        }
    }

    /// The same, where the work between the look and the record takes this long: the gap that a shop that holds no key
    /// leaves open.
    pub fn with_call(self, call: Duration) -> Self {
        Self { call, ..self }
    }

    /// Committed orders, of everybody. Blocks for as long as the look takes.
    pub fn orders(&self) -> i64 {
        self.journal.orders().expect("a count")
    }
}

/// The routes of a shop, for `App::configure`.
pub fn configure(shop: Shop) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config
            .app_data(web::Data::new(shop.clone()))
            .service(handler::create_order)
            .service(handler::list_orders);
    }
}
