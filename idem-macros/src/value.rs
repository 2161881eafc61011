//! The right-hand side of one option, and how to say that it is of the wrong kind.
//!
//! Knows literals; never knows what an option means.

use std::fmt::Display;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::{Expr, ExprArray, ExprLit, Lit, LitStr};

use crate::hint;

/// What stands behind the `=` of an option.
pub(crate) struct Value {
    option: &'static str,
    /// A value that the option takes, as it is written in the attribute.
    example: &'static str,
    tokens: TokenStream,
    literal: Option<Lit>,
}

impl Value {
    pub(crate) fn new(option: &'static str, example: &'static str, tokens: TokenStream) -> Self {
        let literal = syn::parse2(without_groups(tokens.clone())).ok();
        Self {
            option,
            example,
            tokens,
            literal,
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.literal
            .as_ref()
            .map_or_else(Span::call_site, Lit::span)
    }

    /// An error at the value. The message goes on after the option's name.
    pub(crate) fn refuse(&self, message: impl Display) -> syn::Error {
        syn::Error::new_spanned(&self.tokens, format!("`{}` {message}", self.option))
    }

    /// The value of an option that takes a string.
    pub(crate) fn text(&self) -> syn::Result<String> {
        match &self.literal {
            Some(Lit::Str(text)) if text.suffix().is_empty() => Ok(text.value()),
            // `24h` is a number with a suffix for the compiler, and only lacks its quotes.
            Some(literal) if !literal.suffix().is_empty() => Err(self.refuse(format_args!(
                "takes a string: write `{} = \"{}\"`",
                self.option, self.tokens,
            ))),
            _ => Err(self.refuse(format_args!("takes a string: {}", self.correct()))),
        }
    }

    /// The value of an option that takes a list of strings, each with what an error about it points at.
    pub(crate) fn texts(&self) -> syn::Result<Vec<LitStr>> {
        let list = syn::parse2::<ExprArray>(without_groups(self.tokens.clone()));
        let texts = list.ok().and_then(|list| {
            let texts = list.elems.iter().map(|element| match element {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) if text.suffix().is_empty() => Some(text.clone()),
                _ => None,
            });
            texts.collect::<Option<Vec<_>>>()
        });
        texts
            .filter(|texts| !texts.is_empty())
            .ok_or_else(|| self.refuse(format_args!("takes a list of strings: {}", self.correct())))
    }

    /// The value of an option that takes a whole number in this range.
    pub(crate) fn number(&self, least: u32, most: u32) -> syn::Result<u32> {
        match &self.literal {
            Some(Lit::Int(number)) if number.suffix().is_empty() => number
                .base10_parse()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| {
                    self.refuse(format_args!(
                        "is out of range: write a number from {least} to {most}"
                    ))
                }),
            _ => Err(self.refuse(format_args!(
                "takes a number from {least} to {most}: {}",
                self.correct()
            ))),
        }
    }

    /// The value of an option that takes one of a few words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> syn::Result<T> {
        let text = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(*value);
        }
        let names = || choices.iter().map(|(name, _)| *name);
        let list = hint::either(names().map(|name| format!("\"{name}\"")));
        Err(self.refuse(match hint::nearest(&text, names()) {
            Some(name) => {
                format!("does not know \"{text}\": did you mean \"{name}\"? Write {list}")
            }
            None => format!("does not know \"{text}\": write {list}"),
        }))
    }

    fn correct(&self) -> String {
        correct(self.option, self.example)
    }
}

/// What to write instead of an option that is not written as one.
pub(crate) fn correct(option: &str, example: &str) -> String {
    format!("write `{option} = {example}`")
}

/// The tokens inside the invisible groups in which a `macro_rules!` macro hands its arguments on.
fn without_groups(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            without_groups(group.stream())
        }
        _ => tokens,
    }
}
