//! The canonical form of generated bodies, whole and damaged, against the oracle.

use proptest::prelude::*;
use proptest::sample::Index;

use super::canonical_json;
use super::oracle::{Tree, decoded, parse};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\"[abA]{0,2}\"",
        1 => "\"[a-c!~\u{e9}\u{ffff}\u{10000}]{1,3}\"",
        1 => Just(r#""\u0061""#.to_owned()),
        1 => Just(r#""\n\"""#.to_owned()),
    ]
}

fn token() -> impl Strategy<Value = String> {
    let string = r#""([ a-c,:\[\]{}]|\\["\\/bfnrt]|\\u00[0-9a-fA-F]{2}|\\ud83d\\ude0[0-9])*""#;
    prop_oneof![
        "true|false|null",
        r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        string,
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    token()
        .prop_map(Tree::Token)
        .prop_recursive(6, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::Array),
                prop::collection::vec((name(), inner), 0..6).prop_map(|members| {
                    let mut seen = Vec::new();
                    let mut fresh = |name: &str| {
                        let name = decoded(name);
                        let fresh = !seen.contains(&name);
                        seen.push(name);
                        fresh
                    };
                    Tree::Object(
                        members
                            .into_iter()
                            .filter(|(name, _)| fresh(name))
                            .collect(),
                    )
                }),
            ]
        })
}

/// The choices that a writer makes: where white space stands, which member comes next.
#[derive(Debug, Clone)]
struct Choices(Vec<Index>, usize);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.1 += 1;
        self.0[self.1 % self.0.len()].index(bound)
    }
}

fn choices() -> impl Strategy<Value = Choices> {
    prop::collection::vec(any::<Index>(), 1..40).prop_map(|choices| Choices(choices, 0))
}

fn write(tree: &Tree, choices: &mut Choices, text: &mut String) {
    let space = |choices: &mut Choices, text: &mut String| {
        text.push_str(["", "", " ", "\n", "\t\r\n  "][choices.below(5)]);
    };
    space(choices, text);
    match tree {
        Tree::Token(token) => text.push_str(token),
        Tree::Array(elements) => {
            text.push('[');
            for (place, element) in elements.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write(element, choices, text);
            }
            space(choices, text);
            text.push(']');
        }
        Tree::Object(members) => {
            let mut left: Vec<_> = members.iter().collect();
            text.push('{');
            while !left.is_empty() {
                text.push_str(if left.len() == members.len() { "" } else { "," });
                let (name, value) = left.swap_remove(choices.below(left.len()));
                space(choices, text);
                text.push_str(name);
                space(choices, text);
                text.push(':');
                write(value, choices, text);
            }
            space(choices, text);
            text.push('}');
        }
    }
    space(choices, text);
}

fn written(tree: &Tree, choices: &mut Choices) -> String {
    let mut text = String::new();
    write(tree, choices, &mut text);
    text
}

/// All nodes, the tree itself first.
fn nodes(tree: &mut Tree, at: &mut usize, edit: &mut dyn FnMut(&mut Tree)) {
    if *at == 0 {
        edit(tree);
    }
    *at = at.wrapping_sub(1);
    match tree {
        Tree::Token(_) => {}
        Tree::Array(elements) => elements.iter_mut().for_each(|inner| nodes(inner, at, edit)),
        Tree::Object(members) => members
            .values_mut()
            .for_each(|inner| nodes(inner, at, edit)),
    }
}

fn count(tree: &Tree) -> usize {
    1 + match tree {
        Tree::Token(_) => 0,
        Tree::Array(elements) => elements.iter().map(count).sum(),
        Tree::Object(members) => members.values().map(count).sum(),
    }
}

/// Changes one node: its token, its number's text, its nesting, its order or one of its members.
fn change(node: &mut Tree, kind: usize, with: &Tree, choices: &mut Choices) {
    match (kind, node) {
        (0, node) => *node = with.clone(),
        (1, node) => *node = Tree::Array(vec![node.clone()]),
        (_, Tree::Token(token)) if token.ends_with(|c: char| c.is_ascii_digit()) => {
            let plain = !token.contains(['.', 'e', 'E']);
            token.push_str(if plain { ".0" } else { "0" });
        }
        (_, Tree::Token(token)) if token.starts_with('"') => token.insert(1, 'x'),
        (_, Tree::Token(token)) => *token = format!("\"{token}\""),
        (2, Tree::Array(elements)) if elements.len() > 1 => elements.rotate_left(1),
        (3, Tree::Array(elements)) if elements.len() > 1 => {
            let inner = elements.split_off(choices.below(elements.len()));
            elements.push(Tree::Array(inner));
        }
        (_, Tree::Array(elements)) => {
            elements.insert(choices.below(elements.len() + 1), with.clone());
        }
        (2, Tree::Object(members)) if !members.is_empty() => {
            members.pop_first();
        }
        (3, Tree::Object(members)) if members.len() > 1 => {
            let inner = members.split_off(&members.keys().nth(1).unwrap().clone());
            members.insert("\"inner\"".to_owned(), Tree::Object(inner));
        }
        (4, Tree::Object(members)) if members.len() > 1 => {
            // Two members exchange their values.
            let names: Vec<_> = members.keys().cloned().collect();
            let first = members
                .insert(names[0].clone(), members[&names[1]].clone())
                .unwrap();
            members.insert(names[1].clone(), first);
        }
        (_, Tree::Object(members)) => {
            members.insert("\"more\"".to_owned(), with.clone());
        }
    }
}

const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"0",
    b"1",
    b"-",
    b".",
    b"e",
    b"+",
    b"a",
    b" ",
    b"\n",
    b"\0",
    b"\x1F",
    b"\xE9",
    b"\xC3\xA9",
    b"\xEF\xBB\xBF",
    b"null",
    b"true",
    b"\\n",
    b"\\u",
    b"\\ud800",
    b"\\udc00",
    b"\"a\":",
    b"\"\\u0061\":0,",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_oracle_reads_what_is_written(tree in tree(), mut choices in choices()) {
        prop_assert_eq!(parse(written(&tree, &mut choices).as_bytes()), Some(tree));
    }

    #[test]
    fn order_and_white_space_do_not_matter(tree in tree(), mut one in choices(), mut other in choices()) {
        let form = canonical_json(written(&tree, &mut one).as_bytes());
        prop_assert!(form.is_some());
        prop_assert_eq!(&form, &canonical_json(written(&tree, &mut other).as_bytes()));
        // The form says the same as the body, and is its own form.
        let form = form.unwrap();
        prop_assert_eq!(parse(&form), Some(tree));
        prop_assert_eq!(canonical_json(&form), Some(form));
    }

    #[test]
    fn any_change_matters(
        tree in tree(), at in any::<Index>(), kind in 0..6usize, with in tree(), mut choices in choices(),
    ) {
        let mut changed = tree.clone();
        let mut at = at.index(count(&tree));
        let mut edit = choices.clone();
        nodes(&mut changed, &mut at, &mut |node| change(node, kind, &with, &mut edit));
        prop_assume!(changed != tree);
        let one = canonical_json(written(&tree, &mut choices).as_bytes());
        let other = canonical_json(written(&changed, &mut choices).as_bytes());
        prop_assert!(one.is_some() && other.is_some());
        prop_assert_ne!(one, other);
    }

    #[test]
    fn damaged_text_is_judged_as_the_oracle_does(
        tree in tree(),
        mut choices in choices(),
        cuts in prop::collection::vec((any::<Index>(), 0..3usize, any::<Index>()), 1..4),
    ) {
        let whole = written(&tree, &mut choices).into_bytes();
        let mut text = whole.clone();
        for (at, cut, piece) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, PIECES[piece.index(PIECES.len())].iter().copied());
        }
        let form = canonical_json(&text);
        prop_assert_eq!(form.as_deref().map(parse), parse(&text).map(Some), "{}", text.escape_ascii());
        if form.is_some() {
            prop_assert_eq!(form == canonical_json(&whole), parse(&text) == Some(tree));
        }
    }

    #[test]
    fn soup_is_judged_as_the_oracle_does(
        pieces in prop::collection::vec(any::<Index>(), 1..12), within in 0..3usize,
    ) {
        let (open, close) = [("", ""), ("[1,\"", "\"]"), ("{\"a\":0,", "}")][within];
        let mut text = open.as_bytes().to_vec();
        pieces.iter().for_each(|piece| text.extend_from_slice(PIECES[piece.index(PIECES.len())]));
        text.extend_from_slice(close.as_bytes());
        let form = canonical_json(&text);
        prop_assert_eq!(form.as_deref().map(parse), parse(&text).map(Some), "{}", text.escape_ascii());
    }
}
