//! Every refusal's words; and what comes back beside them.

use std::fmt::Write;

use syn::Item;

use super::{expand, messages, snapshot};

const CONN: &str = "conn: &mut C";

/// The messages for one source each, under the name of what is wrong with it.
pub(super) fn refusals(snapshot_name: &str, cases: &[(&str, String)]) {
    let mut text = String::new();
    for (name, source) in cases {
        let (messages, others) = expand(source).map(messages).unwrap_or_default();
        assert!(!messages.is_empty(), "{name} is not refused");
        assert_eq!(others.len(), 1, "{name}: the item comes back");
        let _ = writeln!(text, "# {name}\n{source}");
        for message in messages {
            let _ = writeln!(text, "  => {message}");
        }
        text.push('\n');
    }
    snapshot(snapshot_name, &text);
}

pub(super) fn with_options(options: &str) -> String {
    format!("#[idempotent({options})] async fn f({CONN}) -> R {{ b() }}")
}

fn with_attributes(attributes: &str) -> String {
    format!("#[idempotent] {attributes} async fn f({CONN}) -> R {{ b() }}")
}

fn with_signature(signature: &str) -> String {
    format!("#[idempotent] {signature} {{ b() }}")
}

#[test]
fn options() {
    let cases = [
        ("unknown, one is near", "retian = \"24h\""),
        ("unknown, none is near", "colour = \"red\""),
        ("unknown, without a value", "retian"),
        (
            "repeated",
            "retain = \"24h\", store = \"all\", retain = \"48h\"",
        ),
        (
            "repeated, the first is malformed",
            "retain = \"M\", retain = \"48h\"",
        ),
        ("no name", "\"24h\""),
        ("no value", "retain"),
        ("no value after the sign", "retain ="),
        ("in parentheses", "retain(\"24h\")"),
        ("another sign", "retain: \"24h\""),
        ("no comma", "retain = \"24h\" store = \"all\""),
        ("two commas", "retain = \"24h\",, store = \"all\""),
        ("number for a string", "body_limit = 2048"),
        ("suffix for a string", "retain = 24h"),
        ("constant for a string", "retain = RETAIN"),
        ("byte string", "store = b\"all\""),
        ("string for a number", "retries = \"3\""),
        ("negative number", "retries = -1"),
        ("number too large", "retries = 11"),
        ("number with a suffix", "retries = 3u32"),
        ("scope in upper case", "scope = \"Tenant\""),
        ("scope empty", "scope = \"\""),
        ("scope not a name", "scope = \"per user!\""),
        ("store unknown, one is near", "store = \"succes\""),
        ("store unknown, none is near", "store = \"2xx\""),
        ("in_flight unknown", "in_flight = \"queue\""),
        ("in_flight without a duration", "in_flight = \"wait\""),
        ("in_flight with a bad duration", "in_flight = \"wait 2\""),
        ("in_flight waits for nothing", "in_flight = \"wait 0s\""),
        ("key unknown", "key = \"require\""),
        ("expired_keys unknown", "expired_keys = \"reject\""),
        ("fingerprint unknown", "fingerprint = \"bytes\""),
        ("isolation in upper case", "isolation = \"READ COMMITTED\""),
        ("isolation unknown", "isolation = \"snapshot\""),
        ("duration of zero", "retain = \"0s\""),
        ("duration ambiguous", "retain = \"5M\""),
        ("duration over ten years", "retain = \"11y\""),
        ("size of zero", "body_limit = \"0B\""),
        ("size without a unit", "response_limit = \"4096\""),
        (
            "retain not longer than timeout",
            "retain = \"30s\", timeout = \"30s\"",
        ),
        ("retain not longer than the default", "retain = \"10s\""),
        ("timeout not shorter than the default", "timeout = \"25h\""),
        (
            "wait longer than timeout",
            "in_flight = \"wait 6s\", timeout = \"5s\"",
        ),
        ("wait longer than the default", "in_flight = \"wait 31s\""),
        (
            "several",
            "retian = \"24h\", store = \"none\", retries = 99",
        ),
    ];
    refusals(
        "refused_options",
        &cases.map(|(name, text)| (name, with_options(text))),
    );
}

#[test]
fn attributes() {
    let cases = [
        ("get", "#[get(\"/\")]"),
        ("head", "#[head(\"/\")]"),
        ("options", "#[options(\"/\")]"),
        ("trace", "#[trace(\"/\")]"),
        ("query", "#[query(\"/\")]"),
        ("connect", "#[connect(\"/\")]"),
        ("path-qualified", "#[actix_web::get(\"/\")]"),
        ("absolute path", "#[::actix_web::get(\"/\")]"),
        (
            "one among routes",
            "#[routes] #[post(\"/a\")] #[get(\"/b\")]",
        ),
        (
            "one among methods",
            "#[route(\"/\", method = \"POST\", method = \"GET\", name = \"x\")]",
        ),
        ("conditional", "#[cfg_attr(feature = \"x\", get(\"/\"))]"),
        ("twice", "#[idempotent(retain = \"1h\")]"),
        (
            "twice, with a path",
            "#[post(\"/\")] #[idem_runtime::idempotent]",
        ),
    ];
    refusals(
        "refused_attributes",
        &cases.map(|(name, text)| (name, with_attributes(text))),
    );
}

#[test]
fn signatures() {
    let cases = [
        ("no parameters", "async fn f() -> R"),
        ("no connection", "async fn f(a: A, b: Option<&mut B>) -> R"),
        ("shared connection", "async fn f(a: A, conn: &C) -> R"),
        (
            "two connections",
            "async fn f(one: &mut C, a: A, two: &mut C) -> R",
        ),
        (
            "three connections",
            "async fn f(one: &mut C, two: &mut C, three: &mut D) -> R",
        ),
        (
            "extractor by reference",
            "async fn f(a: &A, conn: &mut C) -> R",
        ),
        (
            "connection with a lifetime",
            "async fn f(conn: &'static mut C) -> R",
        ),
        (
            "type parameter",
            "async fn f<T: X>(a: T, conn: &mut C) -> R",
        ),
        (
            "const parameter",
            "async fn f<const N: usize>(a: [A; N], conn: &mut C) -> R",
        ),
        ("lifetime parameter", "async fn f<'a>(conn: &'a mut C) -> R"),
        (
            "impl Trait",
            "async fn f(a: Vec<impl X>, conn: &mut C) -> R",
        ),
        ("self", "async fn f(&self, conn: &mut C) -> R"),
        ("no connection, not async", "fn f(a: A) -> R"),
        ("const", "const fn f(conn: &mut C) -> R"),
        ("const async", "const async fn f(conn: &mut C) -> R"),
        ("unsafe", "async unsafe fn f(conn: &mut C) -> R"),
        ("extern", "async extern \"C\" fn f(conn: &mut C) -> R"),
        ("variadic", "async fn f(conn: &mut C, ...) -> R"),
        ("no return type", "async fn f(conn: &mut C)"),
        (
            "cfg on a parameter",
            "async fn f(#[cfg(x)] a: A, conn: &mut C) -> R",
        ),
        ("several", "fn f<T>(self, a: T)"),
    ];
    refusals(
        "refused_signatures",
        &cases.map(|(name, text)| (name, with_signature(text))),
    );
}

#[test]
fn modes() {
    let cases = [
        ("mode unknown, one is near", "mode = \"leased\""),
        ("mode unknown, none is near", "mode = \"saga\""),
        ("mode misspelled", "mdoe = \"lease\", lease = \"1m\""),
        (
            "unresolved unknown",
            "mode = \"lease\", unresolved = \"retry\"",
        ),
        ("resume unknown", "mode = \"lease\", resume = \"server\""),
        ("lease malformed", "mode = \"lease\", lease = \"2\""),
        ("lease malformed, without the mode", "lease = \"2\""),
        ("lease without the mode", "lease = \"1m\""),
        ("unresolved without the mode", "unresolved = \"hold\""),
        ("resume without the mode", "resume = \"client\""),
        ("accept without the mode", "in_flight = \"accept\""),
        (
            "all of them without the mode",
            "resume = \"background\", unresolved = \"rerun\", lease = \"1m\", in_flight = \"accept\"",
        ),
        (
            "isolation in lease mode",
            "mode = \"lease\", isolation = \"read committed\"",
        ),
        ("retries in lease mode", "mode = \"lease\", retries = 0"),
        (
            "no key in lease mode",
            "mode = \"lease\", key = \"optional\"",
        ),
        (
            "background without rerun",
            "mode = \"lease\", resume = \"background\"",
        ),
        (
            "background under hold",
            "mode = \"lease\", unresolved = \"hold\", resume = \"background\"",
        ),
        (
            "accept for a whole endpoint",
            "mode = \"lease\", in_flight = \"accept\", scope = \"endpoint\"",
        ),
        (
            "accept for everybody",
            "mode = \"lease\", in_flight = \"accept\", scope = \"global\"",
        ),
        (
            "lease under a second",
            "mode = \"lease\", lease = \"999ms\"",
        ),
        (
            "lease longer than retain",
            "mode = \"lease\", lease = \"61m\", retain = \"1h\"",
        ),
        (
            "lease longer than the default retain",
            "mode = \"lease\", lease = \"25h\"",
        ),
        (
            "retain shorter than the default lease",
            "mode = \"lease\", retain = \"119s\"",
        ),
        (
            "lease shorter than timeout",
            "mode = \"lease\", lease = \"1m\", timeout = \"61s\"",
        ),
        (
            "timeout longer than the default lease",
            "mode = \"lease\", timeout = \"3m\"",
        ),
        (
            "wait longer than timeout",
            "mode = \"lease\", timeout = \"5s\", in_flight = \"wait 6s\"",
        ),
        (
            "wait longer than ten leases",
            "mode = \"lease\", lease = \"1s\", in_flight = \"wait 11s\"",
        ),
        (
            "several",
            "mode = \"lease\", isolation = \"serializable\", retries = 3, key = \"optional\", lease = \"1ms\"",
        ),
    ];
    refusals(
        "refused_modes",
        &cases.map(|(name, options)| {
            let conn = if options.contains("mode = \"lease\"") {
                ""
            } else {
                CONN
            };
            let source = format!("#[idempotent({options})] async fn f({conn}) -> R {{ b() }}");
            (name, source)
        }),
    );
}

#[test]
fn signatures_in_lease_mode() {
    let cases = [
        ("connection", "mode = \"lease\"", "(a: A, conn: &mut C)"),
        (
            "two connections",
            "mode = \"lease\"",
            "(one: &mut C, two: &'static mut C)",
        ),
        (
            "extractor by reference",
            "mode = \"lease\"",
            "(a: &A, b: B)",
        ),
        (
            "lifetime of a reference",
            "mode = \"lease\"",
            "<'a>(conn: &'a mut C)",
        ),
        (
            "lifetime of a value",
            "mode = \"lease\"",
            "<'a>(a: Cow<'a, str>)",
        ),
        ("type parameter", "mode = \"lease\"", "<T>(a: T)"),
        (
            "no connection beside an explicit mode",
            "mode = \"transaction\"",
            "(a: A)",
        ),
        (
            "no connection beside an unknown mode",
            "mode = \"leased\"",
            "(a: A)",
        ),
        (
            "no connection beside an option of lease mode",
            "lease = \"1m\"",
            "(a: A)",
        ),
        (
            "an option and the connection",
            "mode = \"lease\", retries = 1",
            "(conn: &mut C)",
        ),
    ];
    refusals(
        "refused_signatures_in_lease_mode",
        &cases.map(|(name, options, rest)| {
            let source = format!("#[idempotent({options})] async fn f{rest} -> R {{ b() }}");
            (name, source)
        }),
    );
}

#[test]
fn another_item_comes_back_untouched() {
    refusals(
        "another_item_comes_back_untouched",
        &[("struct", "#[idempotent] struct NotAFunction;".to_owned())],
    );
}

#[test]
fn mistakes_in_the_options_and_in_the_function_are_reported_together() {
    let source = "#[idempotent(retian = \"24h\", retain = \"1s\")] #[get(\"/\")] fn f<T>() {}";
    refusals(
        "mistakes_in_the_options_and_in_the_function_are_reported_together",
        &[("all at once", source.to_owned())],
    );
}

#[test]
fn the_function_comes_back_inside_one_that_a_route_accepts() {
    let source = "
        #[post(\"/a\")]
        #[idempotent]
        #[post(\"/b\")]
        #[idempotent]
        #[instrument]
        /// Documented.
        pub const async fn create_order(order: Json<NewOrder>, ...) -> Order { body() }
    ";
    let (_, others) = expand(source).map(messages).unwrap_or_default();
    snapshot(
        "the_function_comes_back_inside_one_that_a_route_accepts",
        &print(others),
    );
}

#[test]
fn a_method_comes_back_as_a_method() {
    let source = "#[idempotent] #[instrument] pub async fn f(&self, conn: &mut C) -> R { b() }";
    let (_, others) = expand(source).map(messages).unwrap_or_default();
    snapshot("a_method_comes_back_as_a_method", &print(others));
}

fn print(items: Vec<Item>) -> String {
    prettyplease::unparse(&syn::File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items,
    })
}
