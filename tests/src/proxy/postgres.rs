//! PostgreSQL's protocol 3.0: framing, and of the client's messages the few that carry or name SQL. No I/O.

use std::collections::HashMap;

use super::protocol::{Asked, Protocol, text};

pub(super) struct Postgres {
    asked: Framer,
    answered: Framer,
    names: Names,
    /// How many ends of answers the server still owes.
    owed: usize,
}

/// A message of either side, still framed.
struct Message {
    kind: u8,
    frame: Vec<u8>,
}

/// Splits a byte stream into messages.
#[derive(Default)]
struct Framer {
    buffer: Vec<u8>,
    /// The client's first message has no type byte.
    starts_untyped: bool,
}

/// The statements that a client has prepared, and the portals it has bound to them.
#[derive(Default)]
struct Names {
    statements: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
}

impl Default for Postgres {
    fn default() -> Self {
        Self {
            asked: Framer {
                starts_untyped: true,
                ..Framer::default()
            },
            answered: Framer::default(),
            names: Names::default(),
            owed: 0,
        }
    }
}

impl Protocol for Postgres {
    fn asks(&mut self, bytes: &[u8]) {
        self.asked.buffer.extend(bytes);
    }

    fn next(&mut self) -> Option<Asked> {
        let message = self.asked.next()?;
        self.owed += usize::from(message.asks_for_the_end());
        Some(Asked {
            sql: self.names.executed(&message),
            is_outside_rounds: message.is_outside_rounds(),
            frame: message.frame,
        })
    }

    fn answers(&mut self, bytes: &[u8]) {
        self.answered.buffer.extend(bytes);
        while let Some(message) = self.answered.next() {
            self.owed -= usize::from(message.is_ready_for_query());
        }
    }

    fn is_settled(&self) -> bool {
        self.owed == 0
    }
}

impl Framer {
    fn next(&mut self) -> Option<Message> {
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
    fn is_ready_for_query(&self) -> bool {
        self.kind == b'Z'
    }

    /// Good-bye, or the first message.
    fn is_outside_rounds(&self) -> bool {
        matches!(self.kind, 0 | b'X')
    }

    /// Whether the server answers it with a message that [is ready for query](Self::is_ready_for_query): the first
    /// message, a simple query, Sync.
    fn asks_for_the_end(&self) -> bool {
        matches!(self.kind, 0 | b'Q' | b'S')
    }

    fn body(&self) -> &[u8] {
        &self.frame[5..]
    }
}

impl Names {
    /// The SQL that this message makes the server run, if it does.
    fn executed(&mut self, message: &Message) -> Option<String> {
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
