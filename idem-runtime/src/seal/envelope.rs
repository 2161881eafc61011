//! How it is written down that something is packed, and how: a line that begins with a character with which neither a
//! header line nor a request begins (`@` is in no token of RFC 9110, section 5.6.2), nor the result of a step.
//!
//! Pure values.

/// The line in front of what is sealed: the version of what is inside, and the key.
const SEALED: &str = "@sealed 1 ";

/// The line in front of the headers whose body is compressed: how long it was.
const COMPRESSED: &str = "@zstd ";

const END: char = '\n';

/// The line of what is sealed under this key.
pub(super) fn sealed(key_id: u32) -> String {
    format!("{SEALED}{key_id}{END}")
}

/// The line of a body that had so many bytes.
pub(super) fn compressed(length: usize) -> String {
    format!("{COMPRESSED}{length}{END}")
}

/// What a text is, by its first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packed<'a> {
    /// Nothing was done to it.
    Plain,
    /// Sealed under this key; the text behind the line.
    Sealed(u32, &'a [u8]),
    /// The body was so long; the text behind the line.
    Compressed(usize, &'a [u8]),
    /// By a version that is not known here.
    Unknown,
}

impl<'a> Packed<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        if text.first() != Some(&b'@') {
            return Self::Plain;
        }
        let end = text.iter().position(|byte| *byte == END as u8);
        let line = end.and_then(|end| Some((text.get(..end)?, text.get(end + 1..)?)));
        let read = line.and_then(|(line, rest)| {
            let line = std::str::from_utf8(line).ok()?;
            let sealed = || Some(Self::Sealed(number(line, SEALED)?, rest));
            sealed().or_else(|| Some(Self::Compressed(number(line, COMPRESSED)?, rest)))
        });
        read.unwrap_or(Self::Unknown)
    }
}

fn number<T: std::str::FromStr>(line: &str, word: &str) -> Option<T> {
    line.strip_prefix(word)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_taken_for_it() {
        let of = |text: &'static str| Packed::of(text.as_bytes());
        assert_eq!(of("@sealed 1 7\nrest"), Packed::Sealed(7, b"rest"));
        assert_eq!(of("@zstd 12\na: b\n"), Packed::Compressed(12, b"a: b\n"));
        for plain in ["", "\n", "a: @sealed 1 7\n", "POST /orders\n\n@zstd 1\n"] {
            assert_eq!(of(plain), Packed::Plain, "{plain}");
        }
        for unknown in [
            "@",
            "@sealed 1 7",
            "@sealed 2 7\n",
            "@sealed 1 -7\n",
            "@sealed 1 4294967296\n",
            "@zstd\n",
            "@zstd 1 1\n",
            "@zstd: 1\n",
        ] {
            assert_eq!(of(unknown), Packed::Unknown, "{unknown}");
        }
        assert_eq!(Packed::of(sealed(0).as_bytes()), Packed::Sealed(0, b""));
        assert_eq!(
            Packed::of(compressed(9).as_bytes()),
            Packed::Compressed(9, b"")
        );
    }
}
