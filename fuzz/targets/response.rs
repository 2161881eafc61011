//! A stored response, whole or damaged: replayed or refused, and replayed the same again.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::response(data));
