//! Two accounts share a scope exactly if they are the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::scope(data));
