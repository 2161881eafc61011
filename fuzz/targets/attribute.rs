//! The attribute's text: whatever it is, the macro makes an item of it, or refuses it in words.

#![no_main]
#![allow(dead_code, reason = "the macro crate's sources as they are")]

use libfuzzer_sys::{Corpus, fuzz_target};

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
#[path = "../../idem-macros/src/fuzzing.rs"]
mod fuzzing;
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
#[path = "../../idem-macros/src/protect.rs"]
mod protect;
#[path = "../../idem-macros/src/signature.rs"]
mod signature;
#[path = "../../idem-macros/src/size.rs"]
mod size;
#[path = "../../idem-macros/src/value.rs"]
mod value;

fuzz_target!(|data: &[u8]| -> Corpus {
    match fuzzing::attribute(data) {
        true => Corpus::Keep,
        false => Corpus::Reject,
    }
});
