//! The canonical form of a JSON body, against the slow implementation.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::canonical(data));
