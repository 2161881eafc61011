//! The key parser: what it takes is a key by the README's rule, and quoted it is the same one.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::key(data));
