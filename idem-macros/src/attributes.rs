//! The other attributes on the function: which of the two generated functions each belongs to, and which
//! of them say that the handler is for a method that has no key.
//!
//! Never knows an option of ours.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{AttrStyle, Attribute, Lit, LitStr, Meta, MetaNameValue, Path, Token, parse_quote};

use crate::problems::Problems;

/// Methods that a route macro of actix-web is named after, and that no key goes with.
const WITHOUT_KEY: &[&str] = &["get", "head", "options", "trace", "query", "connect"];
const WITH_KEY: &[&str] = &["post", "put", "patch", "delete"];
const OF_MANY: &[&str] = &["route", "routes"];

/// The function's attributes, each part in its order.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// What concerns the function that actix-web calls.
    pub(crate) outer: Vec<Attribute>,
    /// What concerns the function that the user wrote.
    pub(crate) inner: Vec<Attribute>,
}

impl Attributes {
    pub(crate) fn split(all: &[Attribute]) -> Self {
        let part = |place| {
            all.iter()
                .filter_map(|attribute| part_for(attribute, place))
                .collect()
        };
        Self {
            outer: part(Place::Outer),
            inner: part(Place::Inner),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outer,
    Inner,
    Nowhere,
}

/// The part of an attribute that belongs there.
fn part_for(attribute: &Attribute, place: Place) -> Option<Attribute> {
    let meta = match attribute.style {
        AttrStyle::Inner(_) => (place == Place::Inner).then(|| attribute.meta.clone()),
        AttrStyle::Outer => meta_for(&attribute.meta, place),
    };
    meta.map(|meta| Attribute {
        meta,
        ..attribute.clone()
    })
}

fn meta_for(meta: &Meta, place: Place) -> Option<Meta> {
    let Some((condition, metas)) = conditional(meta) else {
        return (place_of(meta) == place).then(|| meta.clone());
    };
    let metas: Vec<_> = metas
        .iter()
        .filter_map(|meta| meta_for(meta, place))
        .collect();
    (!metas.is_empty()).then(|| parse_quote!(cfg_attr(#condition, #(#metas),*)))
}

/// The condition and the attributes of a `cfg_attr`.
fn conditional(meta: &Meta) -> Option<(TokenStream, Vec<Meta>)> {
    let list = meta.require_list().ok()?;
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let parser = |input: ParseStream<'_>| {
        let mut condition = TokenStream::new();
        while !input.peek(Token![,]) {
            condition.extend([input.parse::<TokenTree>()?]);
        }
        input.parse::<Token![,]>()?;
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated(input)?;
        Ok((condition, metas.into_iter().collect()))
    };
    parser.parse2(list.tokens.clone()).ok()
}

fn place_of(meta: &Meta) -> Place {
    let Some(name) = last_segment(meta.path()) else {
        return Place::Inner;
    };
    if is_ours(meta.path()) {
        Place::Nowhere
    } else if is_route(meta)
        // `path` is utoipa's, which documents the function beside the route.
        || name == "path"
        // An `allow` on the outer function covers the inner one as well, and `dead_code` is about the outer one.
        || ["cfg", "cfg_attr", "doc", "deprecated", "allow"].iter().any(|known| meta.path().is_ident(known))
    {
        Place::Outer
    } else {
        Place::Inner
    }
}

fn is_ours(path: &Path) -> bool {
    last_segment(path).is_some_and(|name| name == "idempotent")
}

/// Whether this is a route macro of actix-web. Others have attributes of the same names (`#[trace]`), but only
/// a route begins with its path.
pub(crate) fn is_route(meta: &Meta) -> bool {
    let path = meta.path();
    let known = last_segment(path).is_some_and(|name| {
        [WITHOUT_KEY, WITH_KEY, OF_MANY]
            .iter()
            .any(|names| names.iter().any(|known| name == known))
    });
    let from_actix = path
        .segments
        .first()
        .is_some_and(|first| first.ident == "actix_web" || first.ident == "actix_web_codegen");
    let begins_with_a_path = meta.require_list().is_ok_and(|list| {
        matches!(
            list.tokens.clone().into_iter().next(),
            Some(TokenTree::Literal(_) | TokenTree::Group(_))
        )
    });
    known
        && (from_actix
            || (path.segments.len() == 1 && (path.is_ident("routes") || begins_with_a_path)))
}

fn last_segment(path: &Path) -> Option<&Ident> {
    path.segments.last().map(|segment| &segment.ident)
}

/// Refuses what cannot stand beside our attribute.
pub(crate) fn judge(all: &[Attribute], problems: &mut Problems) {
    for attribute in all {
        judge_meta(&attribute.meta, problems);
    }
}

fn judge_meta(meta: &Meta, problems: &mut Problems) {
    if let Some((_, metas)) = conditional(meta) {
        metas.iter().for_each(|meta| judge_meta(meta, problems));
    } else if is_ours(meta.path()) {
        problems.at(
            meta,
            "this handler has two `#[idempotent]` attributes: write all options into one",
        );
    } else if let Some(name) = last_segment(meta.path()).filter(|_| is_route(meta)) {
        if WITHOUT_KEY.iter().any(|method| name == method) {
            refuse_method(meta.path(), &name.to_string(), problems);
        } else if name == "route" {
            for method in methods_of_route(meta) {
                let name = method.value().to_lowercase();
                if WITHOUT_KEY.contains(&name.as_str()) {
                    refuse_method(&method, &name, problems);
                }
            }
        }
    }
}

fn refuse_method(at: impl quote::ToTokens, method: &str, problems: &mut Problems) {
    let upper = method.to_uppercase();
    let why = match method {
        "connect" => "opens a tunnel, and there is nothing to repeat",
        _ => "is a safe method: it changes nothing, and its requests carry no key",
    };
    problems.at(
        at,
        format!(
            "{upper} {why}; take `#[idempotent]` off this handler, \
             or use `#[post]`, `#[put]`, `#[patch]` or `#[delete]` if it changes something"
        ),
    );
}

/// The methods in `#[route("/path", method = "GET", …)]`.
fn methods_of_route(meta: &Meta) -> Vec<LitStr> {
    let parser = |input: ParseStream<'_>| {
        input.parse::<Lit>()?;
        input.parse::<Token![,]>()?;
        Punctuated::<MetaNameValue, Token![,]>::parse_terminated(input)
    };
    let Some(options) = meta
        .require_list()
        .ok()
        .and_then(|list| parser.parse2(list.tokens.clone()).ok())
    else {
        return Vec::new();
    };
    options
        .into_iter()
        .filter(|option| option.path.is_ident("method"))
        .filter_map(|option| match option.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: Lit::Str(method),
                ..
            }) => Some(method),
            _ => None,
        })
        .collect()
}
