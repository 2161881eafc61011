//! Which options go with which mode.
//!
//! Never compares lengths of time, and never looks at the function.

use proc_macro2::Span;

use crate::args::{Args, Written};
use crate::choices::{InFlight, KeyRule, Mode, Resume, Scope, Unresolved};
use crate::hint;
use crate::problems::Problems;

/// The mode, unless nobody can tell: it could not be read, or is left out beside what only lease mode has.
pub(crate) fn of(args: &Args) -> Option<Mode> {
    let unread = || {
        ["mode", "lease", "unresolved", "resume"]
            .iter()
            .any(|option| args.could_not_read(option))
    };
    match &args.mode {
        Some(mode) => Some(mode.value),
        None if unread() || !only_in_lease_mode(args).is_empty() => None,
        None => Some(Mode::Transaction),
    }
}

/// Refuses options that the mode does not have, and words that do not go together in it.
pub(crate) fn judge(args: &Args, problems: &mut Problems) {
    match args.mode.as_ref().map(|mode| mode.value) {
        None | Some(Mode::Transaction) => judge_transaction(args, problems),
        Some(Mode::Lease) => judge_lease(args, problems),
    }
}

fn only_in_lease_mode(args: &Args) -> Vec<(&'static str, Span)> {
    let accept = args
        .in_flight
        .as_ref()
        .filter(|in_flight| in_flight.value == InFlight::Accept);
    [
        ("`lease`", keyword(&args.lease)),
        ("`unresolved`", keyword(&args.unresolved)),
        ("`resume`", keyword(&args.resume)),
        (
            "`in_flight = \"accept\"`",
            accept.map(|in_flight| in_flight.span),
        ),
    ]
    .into_iter()
    .filter_map(|(option, span)| Some((option, span?)))
    .collect()
}

fn keyword<T>(option: &Option<Written<T>>) -> Option<Span> {
    option.as_ref().map(|written| written.keyword)
}

/// A forgotten `mode` is one mistake, however many options wait for it.
fn judge_transaction(args: &Args, problems: &mut Problems) {
    let options = only_in_lease_mode(args);
    let Some((_, span)) = options.first() else {
        return;
    };
    let them = if options.len() == 1 { "it" } else { "them" };
    let list = hint::either(options.iter().map(|(option, _)| (*option).to_owned()));
    problems.add(syn::Error::new(
        *span,
        format!("only lease mode has {list}: write `mode = \"lease\"`, or leave {them} out"),
    ));
}

fn judge_lease(args: &Args, problems: &mut Problems) {
    if let Some(isolation) = &args.isolation {
        problems.add(syn::Error::new(
            isolation.keyword,
            "the transaction of a step is READ COMMITTED: leave `isolation` out in lease mode",
        ));
    }
    if let Some(retries) = &args.retries {
        problems.add(syn::Error::new(
            retries.keyword,
            "in lease mode a run that failed is not repeated within its request: leave `retries` out, \
             and write `unresolved = \"rerun\"` if the next request with the key may run the handler again",
        ));
    }
    if let Some(key) = &args.key
        && key.value == KeyRule::Optional
    {
        problems.add(syn::Error::new(
            key.span,
            "without a key there is nothing to hold a lease on: write `key = \"required\"`, or leave `key` out",
        ));
    }
    if let Some(resume) = &args.resume
        && resume.value == Resume::Background
        && args
            .unresolved
            .as_ref()
            .is_none_or(|unresolved| unresolved.value != Unresolved::Rerun)
    {
        problems.add(syn::Error::new(
            resume.span,
            "a handler is resumed in the background by running it again: write `unresolved = \"rerun\"` as well, \
             or `resume = \"client\"`",
        ));
    }
    judge_redact(args, problems);
    judge_accept(args, problems);
}

fn judge_redact(args: &Args, problems: &mut Problems) {
    if let (Some(redact), Some(resume)) = (&args.redact, &args.resume)
        && resume.value == Resume::Background
    {
        problems.add(syn::Error::new(
            redact.keyword,
            "with `resume = \"background\"` the request is kept whole until its response is recorded, so `redact` would \
             hide only a part: leave it out and seal what is stored, with `Builder::seal`",
        ));
    }
}

fn judge_accept(args: &Args, problems: &mut Problems) {
    let (Some(in_flight), Some(scope)) = (&args.in_flight, &args.scope) else {
        return;
    };
    let scope = match scope.value {
        Scope::Endpoint => "endpoint",
        Scope::Global => "global",
        Scope::Account | Scope::Named(_) => return,
    };
    if in_flight.value == InFlight::Accept {
        problems.add(syn::Error::new(
            in_flight.span,
            format!(
                "the status resource tells only the identity that an operation belongs to, and one in the scope \
                 \"{scope}\" belongs to nobody: write `scope = \"account\"`, or `in_flight = \"reject\"`"
            ),
        ));
    }
}
