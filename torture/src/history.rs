//! What happened: operations, attempts with their answers, faults, messages that arrived; kept in memory, and written down as it comes, one
//! JSON object a line. Judges nothing.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use idem_tests::Response;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Outcome;
use crate::plan::Operation;

/// Microseconds since the run began.
pub(crate) type Moment = u64;

/// One request that was sent.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// Its place among the operations.
    pub(crate) operation: usize,
    pub(crate) variant: usize,
    pub(crate) app: usize,
    pub(crate) is_after_the_harm: bool,
    pub(crate) started: Moment,
    pub(crate) ended: Moment,
    pub(crate) end: End,
}

/// What its client saw.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum End {
    Answer(Answer),
    /// No answer, or half of one.
    Lost(String),
    /// It did not wait for one.
    HungUp,
}

/// A whole answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The `code` of a problem of ours.
    pub(crate) code: Option<String>,
    pub(crate) is_replay: bool,
    pub(crate) retry_after: Option<u64>,
    /// Which run of the handler made it.
    pub(crate) run: Option<String>,
    /// All but date, run, marker and connection, in alphabetical order.
    pub(crate) headers: String,
    pub(crate) body: Arc<str>,
}

/// What an answer means for who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The operation's answer.
    Final,
    /// The key is another request's.
    Mismatch,
    /// Ask again.
    Later,
    /// Nothing that the contract knows here.
    Foreign,
}

/// The database's clock was set forward.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Shift {
    pub(crate) started: Moment,
    pub(crate) ended: Moment,
    /// By how many microseconds.
    pub(crate) by: u64,
}

/// A fault, and whether it could be done.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Injected {
    pub(crate) fault: &'static str,
    pub(crate) started: Moment,
    pub(crate) ended: Moment,
    pub(crate) what: Option<String>,
}

/// A message that has arrived as a whole.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Arrival {
    pub(crate) id: String,
    pub(crate) body: Arc<str>,
    /// Whether it counts for whoever got it.
    pub(crate) is_taken: bool,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) operations: Vec<Arc<Operation>>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) shifts: Vec<Shift>,
    pub(crate) faults: Vec<Injected>,
    /// In the order in which they came.
    pub(crate) arrivals: Vec<Arrival>,
}

/// The record while it grows.
pub(crate) struct History {
    begun: Instant,
    directory: PathBuf,
    kept: Mutex<Kept>,
}

struct Kept {
    record: Record,
    file: BufWriter<File>,
}

impl Answer {
    pub(crate) fn of(response: &Response, operation: &Operation) -> Self {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let first = |name: &str| response.all(name).first().map(|value| text(value));
        let mut headers: Vec<_> = response
            .headers
            .iter()
            .map(|(name, value)| format!("{}: {}", name.to_ascii_lowercase(), text(value)))
            .filter(|line| {
                !["date:", "x-run:", "idempotent-replayed:", "connection:"]
                    .iter()
                    .any(|name| line.starts_with(name))
            })
            .collect();
        headers.sort();
        let problem = first("Content-Type").is_some_and(|kind| kind == "application/problem+json");
        let problem = problem.then(|| serde_json::from_slice::<Value>(&response.body));
        let code = problem.and_then(Result::ok);
        let code = code.and_then(|problem| Some(problem.get("code")?.as_str()?.to_owned()));
        // One copy of a body that is seen again and again.
        let known = operation.variants.iter();
        let body = known
            .map(|variant| &variant.body)
            .find(|body| body.as_bytes() == response.body)
            .map_or_else(|| Arc::from(text(&response.body)), Arc::clone);
        Self {
            status: response.status,
            code,
            is_replay: first("Idempotent-Replayed").is_some_and(|value| value == "true"),
            retry_after: first("Retry-After").and_then(|value| value.parse().ok()),
            run: first("X-Run"),
            headers: headers.join("\n"),
            body,
        }
    }

    pub(crate) fn meaning(&self) -> Meaning {
        match (self.code.as_deref(), self.status) {
            (Some("idempotency-key-reused"), 422) => Meaning::Mismatch,
            (Some("idempotency-in-flight" | "idempotency-unresolved"), 409) => Meaning::Later,
            (Some("idempotency-store-unavailable"), 503) => Meaning::Later,
            (Some("handler-failed"), 500 | 504) => Meaning::Later,
            (Some(_), _) => Meaning::Foreign,
            // The handler's own failures, and the server's where a request was too slow.
            (None, 408 | 500..) => Meaning::Later,
            (None, 200..300 | 402 | 404 | 410) => Meaning::Final,
            (None, _) => Meaning::Foreign,
        }
    }

    /// Whether somebody was told that it has happened.
    pub(crate) fn is_success(&self) -> bool {
        self.meaning() == Meaning::Final && self.status < 300
    }
}

impl Attempt {
    pub(crate) fn answer(&self) -> Option<&Answer> {
        match &self.end {
            End::Answer(answer) => Some(answer),
            End::Lost(_) | End::HungUp => None,
        }
    }
}

impl History {
    /// An empty one, in a file of a new directory.
    pub(crate) fn begin(directory: &Path) -> Outcome<Self> {
        fs::create_dir_all(directory)?;
        let file = File::create(directory.join("history.jsonl"))?;
        Ok(Self {
            begun: Instant::now(),
            directory: directory.into(),
            kept: Mutex::new(Kept {
                record: Record::default(),
                file: BufWriter::new(file),
            }),
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn now(&self) -> Moment {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Its place.
    pub(crate) fn operation(&self, operation: &Arc<Operation>) -> usize {
        let mut kept = self.kept();
        let place = kept.record.operations.len();
        kept.write(&json!({ "place": place, "operation": &**operation }));
        kept.record.operations.push(Arc::clone(operation));
        place
    }

    pub(crate) fn attempt(&self, attempt: Attempt) {
        let mut kept = self.kept();
        kept.write(&json!({ "attempt": attempt }));
        kept.record.attempts.push(attempt);
    }

    pub(crate) fn fault(&self, fault: Injected) {
        let mut kept = self.kept();
        kept.write(&json!({ "fault": fault }));
        kept.record.faults.push(fault);
    }

    pub(crate) fn shift(&self, shift: Shift) {
        let mut kept = self.kept();
        kept.write(&json!({ "shift": shift }));
        kept.record.shifts.push(shift);
    }

    pub(crate) fn arrival(&self, arrival: Arrival) {
        let mut kept = self.kept();
        let at = self.now();
        kept.write(&json!({ "arrival": arrival, "at": at }));
        kept.record.arrivals.push(arrival);
    }

    /// One more line, which the record does not need.
    pub(crate) fn note(&self, name: &str, value: &impl Serialize) {
        self.kept().write(&json!({ name: value }));
    }

    pub(crate) fn record(&self) -> Record {
        self.kept().record.clone()
    }

    pub(crate) fn record_of_shifts(&self) -> Vec<Shift> {
        self.kept().record.shifts.clone()
    }

    pub(crate) fn flush(&self) -> Outcome {
        Ok(self.kept().file.flush()?)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn write(&mut self, line: &Value) {
        // A full disk must not end the run: the record is in memory.
        let _ = writeln!(self.file, "{line}");
    }
}
