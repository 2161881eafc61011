//! The fingerprints of two requests are equal exactly if both ask for the same; a damaged one is never a match.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::fingerprint(data));
