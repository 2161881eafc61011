//! The traffic of one proxied connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::protocol::{self, Protocol};
use super::{Cut, State, lock};

struct Pump<'a> {
    state: &'a State,
    number: usize,
    protocol: Box<dyn Protocol>,
    round: usize,
    /// An answer has gone to the client since it sent something.
    is_answered: bool,
    last_sent: Instant,
    held: Vec<u8>,
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
        protocol: protocol::of(state.backend),
        round: 0,
        is_answered: false,
        last_sent: Instant::now(),
        held: Vec::new(),
    };
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let quiet = *lock(&state.hold);
        let release = pump.last_sent + quiet.unwrap_or(Duration::ZERO);
        tokio::select! {
            // What the client has already sent comes before what we let it see.
            biased;
            count = client.read(&mut up) => {
                let count = some(count?)?;
                pump.protocol.asks(&up[..count]);
                pump.last_sent = Instant::now();
                while let Some(asked) = pump.protocol.next() {
                    if asked.is_outside_rounds {
                        server.write_all(&asked.frame).await?;
                        continue;
                    }
                    let sql = asked.sql.as_deref();
                    let cut = sql.and_then(|sql| state.take_cut(sql));
                    if matches!(cut, Some(Cut::Before(_))) {
                        return Ok(());
                    }
                    pump.note(sql);
                    server.write_all(&asked.frame).await?;
                    if cut.is_some() {
                        // The answer may come only after what is still to be passed on: PostgreSQL's Sync.
                        while let Some(asked) = pump.protocol.next() {
                            server.write_all(&asked.frame).await?;
                        }
                        return pump.answered(&mut server).await;
                    }
                }
            }
            () = sleep_until(release), if !pump.held.is_empty() => pump.release(&mut client).await?,
            count = server.read(&mut down) => {
                let count = some(count?)?;
                pump.held.extend(&down[..count]);
                pump.protocol.answers(&down[..count]);
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

    /// Returns when the server is through with everything it was sent.
    async fn answered(&mut self, server: &mut TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while !self.protocol.is_settled() {
            let count = some(server.read(&mut buffer).await?)?;
            self.protocol.answers(&buffer[..count]);
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
