//! Everything that is wrong with one use of the attribute, as one error.
//!
//! Never decides what is wrong.

use std::fmt::Display;

use quote::ToTokens;

/// Collects mistakes, so that independent ones are reported together.
#[derive(Default)]
pub(crate) struct Problems(Option<syn::Error>);

impl Problems {
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// The value, or nothing once the error has been noted.
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// All mistakes, this one being the last.
    pub(crate) fn and(mut self, last: syn::Error) -> syn::Error {
        match self.0.take() {
            Some(mut first) => {
                first.combine(last);
                first
            }
            None => last,
        }
    }

    /// The value that all this was about, if there was no mistake.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
