//! What is committed in `fuzz/` is run by every `cargo test`, without a fuzzer.

use std::fs;
use std::path::Path;

fn run(target: &str, check: impl Fn(&[u8])) {
    for kind in ["seeds", "corpus"] {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz")
            .join(kind)
            .join(target);
        let files: Vec<_> = fs::read_dir(&directory).unwrap().collect();
        assert!(!files.is_empty(), "{}", directory.display());
        for file in files {
            let path = file.unwrap().path();
            // Shown if the check fails.
            println!("{}", path.display());
            check(&fs::read(path).unwrap());
        }
    }
}

macro_rules! targets {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            run(stringify!($target), super::$target);
        }
    )*};
}

targets! { canonical canonical_pair fingerprint kept key response scope steps }
