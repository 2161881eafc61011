//! What a load sends: which handler, what it is to do and to answer, and which keys. Sends nothing.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// The same request with one key after another.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    path: &'static str,
    script: Script,
    beside: Map<String, Value>,
    pub(crate) keys: Keys,
}

/// What the handler does and answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) work: Work,
    /// Bytes of the response's body.
    pub(crate) response: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    OneInsert,
    FourStatements,
}

#[derive(Clone, Debug)]
pub(crate) enum Keys {
    /// A new one each time: first attempts.
    Fresh,
    /// Each of these once, by one connection: first attempts, known afterwards.
    New(Range<u64>),
    /// Again and again these, which are recorded: replays.
    Recorded(Range<u64>),
    /// A new one, and then as many retries of it before the next.
    Retried(u64),
}

/// A request on the wire, all but its key, which has its place in it.
pub(crate) struct Template {
    pub(crate) wire: Vec<u8>,
    pub(crate) key: Range<usize>,
}

const BARE: &str = "/bare/script";
const PROTECTED: &str = "/account/script";
const BY_HAND: &str = "/byhand/script";
const FLOOR: &str = "/floor/script";
const OUTBOX: &str = "/outbox/script";

impl Traffic {
    /// The handler in a plain transaction.
    pub(crate) fn bare(script: Script) -> Self {
        Self::first_attempts(BARE, script)
    }

    /// The handler under `#[idempotent]`.
    pub(crate) fn protected(script: Script) -> Self {
        Self::first_attempts(PROTECTED, script)
    }

    /// The handler with the four round trips that books teach.
    pub(crate) fn by_hand(script: Script) -> Self {
        Self::first_attempts(BY_HAND, script)
    }

    /// The handler with a record in its transaction, and no claim.
    pub(crate) fn floor(script: Script) -> Self {
        Self::first_attempts(FLOOR, script)
    }

    /// The handler under `#[idempotent]` that queues messages; these members stand beside its script.
    pub(crate) fn outbox(script: Script, beside: Map<String, Value>) -> Self {
        Self {
            beside,
            ..Self::first_attempts(OUTBOX, script)
        }
    }

    fn first_attempts(path: &'static str, script: Script) -> Self {
        Self {
            path,
            script,
            beside: Map::new(),
            keys: Keys::Fresh,
        }
    }

    #[must_use]
    pub(crate) fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    pub(crate) fn path(&self) -> &'static str {
        self.path
    }

    /// How long the body of every answer is.
    pub(crate) fn response(&self) -> usize {
        self.script.response
    }

    pub(crate) fn template(&self) -> Template {
        let mut body = self.script.body();
        if let Value::Object(members) = &mut body {
            members.extend(self.beside.clone());
        }
        let body = body.to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench:token\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nIdempotency-Key: ",
            self.path,
            body.len()
        );
        let mut wire = head.into_bytes();
        let key = wire.len()..wire.len() + key_text(0).len();
        wire.extend(key_text(0).into_bytes());
        wire.extend(b"\r\n\r\n");
        wire.extend(body.into_bytes());
        Template { wire, key }
    }
}

impl Script {
    pub(crate) fn new(work: Work, response: usize) -> Self {
        Self { work, response }
    }

    /// As `idem-testapp` takes it.
    pub(crate) fn body(self) -> Value {
        let work = match self.work {
            Work::OneInsert => "effects",
            Work::FourStatements => "four",
        };
        json!({
            "label": "bench",
            "work": work,
            "headers": [["Content-Type", "application/json"]],
            "body_size": self.response,
        })
    }
}

impl Work {
    pub(crate) const ALL: [Self; 2] = [Self::OneInsert, Self::FourStatements];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneInsert => "one insert",
            Self::FourStatements => "four statements",
        }
    }
}

/// "1 connection", "16 connections".
pub(crate) fn connections_text(count: usize) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} connection{ending}")
}

/// A number that no other request of this run has.
pub(crate) fn fresh_keys(count: u64) -> Range<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    first..first + count
}

/// The key of that number: always of the same length, and never that of another run.
pub(crate) fn key_text(number: u64) -> String {
    static RUN: OnceLock<u128> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.map(|time| time.as_micros()).unwrap_or_default()
    });
    format!("{run:016x}-{number:015x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_one_length_and_all_different() {
        let numbers = fresh_keys(3);
        assert_eq!(numbers.end - numbers.start, 3);
        assert!(!numbers.contains(&fresh_keys(1).start));
        assert_eq!(key_text(0).len(), key_text(u64::from(u32::MAX)).len());
        assert_ne!(key_text(1), key_text(2));
    }

    #[test]
    fn a_template_has_a_place_for_the_key() {
        let Template { wire, key } = Traffic::bare(Script::new(Work::OneInsert, 300)).template();
        assert_eq!(&wire[key.clone()], key_text(0).as_bytes());
        assert!(wire[..key.start].ends_with(b"\r\nIdempotency-Key: "));
        assert!(wire[key.end..].starts_with(b"\r\n\r\n{"));
    }
}
