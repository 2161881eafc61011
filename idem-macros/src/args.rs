//! Attribute text → [`Args`], spans kept.
//!
//! Refuses what is wrong with one option by itself: an unknown name, a repetition, a value that cannot be read.
//! Never knows the function that the attribute stands on, and never generates.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;

use crate::choices::{
    self, BodyForm, ExpiredKeys, InFlight, Isolation, KeyRule, Mode, Resume, Scope, Store,
    Unresolved,
};
use crate::problems::Problems;
use crate::value::{self, Value};
use crate::{duration, hint, pointers, size};

/// One option as it was written.
#[derive(Debug)]
pub(crate) struct Written<T> {
    pub(crate) value: T,
    /// Where the name stands, for a rule by which the option is out of place.
    pub(crate) keyword: Span,
    /// Where the value stands, for a rule that this option breaks together with another.
    pub(crate) span: Span,
}

/// The one table of the options: the name, the type of its value, how that is read, and a value to show.
macro_rules! options {
    ($($name:ident: $type:ty = $read:path, $example:literal;)*) => {
        /// What one attribute says; nothing for an option that it leaves out.
        #[derive(Debug, Default)]
        pub(crate) struct Args {
            $(pub(crate) $name: Option<Written<$type>>,)*
            /// The names of the options that could not be read, as they are written.
            unread: Vec<Ident>,
        }

        const EXAMPLES: &[(&str, &str)] = &[$((stringify!($name), $example)),*];

        impl Args {
            fn set(&mut self, seen: &mut Vec<Ident>, keyword: Ident, value: TokenStream) -> syn::Result<()> {
                match keyword.to_string().as_str() {
                    $(stringify!($name) => {
                        let value = Value::new(stringify!($name), $example, value);
                        once(&mut self.$name, seen, keyword, value, $read)
                    })*
                    _ => Err(unknown(&keyword)),
                }
            }
        }
    };
}

options! {
    mode: Mode = choices::mode, "\"lease\"";
    scope: Scope = choices::scope, "\"account\"";
    retain: Duration = duration::read, "\"24h\"";
    store: Store = choices::store, "\"final\"";
    in_flight: InFlight = choices::in_flight, "\"wait 2s\"";
    key: KeyRule = choices::key, "\"optional\"";
    expired_keys: ExpiredKeys = choices::expired_keys, "\"refuse\"";
    fingerprint: BodyForm = choices::fingerprint, "\"raw\"";
    body_limit: u32 = size::read, "\"2MiB\"";
    response_limit: u32 = size::read, "\"1MiB\"";
    redact: Vec<String> = pointers::read, "[\"/card/number\"]";
    timeout: Duration = duration::read, "\"30s\"";
    isolation: Isolation = choices::isolation, "\"serializable\"";
    retries: u32 = choices::retries, "3";
    lease: Duration = duration::read, "\"2m\"";
    unresolved: Unresolved = choices::unresolved, "\"rerun\"";
    resume: Resume = choices::resume, "\"background\"";
}

impl Args {
    /// Whether this option, or one with a name like it, was refused, so that nobody knows what it would say.
    pub(crate) fn could_not_read(&self, option: &str) -> bool {
        self.unread.iter().any(|name| meant(name) == Some(option))
    }
}

/// Reads the attribute's text as far as it can be read, and notes everything else.
pub(crate) fn parse(text: TokenStream, problems: &mut Problems) -> Args {
    let mut args = Args::default();
    let mut seen = Vec::new();
    for option in split_at_commas(text, problems) {
        let name = match option.first() {
            Some(TokenTree::Ident(name)) => Some(name.clone()),
            _ => None,
        };
        let read =
            assignment(option).and_then(|(keyword, value)| args.set(&mut seen, keyword, value));
        if problems.note(read).is_none() {
            args.unread.extend(name);
        }
    }
    args
}

/// Fills the slot of one option, once.
fn once<T>(
    slot: &mut Option<Written<T>>,
    seen: &mut Vec<Ident>,
    keyword: Ident,
    value: Value,
    read: fn(&Value) -> syn::Result<T>,
) -> syn::Result<()> {
    if seen.contains(&keyword) {
        return Err(syn::Error::new(
            keyword.span(),
            format!("`{keyword}` is given twice: keep one of the two"),
        ));
    }
    let span = keyword.span();
    seen.push(keyword);
    *slot = Some(Written {
        value: read(&value)?,
        keyword: span,
        span: value.span(),
    });
    Ok(())
}

fn split_at_commas(text: TokenStream, problems: &mut Problems) -> Vec<Vec<TokenTree>> {
    let mut options = vec![Vec::new()];
    for token in text {
        match (&token, options.last_mut()) {
            (TokenTree::Punct(comma), Some(option)) if comma.as_char() == ',' => {
                if option.is_empty() {
                    problems.at(
                        &token,
                        "there is no option in front of this comma: take it out",
                    );
                } else {
                    options.push(Vec::new());
                }
            }
            (_, Some(option)) => option.push(token),
            (_, None) => options.push(vec![token]),
        }
    }
    options.retain(|option| !option.is_empty());
    options
}

/// `name = value`
fn assignment(option: Vec<TokenTree>) -> syn::Result<(Ident, TokenStream)> {
    let Some(TokenTree::Ident(keyword)) = option.first() else {
        return Err(syn::Error::new_spanned(
            TokenStream::from_iter(option),
            "an option is a name and a value: write `retain = \"24h\"`",
        ));
    };
    let Some((_, example)) = EXAMPLES.iter().find(|(name, _)| keyword == name) else {
        return Err(unknown(keyword));
    };
    match option.get(1..) {
        Some([TokenTree::Punct(equals), TokenTree::Literal(_), next, ..])
            if equals.as_char() == '=' =>
        {
            Err(syn::Error::new(
                next.span(),
                "options are separated by commas: write `,` in front of this",
            ))
        }
        Some([TokenTree::Punct(equals), value @ ..])
            if equals.as_char() == '=' && !value.is_empty() =>
        {
            Ok((keyword.clone(), value.iter().cloned().collect()))
        }
        _ => Err(syn::Error::new_spanned(
            TokenStream::from_iter(option.iter().cloned()),
            format!(
                "`{keyword}` needs a value: {}",
                value::correct(&keyword.to_string(), example)
            ),
        )),
    }
}

/// The option whose name is this one or like it.
fn meant(name: &Ident) -> Option<&'static str> {
    let names = EXAMPLES.iter().map(|(name, _)| *name);
    hint::nearest(&name.unraw().to_string(), names)
}

fn unknown(keyword: &Ident) -> syn::Error {
    let name = keyword.unraw();
    let list: Vec<_> = EXAMPLES
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let list = list.join(", ");
    let message = match meant(keyword) {
        Some(near) => {
            format!("there is no option `{name}`: did you mean `{near}`? The options are {list}")
        }
        None => format!("there is no option `{name}`: the options are {list}"),
    };
    syn::Error::new(keyword.span(), message)
}
