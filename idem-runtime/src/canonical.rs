//! The canonical form of a JSON body: member order and insignificant white space do not matter,
//! and nothing else is merged.
//!
//! Pure: bytes in, bytes out. What is hashed, and when, is decided elsewhere.

use std::borrow::Cow;

use json_event_parser::{JsonEvent, LowLevelJsonParser};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

/// How deep arrays and objects may nest: as deep as `serde_json` reads. It bounds the work, since a
/// part of the body is moved at most once for each level around it.
const MAX_DEPTH: usize = 128;

/// The byte order mark, which the parser skips and RFC 8259 does not allow.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The canonical form of a JSON text, or `None` if it has none: it is not JSON as RFC 8259 has it,
/// it repeats a member name (compared decoded), or it nests too deep.
///
/// Two texts have the same form exactly if they differ only in white space between tokens and in
/// the order of members. Tokens keep their source text: `1` and `1.0` stay apart, and so do `"a"`
/// and `"\u0061"`.
pub(crate) fn canonical_json(body: &[u8]) -> Option<Vec<u8>> {
    if body.starts_with(BYTE_ORDER_MARK) {
        return None;
    }
    let mut parser = LowLevelJsonParser::new();
    let mut form = Form::with_capacity(body.len());
    let mut rest = body;
    loop {
        let step = parser.parse_next(rest, true);
        // White space, comma and colon in front of a token are consumed together with it.
        let (consumed, tail) = rest.split_at_checked(step.consumed_bytes)?;
        rest = tail;
        match step.event?.ok()? {
            JsonEvent::StartObject => form.open(b"{")?,
            JsonEvent::StartArray => form.open(b"[")?,
            JsonEvent::EndObject => form.close_object()?,
            JsonEvent::EndArray => form.close_array()?,
            JsonEvent::ObjectKey(name) => form.member(name, string_token(consumed)?),
            JsonEvent::String(_) => form.value(string_token(consumed)?),
            JsonEvent::Number(digits) => form.value(digits.as_bytes()),
            JsonEvent::Boolean(true) => form.value(b"true"),
            JsonEvent::Boolean(false) => form.value(b"false"),
            JsonEvent::Null => form.value(b"null"),
            JsonEvent::Eof => return Some(form.text),
        }
    }
}

/// The string as it was written, quotes included, without what was skipped in front of it.
fn string_token(consumed: &[u8]) -> Option<&[u8]> {
    let quote = consumed.iter().position(|&byte| byte == b'"')?;
    consumed.get(quote..)
}

/// The canonical text as far as it has been written.
struct Form<'a> {
    text: Vec<u8>,
    /// For each open array or object, outermost first, how many members were known before it.
    open: Vec<usize>,
    /// The members of all open objects, those of the innermost last.
    members: Vec<Member<'a>>,
    /// Holds an object's members while they are put into order.
    scratch: Vec<u8>,
}

/// One `"name":value` of an object that is still open.
struct Member<'a> {
    /// Decoded, so that `"a"` and `"\u0061"` count as a repetition.
    name: Cow<'a, str>,
    /// Where it begins in the text. It ends at the comma before the next one.
    start: usize,
}

impl<'a> Form<'a> {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            text: Vec::with_capacity(bytes),
            open: Vec::new(),
            members: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn value(&mut self, token: &[u8]) {
        self.separate();
        self.text.extend_from_slice(token);
    }

    fn member(&mut self, name: Cow<'a, str>, token: &[u8]) {
        self.separate();
        let start = self.text.len();
        self.members.push(Member { name, start });
        self.text.extend_from_slice(token);
        self.text.push(b':');
    }

    /// The comma before a value or a member, unless it is the first of its array or object. No
    /// token ends in one of these bytes, so the last byte tells.
    fn separate(&mut self) {
        if !matches!(self.text.last(), None | Some(b'[' | b'{' | b':')) {
            self.text.push(b',');
        }
    }

    fn open(&mut self, bracket: &[u8]) -> Option<()> {
        if self.open.len() == MAX_DEPTH {
            return None;
        }
        self.value(bracket);
        self.open.push(self.members.len());
        Some(())
    }

    fn close_array(&mut self) -> Option<()> {
        self.open.pop()?;
        self.text.push(b']');
        Some(())
    }

    fn close_object(&mut self) -> Option<()> {
        let first = self.open.pop()?;
        let members = self.members.get(first..)?;
        if !members.is_sorted_by(|one, next| one.name < next.name) {
            put_in_order(members, &mut self.text, &mut self.scratch)?;
        }
        self.members.truncate(first);
        self.text.push(b'}');
        Some(())
    }
}

/// Sorts the members at the end of the text by name; `None` if a name is repeated.
fn put_in_order(members: &[Member<'_>], text: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Option<()> {
    let begin = members.first()?.start;
    let ends = members.iter().skip(1).map(|next| next.start - 1);
    let mut parts = Vec::with_capacity(members.len());
    for (member, end) in members.iter().zip(ends.chain([text.len()])) {
        parts.push((&*member.name, text.get(member.start..end)?));
    }
    parts.sort_unstable_by_key(|&(name, _)| name);
    if !parts.is_sorted_by(|(one, _), (next, _)| one < next) {
        return None;
    }
    scratch.clear();
    for (_, part) in parts {
        scratch.extend_from_slice(part);
        scratch.push(b',');
    }
    scratch.pop();
    text.truncate(begin);
    text.extend_from_slice(scratch);
    Some(())
}
