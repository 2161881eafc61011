//! The log of finished steps, whole or damaged.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::steps(data));
