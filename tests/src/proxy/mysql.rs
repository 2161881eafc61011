//! The protocol of MySQL and MariaDB: packets, of the client's the few that carry or name SQL, and where an answer ends.
//! No I/O. What the tests' clients do not speak (TLS, compression, LOCAL INFILE, cursors) it does not speak either, and says so.

use std::collections::{HashMap, VecDeque};

use mysql_common::constants::{CapabilityFlags, Command, MAX_PAYLOAD_LEN, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    CommonOkPacket, OkPacketDeserializer, OkPacketKind, OldEofPacket, ResultSetTerminator,
    StmtPacket,
};

use super::protocol::{Asked, Protocol, text};

pub(super) struct Mysql {
    asked: Framer,
    answered: Framer,
    /// What client and server have agreed on.
    capabilities: CapabilityFlags,
    /// The texts of the client's prepared statements.
    statements: HashMap<u32, String>,
    owed: VecDeque<Owed>,
}

/// What the server still has to say to one command.
enum Owed {
    /// Greeting and questions, until the client is let in.
    LogIn,
    /// One packet.
    Packet,
    /// The number of a statement with this text.
    Statement(String),
    /// So many packets that describe a statement.
    Descriptions(usize),
    /// OK, or how many columns a result has.
    Result,
    /// So many packets that describe a result's columns, and then rows.
    Columns(usize),
    Rows,
}

const QUIT: u8 = Command::COM_QUIT as u8;
const INIT_DB: u8 = Command::COM_INIT_DB as u8;
const QUERY: u8 = Command::COM_QUERY as u8;
const STATISTICS: u8 = Command::COM_STATISTICS as u8;
const PING: u8 = Command::COM_PING as u8;
const CHANGE_USER: u8 = Command::COM_CHANGE_USER as u8;
const PREPARE: u8 = Command::COM_STMT_PREPARE as u8;
const EXECUTE: u8 = Command::COM_STMT_EXECUTE as u8;
const SEND_LONG_DATA: u8 = Command::COM_STMT_SEND_LONG_DATA as u8;
const CLOSE: u8 = Command::COM_STMT_CLOSE as u8;
const RESET: u8 = Command::COM_STMT_RESET as u8;
const SET_OPTION: u8 = Command::COM_SET_OPTION as u8;
const RESET_CONNECTION: u8 = Command::COM_RESET_CONNECTION as u8;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// A packet of either side, in as many frames as it takes.
struct Packet {
    is_first: bool,
    frames: Vec<u8>,
    body: Vec<u8>,
}

/// Splits a byte stream into packets.
#[derive(Default)]
struct Framer {
    buffer: Vec<u8>,
}

impl Default for Mysql {
    fn default() -> Self {
        Self {
            asked: Framer::default(),
            answered: Framer::default(),
            capabilities: CapabilityFlags::empty(),
            statements: HashMap::new(),
            owed: VecDeque::from([Owed::LogIn]),
        }
    }
}

impl Protocol for Mysql {
    fn asks(&mut self, bytes: &[u8]) {
        self.asked.buffer.extend(bytes);
    }

    fn next(&mut self) -> Option<Asked> {
        let packet = self.asked.next()?;
        let (sql, is_outside_rounds) = if packet.is_first {
            let sql = self.executed(&packet.body);
            (sql, self.command(&packet.body))
        } else {
            self.agree(&packet.body);
            (None, true)
        };
        Some(Asked {
            frame: packet.frames,
            sql,
            is_outside_rounds,
        })
    }

    fn answers(&mut self, bytes: &[u8]) {
        self.answered.buffer.extend(bytes);
        while let Some(packet) = self.answered.next() {
            // A server that closes the connection may say why, unasked.
            if let Some(owed) = self.owed.pop_front()
                && let Some(rest) = self.rest(owed, &packet.body)
            {
                self.owed.push_front(rest);
            }
        }
    }

    fn is_settled(&self) -> bool {
        self.owed.is_empty()
    }
}

impl Mysql {
    /// The first packet of the client that is no command says what it can.
    fn agree(&mut self, body: &[u8]) {
        if self.capabilities.is_empty() {
            let flags = ParseBuf(body).checked_eat_u32_le().expect("capabilities");
            self.capabilities = CapabilityFlags::from_bits_truncate(flags);
            let unspoken = CapabilityFlags::CLIENT_SSL | CapabilityFlags::CLIENT_COMPRESS;
            assert!(!self.capabilities.intersects(unspoken), "not spoken here");
        }
    }

    /// The SQL that this command makes the server run, if it does.
    fn executed(&self, body: &[u8]) -> Option<String> {
        match body[0] {
            QUERY => Some(text(&body[1..])),
            EXECUTE => self.statements.get(&statement(body)).cloned(),
            _ => None,
        }
    }

    /// Notes what the server owes for this command, and says if that is nothing.
    fn command(&mut self, body: &[u8]) -> bool {
        let owed = match body[0] {
            QUERY | EXECUTE => Owed::Result,
            PREPARE => Owed::Statement(text(&body[1..])),
            PING | INIT_DB | RESET | SET_OPTION | STATISTICS => Owed::Packet,
            RESET_CONNECTION => {
                self.statements.clear();
                Owed::Packet
            }
            CHANGE_USER => {
                self.statements.clear();
                Owed::LogIn
            }
            CLOSE => {
                self.statements.remove(&statement(body));
                return true;
            }
            SEND_LONG_DATA | QUIT => return true,
            other => panic!("command {other} is not spoken here"),
        };
        self.owed.push_back(owed);
        false
    }

    /// What is still owed behind this packet.
    fn rest(&mut self, owed: Owed, body: &[u8]) -> Option<Owed> {
        match (owed, body[0]) {
            // MariaDB tells of its progress so.
            (owed, ERROR) if body[1..].starts_with(&[0xff, 0xff]) => Some(owed),
            (_, ERROR) | (Owed::LogIn, OK) | (Owed::Packet, _) => None,
            (Owed::LogIn, _) => Some(Owed::LogIn),
            (Owed::Statement(sql), _) => {
                let packet: StmtPacket = ParseBuf(body).parse(()).expect("a statement");
                self.statements.insert(packet.statement_id(), sql);
                let each = [packet.num_params(), packet.num_columns()];
                let described = each.into_iter().filter(|count| *count > 0);
                let count = described.map(|count| usize::from(count) + self.end()).sum();
                (count > 0).then_some(Owed::Descriptions(count))
            }
            (Owed::Descriptions(count), _) => (count > 1).then(|| Owed::Descriptions(count - 1)),
            (Owed::Result, OK) => self.more::<CommonOkPacket>(body),
            (Owed::Result, LOCAL_INFILE) => panic!("LOCAL INFILE is not spoken here"),
            (Owed::Result, _) => {
                let mut head = ParseBuf(body);
                let count = head.checked_eat_lenenc_int().expect("a number of columns");
                // MariaDB may leave out what the client knows already.
                let is_known = head.checked_eat_u8() == Some(0);
                let count = usize::try_from(count).expect("a number of columns");
                Some(columns(if is_known { 0 } else { count } + self.end()))
            }
            (Owed::Columns(count), _) => Some(columns(count - 1)),
            (Owed::Rows, END) if body.len() < MAX_PAYLOAD_LEN => match self.end() {
                0 => self.more::<ResultSetTerminator>(body),
                _ => self.more::<OldEofPacket>(body),
            },
            (Owed::Rows, _) => Some(Owed::Rows),
        }
    }

    /// How many packets say that descriptions are over.
    fn end(&self) -> usize {
        let is_silent = self
            .capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        usize::from(!is_silent)
    }

    /// Behind the end of a result.
    fn more<Kind: OkPacketKind>(&self, body: &[u8]) -> Option<Owed> {
        let packet: OkPacketDeserializer<'_, Kind> =
            ParseBuf(body).parse(self.capabilities).expect("an end");
        let status = packet.into_inner().status_flags();
        status
            .contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS)
            .then_some(Owed::Result)
    }
}

fn columns(count: usize) -> Owed {
    match count {
        0 => Owed::Rows,
        count => Owed::Columns(count),
    }
}

/// The number of the statement that a command names.
fn statement(body: &[u8]) -> u32 {
    let number = ParseBuf(&body[1..]).checked_eat_u32_le();
    number.expect("a statement's number")
}

impl Framer {
    fn next(&mut self) -> Option<Packet> {
        let (mut bodies, mut end) = (Vec::new(), 0);
        loop {
            let head = self.buffer.get(end..end + 4)?;
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let length = usize::try_from(length).expect("a length");
            bodies.push(end + 4..end + 4 + length);
            end += 4 + length;
            if length < MAX_PAYLOAD_LEN {
                break;
            }
        }
        if self.buffer.len() < end {
            return None;
        }
        let bodies = bodies.into_iter().map(|body| &self.buffer[body]);
        Some(Packet {
            body: bodies.collect::<Vec<_>>().concat(),
            is_first: self.buffer[3] == 0,
            frames: self.buffer.drain(..end).collect(),
        })
    }
}
