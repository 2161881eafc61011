//! The canonical form of a JSON body: member order and insignificant white space do not matter,
//! and nothing else is merged.
//!
//! Pure: bytes in, bytes out. What is hashed, and when, is decided elsewhere.

use std::borrow::Cow;

use tokens::Tokens;

mod tokens;

#[cfg(any(test, fuzzing))]
pub(crate) mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

/// How deep arrays and objects may nest: as deep as `serde_json` reads. It bounds the stack, and the
/// work, since a part of the body is moved at most once for each level around it.
const MAX_DEPTH: usize = 128;

/// The canonical form of a JSON text, or `None` if it has none: it is not JSON as RFC 8259 has it,
/// it repeats a member name (compared decoded), or it nests too deep.
///
/// Two texts have the same form exactly if they differ only in white space between tokens and in
/// the order of members. Tokens keep their source text: `1` and `1.0` stay apart, and so do `"a"`
/// and `"\u0061"`.
pub(crate) fn canonical_json(body: &[u8]) -> Option<Vec<u8>> {
    let source = std::str::from_utf8(body).ok()?;
    let mut form = Form {
        tokens: Tokens::new(source),
        kept: 0,
        text: Vec::with_capacity(body.len()),
        members: Vec::new(),
    };
    form.value(MAX_DEPTH)?;
    form.copy();
    (form.tokens.at() == body.len()).then_some(form.text)
}

/// The canonical text as far as it has been written: the source without white space, each object
/// put in order where it ends.
struct Form<'a> {
    tokens: Tokens<'a>,
    /// What was read from here on belongs behind the text, and is copied when something is skipped
    /// or moved.
    kept: usize,
    text: Vec<u8>,
    /// The members of all open objects, those of the innermost last.
    members: Vec<Member<'a>>,
}

/// One `"name":value` of an object that is still open.
struct Member<'a> {
    /// Decoded, so that `"a"` and `"\u0061"` count as a repetition.
    name: Cow<'a, [u8]>,
    /// Where it stands in the text.
    start: usize,
    end: usize,
}

impl<'a> Form<'a> {
    /// One value and the white space around it.
    fn value(&mut self, levels: usize) -> Option<()> {
        self.skip_space();
        match self.tokens.peek()? {
            b'"' => self.tokens.string().map(|_| ())?,
            b'{' => self.object(levels.checked_sub(1)?)?,
            b'[' => self.array(levels.checked_sub(1)?)?,
            b't' => self.tokens.word("true")?,
            b'f' => self.tokens.word("false")?,
            b'n' => self.tokens.word("null")?,
            _ => self.tokens.number()?,
        }
        self.skip_space();
        Some(())
    }

    fn array(&mut self, levels: usize) -> Option<()> {
        self.tokens.takes(b'[');
        self.skip_space();
        if self.tokens.takes(b']') {
            return Some(());
        }
        self.value(levels)?;
        while self.tokens.takes(b',') {
            self.value(levels)?;
        }
        self.tokens.takes(b']').then_some(())
    }

    fn object(&mut self, levels: usize) -> Option<()> {
        self.tokens.takes(b'{');
        self.skip_space();
        if self.tokens.takes(b'}') {
            return Some(());
        }
        let first = self.members.len();
        self.member(levels)?;
        while self.tokens.takes(b',') {
            self.member(levels)?;
        }
        self.put_in_order(first)?;
        self.tokens.takes(b'}').then_some(())
    }

    fn member(&mut self, levels: usize) -> Option<()> {
        self.skip_space();
        let start = self.length();
        let name = self.name()?;
        self.skip_space();
        self.tokens.takes(b':').then_some(())?;
        let place = self.members.len();
        self.members.push(Member {
            name,
            start,
            end: start,
        });
        self.value(levels)?;
        self.members.get_mut(place)?.end = self.length();
        Some(())
    }

    fn name(&mut self) -> Option<Cow<'a, [u8]>> {
        let start = self.tokens.at();
        let escaped = self.tokens.string()?;
        let token = self.tokens.since(start);
        if escaped {
            let name: String = serde_json::from_slice(token).ok()?;
            return Some(Cow::Owned(name.into()));
        }
        Some(Cow::Borrowed(token.get(1..token.len() - 1)?))
    }

    /// Ends an object's members: sorts them by name; `None` if a name is repeated.
    fn put_in_order(&mut self, first: usize) -> Option<()> {
        let ascending = |one: &Member<'_>, next: &Member<'_>| one.name < next.name;
        let members = self.members.get_mut(first..)?;
        if !members.is_sorted_by(ascending) {
            let begin = members.first()?.start;
            members.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            if !members.is_sorted_by(ascending) {
                return None;
            }
            self.copy();
            let end = self.text.len();
            for member in self.members.drain(first..) {
                self.text.extend_from_within(member.start..member.end);
                self.text.push(b',');
            }
            self.text.pop();
            self.text.drain(begin..end);
        }
        self.members.truncate(first);
        Some(())
    }

    /// How long the text is with what is still to be copied.
    fn length(&self) -> usize {
        self.text.len() + self.tokens.since(self.kept).len()
    }

    fn copy(&mut self) {
        self.text.extend_from_slice(self.tokens.since(self.kept));
        self.kept = self.tokens.at();
    }

    fn skip_space(&mut self) {
        if self.tokens.at_space() {
            self.copy();
            self.tokens.space();
            self.kept = self.tokens.at();
        }
    }
}
