//! The traffic of one proxied connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::message::{Framer, Names};
use super::{Cut, State, lock};

struct Pump<'a> {
    state: &'a State,
    number: usize,
    names: Names,
    round: usize,
    /// An answer has gone to the client since it sent something.
    is_answered: bool,
    last_sent: Instant,
    held: Vec<u8>,
    answers: Framer,
    /// How many ends of answers the server still owes.
    owed: usize,
}

/// Until one of the two goes away, or the cut.
pub(super) async fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    number: usize,
    state: &State,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut pump = Pump {
        state,
        number,
        names: Names::default(),
        round: 0,
        is_answered: false,
        last_sent: Instant::now(),
        held: Vec::new(),
        answers: Framer::of_server(),
        owed: 0,
    };
    let mut framer = Framer::of_client();
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let quiet = *lock(&state.hold);
        let release = pump.last_sent + quiet.unwrap_or(Duration::ZERO);
        tokio::select! {
            // What the client has already sent comes before what we let it see.
            biased;
            count = client.read(&mut up) => {
                let count = some(count?)?;
                framer.push(&up[..count]);
                pump.last_sent = Instant::now();
                while let Some(message) = framer.next() {
                    pump.owed += usize::from(message.asks_for_the_end());
                    if message.is_outside_rounds() {
                        server.write_all(&message.into_frame()).await?;
                        continue;
                    }
                    let sql = pump.names.executed(&message);
                    let cut = sql.as_deref().and_then(|sql| state.take_cut(sql));
                    if matches!(cut, Some(Cut::Before(_))) {
                        return Ok(());
                    }
                    pump.note(sql.as_deref());
                    server.write_all(&message.into_frame()).await?;
                    if cut.is_some() {
                        // With the extended protocol the answer comes after Sync, which is still to be passed on.
                        while let Some(message) = framer.next() {
                            pump.owed += usize::from(message.asks_for_the_end());
                            server.write_all(&message.into_frame()).await?;
                        }
                        return pump.answered(&mut server).await;
                    }
                }
            }
            () = sleep_until(release), if !pump.held.is_empty() => pump.release(&mut client).await?,
            count = server.read(&mut down) => {
                let count = some(count?)?;
                pump.held.extend(&down[..count]);
                pump.settle(&down[..count]);
                if quiet.is_none() {
                    pump.release(&mut client).await?;
                }
            }
        }
    }
}

impl Pump<'_> {
    fn note(&mut self, sql: Option<&str>) {
        if std::mem::take(&mut self.is_answered) {
            self.round += 1;
        }
        self.state.record(self.number, self.round, sql);
    }

    async fn release(&mut self, client: &mut TcpStream) -> io::Result<()> {
        client.write_all(&std::mem::take(&mut self.held)).await?;
        self.is_answered = true;
        Ok(())
    }

    /// Counts the ends of answers among these bytes of the server.
    fn settle(&mut self, bytes: &[u8]) {
        self.answers.push(bytes);
        while let Some(message) = self.answers.next() {
            self.owed -= usize::from(message.is_ready_for_query());
        }
    }

    /// Returns when the server is through with everything it was sent.
    async fn answered(&mut self, server: &mut TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while self.owed > 0 {
            let count = some(server.read(&mut buffer).await?)?;
            self.settle(&buffer[..count]);
        }
        Ok(())
    }
}

fn some(count: usize) -> io::Result<usize> {
    match count {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    }
}
