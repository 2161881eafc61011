//! The tokens of a JSON text: where the next one ends, by the grammar of RFC 8259 and nothing wider.
//!
//! Nothing is decoded here, and what may follow what is not judged here.

/// A text, and how far it has been read.
pub(super) struct Tokens<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What was read since.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.source.as_bytes()[start..self.at]
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    /// Takes the byte if it comes next.
    pub(super) fn takes(&mut self, wanted: u8) -> bool {
        let comes = self.peek() == Some(wanted);
        self.at += usize::from(comes);
        comes
    }

    pub(super) fn at_space(&self) -> bool {
        matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t'))
    }

    pub(super) fn space(&mut self) {
        while self.at_space() {
            self.at += 1;
        }
    }

    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        let comes = self.rest().starts_with(word.as_bytes());
        comes.then(|| self.at += word.len())
    }

    pub(super) fn number(&mut self) -> Option<()> {
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            if !self.takes(b'+') {
                self.takes(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// A string, quotes included; whether anything in it is escaped.
    pub(super) fn string(&mut self) -> Option<bool> {
        self.takes(b'"').then_some(())?;
        let mut escaped = false;
        loop {
            let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | ..b' ');
            self.at += self.rest().iter().position(|byte| !plain(byte))?;
            if self.takes(b'"') {
                return Some(escaped);
            }
            self.escape()?;
            escaped = true;
        }
    }

    fn escape(&mut self) -> Option<()> {
        self.at += match self.rest() {
            [
                b'\\',
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                ..,
            ] => 2,
            rest => match (code_unit(rest)?, rest.get(6..).and_then(code_unit)) {
                (0xD800..0xDC00, Some(0xDC00..0xE000)) => 12,
                (0xD800..0xE000, _) => return None,
                _ => 6,
            },
        };
        Some(())
    }

    fn rest(&self) -> &'a [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or_default()
    }
}

/// The number in the `\uXXXX` that comes next.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit << 4 | char::from(*digit).to_digit(16)?)
    })
}
