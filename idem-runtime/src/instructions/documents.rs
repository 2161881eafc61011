//! The JSON documents that are measured: the same bytes on every machine. Nested, members not in
//! order, escapes, numbers of all kinds, one wide object and one deep one.

use std::fmt::Write;

use actix_web::web::Bytes;

#[derive(Debug, Clone, Copy)]
pub(super) enum Layout {
    Compact,
    Pretty,
}

/// A list of orders of at least so many bytes.
pub(super) fn document(layout: Layout, bytes: usize) -> Bytes {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut text = "{\n  \"source\": \"web\",\n  \"orders\": [".to_owned();
    for number in 0.. {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        let part = match number % 16 {
            7 => wide(&mut random),
            15 => deep(&mut random),
            _ => order(&mut random),
        };
        text.push_str(&match layout {
            Layout::Compact => compact(&part),
            Layout::Pretty => part,
        });
        if text.len() >= bytes {
            break;
        }
    }
    text.push_str("\n  ],\n  \"complete\": true\n}\n");
    match layout {
        Layout::Compact => compact(&text).into(),
        Layout::Pretty => text.into(),
    }
}

fn order(random: &mut Random) -> String {
    let [id, cents, quantity, stock] = random.below([u64::MAX, 1_000_000, 12, 90_000]);
    format!(
        r#"    {{
      "id": "{id:016x}",
      "customer": {{
        "name": "Zoë O'Neill",
        "email": "zoe.{quantity}@example.org",
        "address": {{
          "street": "Main Street {quantity}",
          "city": "K\u00f6ln",
          "zip": "{stock:05}"
        }},
        "birthday": null
      }},
      "currency": "EUR",
      "total": {}.{:02},
      "lines": [
        {{
          "sku": "AX-{stock}-B",
          "quantity": {quantity},
          "price": {}.5,
          "tags": ["new", "gift", "fragile"],
          "weight": 1.25e-1
        }},
        {{
          "sku": "ZZ-{quantity}",
          "quantity": 1,
          "price": {cents},
          "tags": [],
          "weight": {quantity}
        }}
      ],
      "note": "Please ring twice,\nthen leave it \"at the door\" \\ with the neighbour \u2014 thanks",
      "express": {},
      "position": [{}.520008, -13.40{stock}4, 34]
    }}"#,
        cents / 100,
        cents % 100,
        cents / 1000,
        quantity > 6,
        quantity + 40,
    )
}

/// An object of many members.
fn wide(random: &mut Random) -> String {
    let mut text = "    {\n      \"attributes\": {".to_owned();
    for number in 0..40 {
        let [name, value] = random.below([1_000_000, 1_000_000]);
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}\n        \"attribute_{name}_{number}\": {value}"
        );
    }
    text + "\n      },\n      \"kind\": \"attributes\"\n    }"
}

/// Objects within objects, each with a member that comes before it.
fn deep(random: &mut Random) -> String {
    let mut text = "    ".to_owned();
    for level in 0..24 {
        let [author] = random.below([1000]);
        let _ = write!(
            text,
            "{{\n{0}\"reply\": {{\n{0}\"author\": \"user{author}\",\n{0}\"body\": ",
            " ".repeat(6 + 2 * level)
        );
    }
    text + "null" + &"\n}\n}".repeat(24)
}

/// Without the white space between tokens.
fn compact(text: &str) -> String {
    let mut within = false;
    let mut escaped = false;
    text.chars()
        .filter(|&character| {
            within ^= character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            within || !character.is_ascii_whitespace()
        })
        .collect()
}

struct Random(u64);

impl Random {
    /// One number below each bound, by xorshift.
    fn below<const COUNT: usize>(&mut self, bounds: [u64; COUNT]) -> [u64; COUNT] {
        bounds.map(|bound| {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        })
    }
}
