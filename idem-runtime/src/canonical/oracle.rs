//! What the canonical form is held against, slow and obvious: a tree whose objects are maps and whose
//! tokens are source text, so that two bodies are the same exactly if their trees are.
//!
//! Shares no code with what it judges, and decodes by itself.

use std::collections::BTreeMap;
use std::str::Chars;

/// Equality is the specification: members without order, everything else as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A literal, a number or a string.
    Token(String),
    Array(Vec<Tree>),
    /// By the name's source text.
    Object(BTreeMap<String, Tree>),
}

pub(crate) fn parse(text: &[u8]) -> Option<Tree> {
    let mut reader = Reader {
        rest: std::str::from_utf8(text).ok()?,
    };
    let tree = reader.tree(128)?;
    reader.skip_space();
    reader.rest.is_empty().then_some(tree)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Takes the character if it comes next.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn token(&mut self, length: usize) -> String {
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        token.to_owned()
    }

    fn tree(&mut self, levels: usize) -> Option<Tree> {
        self.skip_space();
        match self.rest.chars().next()? {
            '[' => self.array(levels.checked_sub(1)?),
            '{' => self.object(levels.checked_sub(1)?),
            '"' => self.string().map(Tree::Token),
            'a'..='z' => {
                let word = self.token(
                    self.rest
                        .find(|c: char| !c.is_ascii_lowercase())
                        .unwrap_or(self.rest.len()),
                );
                ["true", "false", "null"]
                    .contains(&&*word)
                    .then_some(Tree::Token(word))
            }
            _ => self.number().map(Tree::Token),
        }
    }

    fn array(&mut self, levels: usize) -> Option<Tree> {
        self.takes('[').then_some(())?;
        let mut elements = Vec::new();
        if !self.takes(']') {
            loop {
                elements.push(self.tree(levels)?);
                if !self.takes(',') {
                    break;
                }
            }
            self.takes(']').then_some(())?;
        }
        Some(Tree::Array(elements))
    }

    fn object(&mut self, levels: usize) -> Option<Tree> {
        self.takes('{').then_some(())?;
        let mut members = BTreeMap::new();
        let mut names = Vec::new();
        if !self.takes('}') {
            loop {
                self.skip_space();
                let name = self.string()?;
                names.push(decoded(&name)?);
                self.takes(':').then_some(())?;
                members.insert(name, self.tree(levels)?);
                if !self.takes(',') {
                    break;
                }
            }
            self.takes('}').then_some(())?;
        }
        let count = names.len();
        names.sort();
        names.dedup();
        (names.len() == count).then_some(Tree::Object(members))
    }

    fn string(&mut self) -> Option<String> {
        let inner = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        let end = inner.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let token = self.token(end + 2);
        decoded(&token).map(|_| token)
    }

    fn number(&mut self) -> Option<String> {
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let sign = usize::from(self.rest.starts_with('-'));
        let mut length = sign + digits(&self.rest[sign..]);
        let whole = &self.rest[sign..length];
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        if self.rest[length..].starts_with('.') {
            let count = digits(&self.rest[length + 1..]);
            length += 1 + (count > 0).then_some(count)?;
        }
        if self.rest[length..].starts_with(['e', 'E']) {
            length += 1 + usize::from(self.rest[length + 1..].starts_with(['+', '-']));
            let count = digits(&self.rest[length..]);
            length += (count > 0).then_some(count)?;
        }
        Some(self.token(length))
    }
}

/// The string that a token stands for.
pub(super) fn decoded(token: &str) -> Option<String> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let mut rest = inner.chars();
    // UTF-16 is what the escapes are of.
    let mut units = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            '"' | ..' ' => return None,
            '\\' => units.push(unit(&mut rest)?),
            _ => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16(&units).ok()
}

/// What comes behind a backslash.
fn unit(rest: &mut Chars<'_>) -> Option<u16> {
    Some(match rest.next()? {
        c @ ('"' | '\\' | '/') => c as u16,
        'b' => 8,
        't' => 9,
        'n' => 10,
        'f' => 12,
        'r' => 13,
        'u' => {
            let mut unit = 0;
            for _ in 0..4 {
                unit = unit * 16 + u16::try_from(rest.next()?.to_digit(16)?).ok()?;
            }
            unit
        }
        _ => return None,
    })
}
