//! The canonical form, case by case: what is the same, what stays apart, what has no form, and
//! what a hostile body costs.

use std::time::{Duration, Instant};

use super::canonical_json;

#[track_caller]
fn form(body: &str) -> String {
    let form = canonical_json(body.as_bytes()).unwrap_or_else(|| panic!("no form: {body}"));
    String::from_utf8(form).unwrap()
}

#[track_caller]
fn same(one: &str, other: &str) {
    assert_eq!(form(one), form(other), "{one} and {other}");
}

#[track_caller]
fn apart(one: &str, other: &str) {
    assert_ne!(form(one), form(other), "{one} and {other}");
}

#[track_caller]
fn no_form(body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    assert_eq!(canonical_json(body), None, "{}", body.escape_ascii());
}

#[test]
fn member_order_and_white_space_do_not_matter() {
    same(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
    same(r#"{"A":1,"a":2}"#, r#"{"a":2,"A":1}"#);
    same("{\"a\":1,\"b\":2}", " \t\r\n{\n\"b\" :\r2\t,\"a\" : 1 } \n");
    same(
        r#"{"x":{"a":[{"c":3,"d":4}],"b":2},"y":[]}"#,
        r#"{ "y" : [ ] , "x" : { "b" : 2 , "a" : [ { "d" : 4 , "c" : 3 } ] } }"#,
    );
    same("{}", "{ }");
    same("[]", "[\n]");
    same(" null ", "null");
}

#[test]
fn the_form_is_compact_and_sorted_by_decoded_name() {
    assert_eq!(
        form(r#"{"b" : {"d": [1, {}], "c": "x"}, "\u0061": -0.50E+7, "": [true, false, null]}"#),
        r#"{"":[true,false,null],"\u0061":-0.50E+7,"b":{"c":"x","d":[1,{}]}}"#
    );
}

#[test]
fn numbers_keep_their_digits() {
    apart("9007199254740992", "9007199254740993");
    apart("0.1", "0.1000000000000000055511151231257827");
    apart("1", "1.0");
    apart("1", "1e0");
    apart("1e1", "1E1");
    apart("1e1", "1e+1");
    apart("0", "-0");
    apart("1e999", "1e9999");
    apart(
        "1234567890123456789012345678901234567890",
        "1234567890123456789012345678901234567891",
    );
}

#[test]
fn arrays_keep_their_order_and_their_nesting() {
    apart("[1,2]", "[2,1]");
    apart("[1,2]", "[[1,2]]");
    apart("[[1],2]", "[[1,2]]");
    apart("[]", "[[]]");
    apart("[]", "{}");
    apart(r#"[{"a":1},{"b":2}]"#, r#"[{"a":1,"b":2}]"#);
    apart(r#"[{"a":1},{"b":2}]"#, r#"[{"b":2},{"a":1}]"#);
    apart(r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#);
    apart("[12]", "[1,2]");
}

#[test]
fn values_that_look_alike_stay_apart() {
    apart("0", "false");
    apart(r#""""#, "null");
    apart("1", r#""1""#);
    apart("true", r#""true""#);
    apart("{}", r#"{"a":null}"#);
    apart(r#"{"a":1}"#, r#"{"A":1}"#);
    apart(r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#);
    apart(r#"["a,b"]"#, r#"["a","b"]"#);
    apart(r#""a b""#, r#""a  b""#);
    apart(r#""é""#, "\"e\u{301}\"");
}

#[test]
fn strings_and_names_keep_their_source_text() {
    apart(r#""a""#, r#""\u0061""#);
    apart(r#""\u00e9""#, r#""\u00E9""#);
    apart(r#""/""#, r#""\/""#);
    apart(r#"{"a":1}"#, r#"{"\u0061":1}"#);
    assert_eq!(form(r#" "\"\\[{:," "#), r#""\"\\[{:,""#);
    assert_eq!(form(r#"["[" , "{" , ":" , 1]"#), r#"["[","{",":",1]"#);
}

#[test]
fn a_repeated_name_has_no_form() {
    no_form(r#"{"a":1,"a":2}"#);
    no_form(r#"{"a":1,"a":1}"#);
    no_form(r#"{"a":1,"b":2,"a":3}"#);
    no_form(r#"{"b":1,"a":2,"b":3}"#);
    no_form(r#"{"a":1,"\u0061":2}"#);
    no_form(r#"{"😀":1,"\ud83d\ude00":2}"#);
    no_form(r#"{"":1,"":2}"#);
    no_form(r#"[0,{"x":[{"a":1,"a":2}]}]"#);
    no_form(r#"{"x":{"a":1,"a":2},"b":3}"#);
    assert_eq!(form(r#"{"a":{"a":{"a":1}}}"#), r#"{"a":{"a":{"a":1}}}"#);
    assert_eq!(form(r#"[{"a":1},{"a":1}]"#), r#"[{"a":1},{"a":1}]"#);
}

#[test]
fn what_is_not_json_has_no_form() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "1 2",
        "1,",
        ",",
        ":",
        "'a'",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "[]]",
        "[]x",
        "{]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{\"a\"}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"::1}",
        "{1:2}",
        "{a:1}",
        "{,}",
        "{}{}",
        "{\"a\":1}\0",
        "/**/1",
        "1//",
        "\u{a0}1",
        "1\u{b}",
        "1\u{c}",
        "truefalse",
    ] {
        no_form(text);
    }
}

#[test]
fn what_is_not_a_string_has_no_form() {
    for text in [
        r#"""#,
        r#""a"#,
        r#""\"#,
        r#""\""#,
        r#""\x41""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800A""#,
        r#""\ud800 \udc00""#,
        r#""\ud800\n12345""#,
        r#"{"\ud800":1}"#,
        "\"\0\"",
        "\"\n\"",
        "\"\t\"",
        "\"\u{1f}\"",
    ] {
        no_form(text);
    }
    same("\"\u{7f}\u{2028}\"", " \"\u{7f}\u{2028}\"");
}

#[test]
fn what_is_not_utf8_has_no_form() {
    no_form(b"\xEF\xBB\xBF{}");
    no_form(b"\"\xE9\"");
    no_form(b"\"\\n\xE9\"");
    no_form(b"\"\xE9\\n\"");
    no_form(b"{\"\xC0\xAF\":1}");
    no_form(b"\"\xED\xA0\x80\"");
    no_form(b"\"\xF4\x90\x80\x80\"");
    no_form(b"\xFF\xFE1\0");
    no_form(b"[1]\xEF\xBB\xBF");
}

#[test]
fn nesting_is_bounded() {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let arrays = nested("[", "1", "]", 128);
    assert_eq!(form(&arrays), arrays);
    no_form(nested("[", "1", "]", 129));
    no_form(nested("[", "", "]", 129));
    let objects = nested("{\"a\":", "{}", "}", 127);
    assert_eq!(form(&objects), objects);
    no_form(nested("{\"a\":", "{}", "}", 128));
    no_form(nested("[{\"a\":", "[]", "}]", 64));
}

#[test]
fn a_hostile_body_costs_little() {
    const BODY: usize = 2 << 20;
    let bodies = [
        ("open brackets", "[".repeat(BODY)),
        ("escapes", format!("\"{}\"", "\\u00e9".repeat(BODY / 6))),
        ("unsorted at every level", unsorted_levels(BODY)),
        ("many members", many_members(100_000)),
        ("long names", long_names(BODY)),
        (
            "small objects",
            format!("[{{}}{}]", ",{\"b\":1,\"a\":2}".repeat(BODY / 14)),
        ),
        (
            "one name repeated",
            format!("{{\"\":0{}}}", ",\"\":0".repeat(BODY / 5)),
        ),
    ];
    for (what, body) in bodies {
        let begin = Instant::now();
        let form = canonical_json(body.as_bytes());
        let took = begin.elapsed();
        println!(
            "{what}: {} bytes, {took:?}, form: {}",
            body.len(),
            form.is_some()
        );
        // Measured: below 0.1 s when optimized. The bound allows for a debug build on a busy machine.
        assert!(took < Duration::from_secs(10), "{what}: {took:?}");
    }
}

/// The innermost object is large, and every level moves it behind the member `a`.
fn unsorted_levels(bytes: usize) -> String {
    let filler = (0..bytes / 14).rev().map(|n| format!("\"{n:09}\":0"));
    let filler = filler.collect::<Vec<_>>().join(",");
    format!(
        "{}{filler}{}",
        "{\"b\":".repeat(127) + "{",
        "}".to_owned() + &",\"a\":0}".repeat(127)
    )
}

/// In an order that is neither ascending nor descending.
fn many_members(count: usize) -> String {
    let member = |n: usize| format!("\"{:x}\":{n}", n.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF);
    let members: Vec<_> = (0..count).map(member).collect();
    format!("{{{}}}", members.join(","))
}

/// As many names as each is long, differing at the end only.
fn long_names(bytes: usize) -> String {
    let side = bytes.isqrt();
    let member = |n: usize| format!("\"{}{n:08}\":0", "x".repeat(side - 12));
    let members: Vec<_> = (0..side).rev().map(member).collect();
    format!("{{{}}}", members.join(","))
}
