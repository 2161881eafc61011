//! What the fuzz target `attribute` calls, which panics where a rule is broken; the unit tests run the same over what is
//! committed in `fuzz/`. No part of the macro.

use proc_macro2::{TokenStream, TokenTree};
use syn::{File, Item, LitStr};

use crate::protect::protect;

/// A handler of each mode.
const HANDLERS: [&str; 2] = [
    "async fn order(item: String, conn: &mut AsyncPgConnection) -> HttpResponse { todo(item, conn) }",
    "async fn parcel(steps: Steps) -> HttpResponse { todo(steps) }",
];

thread_local! {
    static ITEMS: Vec<TokenStream> = HANDLERS.iter().map(|text| text.parse().expect("tokens")).collect();
}

/// The attribute's text on each handler, or, behind a zero byte, on the item that follows. Whether it is of tokens, as
/// all is that a macro gets.
pub(crate) fn attribute(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let (text, item) = match text.split_once('\0') {
        Some((text, item)) => (text, Some(item.parse::<TokenStream>())),
        None => (text, None),
    };
    match (text.parse(), item) {
        (Ok(attribute), None) => ITEMS.with(|items| {
            for item in items {
                on_a_handler(&attribute, item);
            }
        }),
        // Whatever it is, there is no panic, and something comes back.
        (Ok(attribute), Some(Ok(item))) => {
            assert!(item.is_empty() || !protect(attribute, item).is_empty())
        }
        _ => return false,
    }
    true
}

/// It becomes one item without a complaint, or comes back beside words of complaint.
fn on_a_handler(attribute: &TokenStream, item: &TokenStream) {
    let made: File = syn::parse2(protect(attribute.clone(), item.clone())).expect("items");
    let (last, complaints) = made.items.split_last().expect("the handler");
    assert!(matches!(last, Item::Fn(_)));
    for complaint in complaints {
        let Item::Macro(complaint) = complaint else {
            panic!("not asked for: {complaint:?}");
        };
        assert!(
            complaint
                .mac
                .path
                .segments
                .last()
                .is_some_and(|name| name.ident == "compile_error")
        );
        let words: LitStr = complaint.mac.parse_body().expect("words");
        assert!(!words.value().is_empty());
    }
    assert!(!complaints.is_empty() || is_well_formed(attribute.clone()));
}

/// `name = literal` between commas, and no name twice: nothing else is ever accepted.
fn is_well_formed(attribute: TokenStream) -> bool {
    let tokens: Vec<_> = attribute.into_iter().collect();
    let is = |token: &TokenTree, wanted| matches!(token, TokenTree::Punct(mark) if mark.as_char() == wanted);
    let mut names = Vec::new();
    tokens
        .split(|token| is(token, ','))
        .all(|option| match option {
            [] => true,
            [TokenTree::Ident(name), equals, TokenTree::Literal(_)] if is(equals, '=') => {
                let is_new = !names.contains(name);
                names.push(name.clone());
                is_new
            }
            _ => false,
        })
}

#[test]
fn what_is_committed() {
    for kind in ["seeds", "corpus"] {
        let directory = format!("{}/../fuzz/{kind}/attribute", env!("CARGO_MANIFEST_DIR"));
        let files: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
        assert!(!files.is_empty(), "{directory}");
        for file in files {
            let path = file.unwrap().path();
            // Shown if the check fails.
            println!("{}", path.display());
            attribute(&std::fs::read(path).unwrap());
        }
    }
}
