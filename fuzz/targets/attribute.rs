//! The attribute's text: whatever it is, the macro makes an item of it, or refuses it in words.

#![no_main]
#![allow(dead_code, reason = "the macro crate's sources as they are")]

use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use proc_macro2::TokenStream;
use syn::ItemFn;

#[path = "../../idem-macros/src/args.rs"]
mod args;
#[path = "../../idem-macros/src/attributes.rs"]
mod attributes;
#[path = "../../idem-macros/src/choices.rs"]
mod choices;
#[path = "../../idem-macros/src/duration.rs"]
mod duration;
#[path = "../../idem-macros/src/expand.rs"]
mod expand;
#[path = "../../idem-macros/src/fallback.rs"]
mod fallback;
#[path = "../../idem-macros/src/handler.rs"]
mod handler;
#[path = "../../idem-macros/src/hint.rs"]
mod hint;
#[path = "../../idem-macros/src/lengths.rs"]
mod lengths;
#[path = "../../idem-macros/src/modes.rs"]
mod modes;
#[path = "../../idem-macros/src/problems.rs"]
mod problems;
#[path = "../../idem-macros/src/signature.rs"]
mod signature;
#[path = "../../idem-macros/src/size.rs"]
mod size;
#[path = "../../idem-macros/src/value.rs"]
mod value;

const HANDLERS: [&str; 2] = [
    "async fn order(item: String, conn: &mut AsyncPgConnection) -> HttpResponse { todo(item, conn) }",
    "async fn parcel(steps: Steps) -> HttpResponse { todo(steps) }",
];

thread_local! {
    static FUNCTIONS: LazyLock<Vec<ItemFn>> = const { LazyLock::new(|| {
        HANDLERS.iter().filter_map(|text| syn::parse_str(text).ok()).collect()
    }) };
}

fuzz_target!(|text: &str| -> Corpus {
    let Ok(tokens) = text.parse::<TokenStream>() else {
        return Corpus::Reject;
    };
    FUNCTIONS.with(|functions| {
        assert_eq!(functions.len(), HANDLERS.len());
        for function in functions.iter() {
            let made = protect(tokens.clone(), function);
            let file: syn::File = syn::parse2(made).expect("items");
            assert!(!file.items.is_empty());
        }
    });
    Corpus::Keep
});

/// As the macro itself does it, for what is a function.
fn protect(attribute: TokenStream, function: &ItemFn) -> TokenStream {
    let mut problems = problems::Problems::default();
    let args = args::parse(attribute, &mut problems);
    match handler::Handler::new(args, function, problems) {
        Ok(handler) => expand::expand(handler),
        Err(error) => {
            for error in error {
                assert!(!error.to_string().is_empty());
            }
            fallback::function(
                &syn::Error::new(proc_macro2::Span::call_site(), "refused"),
                function.clone(),
            )
        }
    }
}
