//! The lengths of time of one policy, and which of them make no sense together.
//!
//! Never looks at an option that is not a length.

use std::time::Duration;

use humantime::format_duration;
use proc_macro2::Span;

use crate::args::{Args, Written};
use crate::choices::{InFlight, Mode};
use crate::problems::Problems;

const RETAIN: Duration = Duration::from_secs(24 * 60 * 60);
const TIMEOUT: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(2 * 60);
const SHORTEST_LEASE: Duration = Duration::from_secs(1);
/// In lease mode, how many leases a run may take: renewals carry one that is slow, but not one that hangs.
const LEASES: u32 = 10;

/// What the attribute says, with the defaults for what it leaves out.
pub(crate) struct Lengths {
    pub(crate) retain: Duration,
    pub(crate) timeout: Duration,
    pub(crate) lease: Duration,
}

impl Lengths {
    pub(crate) fn of(args: &Args, mode: Option<Mode>) -> Self {
        let given = |option: &Option<Written<Duration>>| option.as_ref().map(|given| given.value);
        let lease = given(&args.lease).unwrap_or(LEASE);
        let timeout = given(&args.timeout).unwrap_or(match mode {
            Some(Mode::Lease) => lease.saturating_mul(LEASES),
            _ => TIMEOUT,
        });
        Self {
            retain: given(&args.retain).unwrap_or(RETAIN),
            timeout,
            lease,
        }
    }

    /// Refuses lengths that make no sense together.
    pub(crate) fn judge(&self, args: &Args, mode: Mode, problems: &mut Problems) {
        let retain = Length::new("retain", self.retain, &args.retain);
        let timeout = Length::new("timeout", self.timeout, &args.timeout);
        let lease = Length::new("lease", self.lease, &args.lease);
        match mode {
            Mode::Transaction => retain.longer_than(&timeout, problems),
            Mode::Lease => {
                if let Some(written) = &args.lease
                    && written.value < SHORTEST_LEASE
                {
                    problems.add(syn::Error::new(
                        written.span,
                        "`lease` is too short, its renewals could not keep up: write at least \"1s\"",
                    ));
                }
                retain.at_least(&lease, problems);
                if timeout.written.is_some() {
                    lease.at_least(&timeout, problems);
                }
            }
        }
        self.judge_wait(args, mode, problems);
    }

    fn judge_wait(&self, args: &Args, mode: Mode, problems: &mut Problems) {
        let Some(Written {
            value: InFlight::Wait(wait),
            span,
            ..
        }) = &args.in_flight
        else {
            return;
        };
        if *wait <= self.timeout {
            return;
        }
        let (origin, longer) = match (&args.timeout, mode) {
            (Some(_), _) => ("", "timeout"),
            (None, Mode::Transaction) => (" (the default)", "timeout"),
            (None, Mode::Lease) => (" (ten times the `lease`)", "lease"),
        };
        let timeout = format_duration(self.timeout);
        problems.add(syn::Error::new(
            *span,
            format!(
                "`in_flight` waits longer than the first attempt may run, which is the `timeout` of {timeout}{origin}: \
                 write \"wait {timeout}\" or less, or a longer `{longer}`"
            ),
        ));
    }
}

/// One length, to be compared with another.
struct Length {
    option: &'static str,
    value: Duration,
    /// Where it is written, unless it is the default.
    written: Option<Span>,
}

impl Length {
    fn new(option: &'static str, value: Duration, written: &Option<Written<Duration>>) -> Self {
        Self {
            option,
            value,
            written: written.as_ref().map(|written| written.span),
        }
    }

    fn longer_than(&self, other: &Self, problems: &mut Problems) {
        if self.value <= other.value {
            self.refuse(other, Equal::Refused, problems);
        }
    }

    fn at_least(&self, other: &Self, problems: &mut Problems) {
        if self.value < other.value {
            self.refuse(other, Equal::Allowed, problems);
        }
    }

    /// Refuses this length, or, where it is the default, the other one.
    fn refuse(&self, other: &Self, equal: Equal, problems: &mut Problems) {
        let (longer, shorter) = (self.option, other.option);
        let (most, least) = (format_duration(self.value), format_duration(other.value));
        let (span, message) = match (self.written, other.written) {
            (Some(span), written) => {
                let default = if written.is_none() {
                    " (the default)"
                } else {
                    ""
                };
                let (than, write) = match equal {
                    Equal::Refused => ("longer than", format!("more than \"{least}\"")),
                    Equal::Allowed => ("at least as long as", format!("\"{least}\" or more")),
                };
                (
                    span,
                    format!(
                        "`{longer}` must be {than} the `{shorter}` of {least}{default}: \
                         write {write}, or a shorter `{shorter}`"
                    ),
                )
            }
            (None, Some(span)) => {
                let (than, write) = match equal {
                    Equal::Refused => ("shorter than", format!("less than \"{most}\"")),
                    Equal::Allowed => ("at most as long as", format!("\"{most}\" or less")),
                };
                (
                    span,
                    format!(
                        "`{shorter}` must be {than} the `{longer}` of {most} (the default): \
                         write {write}, or a longer `{longer}`"
                    ),
                )
            }
            (None, None) => return,
        };
        problems.add(syn::Error::new(span, message));
    }
}

/// Whether two lengths may be equal.
#[derive(Clone, Copy)]
enum Equal {
    Allowed,
    Refused,
}
