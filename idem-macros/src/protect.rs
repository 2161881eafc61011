//! The macro as a function over `proc_macro2`: attribute and item in, one item out.
//!
//! Only calls the others, in their order.

use proc_macro2::{Span, TokenStream};
use syn::{Item, ItemFn};

use crate::handler::Handler;
use crate::problems::Problems;
use crate::{args, expand, fallback};

pub(crate) fn protect(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let args = args::parse(attribute, &mut problems);
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return fallback::item(&problems.and(not_a_function(error, &item)), &item),
    };
    match Handler::new(args, &function, problems) {
        Ok(handler) => expand::expand(handler),
        Err(error) => fallback::function(&error, function),
    }
}

/// What is wrong with an item that is no function; if it is no item either, the parser's own words.
fn not_a_function(error: syn::Error, item: &TokenStream) -> syn::Error {
    match syn::parse2::<Item>(item.clone()) {
        Ok(_) => syn::Error::new(
            Span::call_site(),
            "`#[idempotent]` protects a handler: put it on an `async fn` with a body",
        ),
        Err(_) => error,
    }
}
