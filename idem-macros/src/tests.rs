//! The macro over `proc_macro2`: what it makes of its input, and what it says when it makes nothing of it.
//!
//! Where a message points is seen by the compiler only; the UI tests of the workspace hold that.

mod expansions;
mod options;
mod redact;
mod refusals;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, File, Item, Meta};

use crate::attributes;

/// Expands the first `#[idempotent]` of the source, which has one item, the way that the compiler does it:
/// route macros above ours have run by then, inert attributes above it are still there.
fn expand(source: &str) -> syn::Result<File> {
    let mut file: File = syn::parse_str(source)?;
    let mut attribute = TokenStream::new();
    if let Some(attributes) = file.items.first_mut().and_then(attributes_of) {
        let ours = attributes
            .iter()
            .position(|attribute| attribute.path().is_ident("idempotent"));
        if let Some(ours) = ours {
            if let Meta::List(list) = attributes.remove(ours).meta {
                attribute = list.tokens;
            }
            let below = attributes.split_off(ours);
            attributes.retain(|attribute| !attributes::is_route(&attribute.meta));
            attributes.extend(below);
        }
    }
    syn::parse2(crate::protect::protect(attribute, file.to_token_stream()))
}

fn attributes_of(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Fn(item) => Some(&mut item.attrs),
        Item::Struct(item) => Some(&mut item.attrs),
        _ => None,
    }
}

/// The messages in an expansion, and what stands beside them.
fn messages(file: File) -> (Vec<String>, Vec<Item>) {
    let mut messages = Vec::new();
    let mut others = Vec::new();
    for item in file.items {
        match item {
            Item::Macro(item)
                if item
                    .mac
                    .path
                    .segments
                    .last()
                    .is_some_and(|name| name.ident == "compile_error") =>
            {
                let message: Option<syn::LitStr> = item.mac.parse_body().ok();
                messages.push(message.map(|text| text.value()).unwrap_or_default());
            }
            other => others.push(other),
        }
    }
    (messages, others)
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!(name, text);
    });
}
