//! What a proof has found, rule by rule.
//!
//! No requests, no judgement.

use std::collections::BTreeMap;
use std::fmt;

use actix_web::http::header::HeaderName;

/// What must hold of an endpoint. In the order of a report. A minor release may add rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A request with a new key is carried out: it is answered below 400, and not as a replay.
    FirstRequest,
    /// [`Proof::effects`](super::Proof::effects) sees what it does.
    Effects,
    /// A retry gets the first answer (status, headers, body), and does nothing. `Date`, what belongs to one
    /// connection (RFC 9110, section 7.6.1) and what only the first answer may have (`Set-Cookie`,
    /// `WWW-Authenticate`, `Authentication-Info`) do not count. What the endpoint's `redact` leaves out of the record is
    /// missing in a replay, with the fields about the bytes of the whole body.
    Retry,
    /// A replay says that it is one.
    Marker,
    /// The same key with another body is refused with 422 (draft-ietf-httpapi-idempotency-key-header, section 2.7),
    /// does nothing, and leaves the first answer in place.
    OtherBody,
    /// While the first request is running, a duplicate is answered at once as the endpoint declares it (409, or 202),
    /// and another body with 422. Of the runtime's own handlers only, which can be held.
    InFlight,
    /// Many requests at the same time have one effect; who is not answered as the first one is, gets 409 with
    /// `Retry-After`. Not proven if none met another.
    Concurrent,
    /// A client that goes away at any moment gets an answer on retry, and its operation has one effect. Not proven if
    /// there is no such moment.
    DroppedClient,
    /// A handler that panics or fails leaves nothing and no record, and a retry carries the operation out. In lease
    /// mode: what is done once stays done once, and a retry is told what the endpoint declares.
    Failure,
    /// A run that has outlived its claim, and a retry that came meanwhile, have one effect between them, and a later
    /// retry is answered; or told that it is unresolved, if the endpoint holds such operations.
    LateOwner,
    /// The same key of another account is another operation, with an answer of its own.
    OtherAccount,
    /// Where the key is required, a request without one is refused with 400 and does nothing; where it is optional,
    /// it is carried out.
    KeyMissing,
    /// A key that is empty, too long, malformed or sent twice is refused with 400, and nothing is done.
    KeyMalformed,
    /// A body that the extractors refuse leaves its key unused.
    RefusedBody,
}

impl Rule {
    /// All of them, in the order of a report.
    pub const ALL: &'static [Self] = &[
        Self::FirstRequest,
        Self::Effects,
        Self::Retry,
        Self::Marker,
        Self::OtherBody,
        Self::InFlight,
        Self::Concurrent,
        Self::DroppedClient,
        Self::Failure,
        Self::LateOwner,
        Self::OtherAccount,
        Self::KeyMissing,
        Self::KeyMalformed,
        Self::RefusedBody,
    ];

    /// What is claimed, of effects and answers or of answers alone.
    fn sentence(self, is_of_answers: bool) -> &'static str {
        match self {
            Self::Retry if is_of_answers => "a retry gets the first answer, byte for byte",
            Self::Concurrent if is_of_answers => "requests at the same time get one answer",
            Self::Failure if is_of_answers => "a failure is not remembered",
            Self::LateOwner if is_of_answers => {
                "a run that outlives its claim gives no second answer"
            }
            Self::OtherAccount if is_of_answers => {
                "the same key of another account has its own answer"
            }
            Self::FirstRequest => "a request with a new key is carried out",
            Self::Effects => "`effects` sees what it does",
            Self::Retry => "a retry gets the first answer, byte for byte, and does nothing",
            Self::Marker => "a replay says that it is one",
            Self::OtherBody => "the same key with another body is refused",
            Self::InFlight => "while a request is running, others of its key are told so",
            Self::Concurrent => "requests at the same time have one effect",
            Self::DroppedClient => "a client that went away gets its answer on retry",
            Self::Failure => "a failure leaves nothing, and its key free",
            Self::LateOwner => "a run that outlives its claim adds nothing to the next one",
            Self::OtherAccount => "the same key of another account is another operation",
            Self::KeyMissing => "a request without a key is what the endpoint says it is",
            Self::KeyMalformed => "a malformed key is refused",
            Self::RefusedBody => "a body that is refused leaves its key unused",
        }
    }
}

/// The word on one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It holds as far as a test can see.
    Proven,
    /// It does not, and this was seen.
    Broken(Vec<String>),
    /// Nobody knows: something is missing.
    Unproven(String),
    /// It was left out, for this reason.
    Skipped(String),
}

/// What [`Proof::check`](super::Proof::check) has found. Its `Display` is what a failing test prints; it has
/// excerpts of answers, and no keys.
#[derive(Debug, Clone)]
pub struct Report {
    pub(super) endpoint: String,
    pub(super) verdicts: BTreeMap<Rule, Verdict>,
    /// Whether effects were not counted, because the test says that there is nothing to count.
    pub(super) is_of_answers: bool,
    /// Fields that were not compared, because replays differ in them.
    pub(super) unsettled: Vec<HeaderName>,
}

impl Report {
    /// The word on a rule.
    #[must_use]
    pub fn verdict(&self, rule: Rule) -> Option<&Verdict> {
        self.verdicts.get(&rule)
    }

    /// The rules that are broken.
    #[must_use]
    pub fn broken(&self) -> Vec<Rule> {
        self.of(|verdict| matches!(verdict, Verdict::Broken(_)))
    }

    /// The rules of which nobody knows.
    #[must_use]
    pub fn unproven(&self) -> Vec<Rule> {
        self.of(|verdict| matches!(verdict, Verdict::Unproven(_)))
    }

    /// Whether no rule is broken, and none unproven. Skipped ones do not count.
    ///
    /// Where [`Rule::Effects`] is skipped and nothing was counted, this is about answers alone: that there was one effect
    /// is then not claimed, and the report says so.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.broken().is_empty() && self.unproven().is_empty()
    }

    fn of(&self, wanted: impl Fn(&Verdict) -> bool) -> Vec<Rule> {
        let found = self.verdicts.iter().filter(|(_, verdict)| wanted(verdict));
        found.map(|(rule, _)| *rule).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (broken, unproven) = (self.broken().len(), self.unproven().len());
        let all = self.verdicts.len();
        let endpoint = &self.endpoint;
        writeln!(
            f,
            "{endpoint}: {broken} of {all} rules broken, {unproven} not proven"
        )?;
        if self.is_of_answers {
            writeln!(f, "  effects were not counted: this is about answers alone")?;
        }
        for name in &self.unsettled {
            writeln!(
                f,
                "  not compared: `{name}`, in which two replays differ, so that it is not from the record"
            )?;
        }
        for (rule, verdict) in &self.verdicts {
            let (word, notes) = match verdict {
                Verdict::Proven => ("proven", &[][..]),
                Verdict::Broken(notes) => ("BROKEN", notes.as_slice()),
                Verdict::Unproven(note) => ("UNPROVEN", std::slice::from_ref(note)),
                Verdict::Skipped(note) => ("skipped", std::slice::from_ref(note)),
            };
            writeln!(
                f,
                "  {word:<8}  {rule:?}: {}",
                rule.sentence(self.is_of_answers)
            )?;
            for note in notes {
                writeln!(f, "            - {note}")?;
            }
        }
        Ok(())
    }
}
