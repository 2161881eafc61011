//! Two bodies have one canonical form exactly if the slow implementation says that they are the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_runtime::fuzzing::canonical_pair(data));
