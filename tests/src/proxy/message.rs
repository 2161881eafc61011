//! Messages of PostgreSQL's protocol 3.0: framing, and of the client's the few that carry or name SQL. No I/O.

use std::collections::HashMap;

/// A message of either side, still framed.
pub(super) struct Message {
    kind: u8,
    frame: Vec<u8>,
}

/// Splits a byte stream into messages.
#[derive(Default)]
pub(super) struct Framer {
    buffer: Vec<u8>,
    /// The client's first message has no type byte.
    starts_untyped: bool,
}

/// The statements that a client has prepared, and the portals it has bound to them.
#[derive(Default)]
pub(super) struct Names {
    statements: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
}

impl Framer {
    pub(super) fn of_client() -> Self {
        Self {
            starts_untyped: true,
            ..Self::default()
        }
    }

    pub(super) fn of_server() -> Self {
        Self::default()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
    }

    pub(super) fn next(&mut self) -> Option<Message> {
        let kind_size = usize::from(!self.starts_untyped);
        let length = self.buffer.get(kind_size..kind_size + 4)?;
        let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
        let size = kind_size + usize::try_from(length).expect("a length");
        if self.buffer.len() < size {
            return None;
        }
        let kind = if self.starts_untyped {
            0
        } else {
            self.buffer[0]
        };
        self.starts_untyped = false;
        Some(Message {
            kind,
            frame: self.buffer.drain(..size).collect(),
        })
    }
}

impl Message {
    pub(super) fn into_frame(self) -> Vec<u8> {
        self.frame
    }

    pub(super) fn is_ready_for_query(&self) -> bool {
        self.kind == b'Z'
    }

    /// Whether the client waits for nothing after this: good-bye, or the first message.
    pub(super) fn is_outside_rounds(&self) -> bool {
        matches!(self.kind, 0 | b'X')
    }

    /// Whether the server answers it with a message that [is ready for query](Self::is_ready_for_query): the first
    /// message, a simple query, Sync.
    pub(super) fn asks_for_the_end(&self) -> bool {
        matches!(self.kind, 0 | b'Q' | b'S')
    }

    fn body(&self) -> &[u8] {
        &self.frame[5..]
    }
}

impl Names {
    /// The SQL that this message makes the server run, if it does.
    pub(super) fn executed(&mut self, message: &Message) -> Option<String> {
        match message.kind {
            b'Q' => Some(text(strings(message.body()).next()?)),
            b'P' => {
                let mut strings = strings(message.body());
                let name = strings.next()?.to_vec();
                self.statements.insert(name, text(strings.next()?));
                None
            }
            b'B' => {
                let mut strings = strings(message.body());
                let portal = strings.next()?.to_vec();
                let sql = self.statements.get(strings.next()?)?.clone();
                self.portals.insert(portal, sql);
                None
            }
            b'E' => self.portals.get(strings(message.body()).next()?).cloned(),
            _ => None,
        }
    }
}

/// Zero-terminated strings at the start of a body.
fn strings(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == 0)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
