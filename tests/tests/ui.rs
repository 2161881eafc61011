//! What the compiler accepts of the attribute (`ui/pass`), and what it says where it does not (`ui/fail`).
//!
//! Each file in `fail` is named after the rule that it breaks, and has the compiler's words beside it; after a change
//! of a message, `TRYBUILD=overwrite cargo test -p idem-tests --test ui` writes them anew. Files are found by glob.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/fail/*.rs");
}
