//! [`Args`] + `ItemFn` → [`Handler`]: the rules of a protected handler, and every refusal, combined.
//!
//! Never generates.

use std::time::Duration;

use humantime::format_duration;
use syn::ItemFn;

use crate::args::{Args, Written};
use crate::attributes::{self, Attributes};
use crate::choices::{BodyForm, InFlight, Isolation, KeyRule, Scope, Store};
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
    pub(crate) fingerprint: BodyForm,
    pub(crate) body_limit: u32,
    pub(crate) response_limit: u32,
    pub(crate) timeout: Duration,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) retries: u32,
}

impl Handler {
    pub(crate) fn new(args: Args, function: &ItemFn, mut problems: Problems) -> syn::Result<Self> {
        // An option that could not be read may be the one that another needs.
        if problems.is_empty() {
            judge_lengths(&args, &mut problems);
        }
        attributes::judge(&function.attrs, &mut problems);
        signature::judge(&function.sig, &mut problems);
        let arguments = problems.finish(Arguments::of(&function.sig))?;
        Ok(Self {
            attributes: Attributes::split(&function.attrs),
            function: function.clone(),
            arguments,
            policy: Policy::new(args),
        })
    }
}

const RETAIN: Duration = Duration::from_secs(24 * 60 * 60);
const TIMEOUT: Duration = Duration::from_secs(30);
const BODY_LIMIT: u32 = 2 << 20;
const RESPONSE_LIMIT: u32 = 1 << 20;

impl Policy {
    fn new(args: Args) -> Self {
        Self {
            scope: given(args.scope).unwrap_or(Scope::Account),
            retain: given(args.retain).unwrap_or(RETAIN),
            store: given(args.store).unwrap_or(Store::Final),
            in_flight: given(args.in_flight).unwrap_or(InFlight::Reject),
            key: given(args.key).unwrap_or(KeyRule::Required),
            fingerprint: given(args.fingerprint).unwrap_or(BodyForm::Json),
            body_limit: given(args.body_limit).unwrap_or(BODY_LIMIT),
            response_limit: given(args.response_limit).unwrap_or(RESPONSE_LIMIT),
            timeout: given(args.timeout).unwrap_or(TIMEOUT),
            isolation: given(args.isolation),
            retries: given(args.retries).unwrap_or(0),
        }
    }
}

fn given<T>(option: Option<Written<T>>) -> Option<T> {
    option.map(|written| written.value)
}

/// Refuses lengths of time that make no sense together.
fn judge_lengths(args: &Args, problems: &mut Problems) {
    let retain = args.retain.as_ref().map_or(RETAIN, |retain| retain.value);
    let timeout = args
        .timeout
        .as_ref()
        .map_or(TIMEOUT, |timeout| timeout.value);
    let default = |is_default: bool| if is_default { " (the default)" } else { "" };

    if retain <= timeout {
        let (retain_text, timeout_text) = (format_duration(retain), format_duration(timeout));
        let (span, message) = match (&args.retain, &args.timeout) {
            (Some(written), timeout) => (
                written.span,
                format!(
                    "`retain` must be longer than the `timeout` of {timeout_text}{}: \
                     write more than \"{timeout_text}\", or a shorter `timeout`",
                    default(timeout.is_none()),
                ),
            ),
            (None, Some(written)) => (
                written.span,
                format!(
                    "`timeout` must be shorter than the `retain` of {retain_text} (the default): \
                     write less than \"{retain_text}\", or a longer `retain`"
                ),
            ),
            (None, None) => return,
        };
        problems.add(syn::Error::new(span, message));
    }

    if let Some(Written {
        value: InFlight::Wait(wait),
        span,
    }) = &args.in_flight
        && *wait > timeout
    {
        let timeout_text = format_duration(timeout);
        problems.add(syn::Error::new(
            *span,
            format!(
                "`in_flight` waits longer than the first attempt may run, which is the `timeout` of {timeout_text}{}: \
                 write \"wait {timeout_text}\" or less, or a longer `timeout`",
                default(args.timeout.is_none()),
            ),
        ));
    }
}
