//! [`Args`] + `ItemFn` → [`Handler`]: the rules of a protected handler, and every refusal, combined.
//!
//! Never generates.

use std::time::Duration;

use syn::ItemFn;

use crate::args::{Args, Written};
use crate::attributes::{self, Attributes};
use crate::choices::{
    BodyForm, ExpiredKeys, InFlight, Isolation, KeyRule, Mode, Resume, Scope, Store, Unresolved,
};
use crate::lengths::Lengths;
use crate::modes;
use crate::problems::Problems;
use crate::signature::{self, Arguments};

/// A function that can be protected, and how.
pub(crate) struct Handler {
    pub(crate) attributes: Attributes,
    /// As the user wrote it, but for its attributes and visibility, which the outer function has.
    pub(crate) function: ItemFn,
    pub(crate) arguments: Arguments,
    pub(crate) policy: Policy,
}

/// What the attribute says, with the defaults for what it leaves out.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) scope: Scope,
    pub(crate) retain: Duration,
    pub(crate) store: Store,
    pub(crate) in_flight: InFlight,
    pub(crate) key: KeyRule,
    pub(crate) expired_keys: ExpiredKeys,
    pub(crate) fingerprint: BodyForm,
    pub(crate) body_limit: u32,
    pub(crate) response_limit: u32,
    pub(crate) redact: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) retries: u32,
    /// In lease mode only.
    pub(crate) lease: Option<Lease>,
}

/// What the attribute says of the lease.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) length: Duration,
    pub(crate) unresolved: Unresolved,
    pub(crate) resume: Resume,
}

impl Handler {
    pub(crate) fn new(args: Args, function: &ItemFn, mut problems: Problems) -> syn::Result<Self> {
        let mode = modes::of(&args);
        let lengths = Lengths::of(&args, mode);
        // An option that could not be read may be the one that another needs.
        if problems.is_empty() {
            modes::judge(&args, &mut problems);
            if let Some(mode) = mode {
                lengths.judge(&args, mode, &mut problems);
            }
        }
        attributes::judge(&function.attrs, &mut problems);
        signature::judge(&function.sig, mode, &mut problems);
        let arguments = Arguments::of(&function.sig, mode, &mut problems);
        problems.finish(Self {
            attributes: Attributes::split(&function.attrs),
            function: function.clone(),
            arguments,
            policy: Policy::new(args, mode, &lengths),
        })
    }
}

const BODY_LIMIT: u32 = 2 << 20;
const RESPONSE_LIMIT: u32 = 1 << 20;

impl Policy {
    fn new(args: Args, mode: Option<Mode>, lengths: &Lengths) -> Self {
        let lease = (mode == Some(Mode::Lease)).then(|| Lease {
            length: lengths.lease,
            unresolved: given(args.unresolved).unwrap_or(Unresolved::Hold),
            resume: given(args.resume).unwrap_or(Resume::Client),
        });
        Self {
            scope: given(args.scope).unwrap_or(Scope::Account),
            retain: lengths.retain,
            store: given(args.store).unwrap_or(Store::Final),
            in_flight: given(args.in_flight).unwrap_or(InFlight::Reject),
            key: given(args.key).unwrap_or(KeyRule::Required),
            expired_keys: given(args.expired_keys).unwrap_or(ExpiredKeys::Run),
            fingerprint: given(args.fingerprint).unwrap_or(BodyForm::Json),
            body_limit: given(args.body_limit).unwrap_or(BODY_LIMIT),
            response_limit: given(args.response_limit).unwrap_or(RESPONSE_LIMIT),
            redact: given(args.redact).unwrap_or_default(),
            timeout: lengths.timeout,
            isolation: given(args.isolation),
            retries: given(args.retries).unwrap_or(0),
            lease,
        }
    }
}

fn given<T>(option: Option<Written<T>>) -> Option<T> {
    option.map(|written| written.value)
}
