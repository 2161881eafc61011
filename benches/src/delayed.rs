//! A way to the database that is longer by a fixed time in each direction. What is sent together arrives together: each
//! piece has its own moment at which it is due. Threads that block, since an asynchronous runtime's clock ticks in
//! milliseconds.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, iter};

const BUFFER: usize = 1 << 16;

/// Accepts no more connections once it is dropped; those that there are end with their ends.
pub(crate) struct Delayed {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

struct Piece {
    due: Instant,
    bytes: Vec<u8>,
}

impl Delayed {
    /// To that server, `HOST:PORT`, in so much time each way.
    pub(crate) fn to(server: String, one_way: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // Whoever cannot be connected is hung up on.
                let _ =
                    TcpStream::connect(&server).and_then(|server| join(&client, &server, one_way));
            }
        });
        Ok(Self { address, is_over })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // So that the listener looks.
        let _ = TcpStream::connect(self.address);
    }
}

fn join(client: &TcpStream, server: &TcpStream, one_way: Duration) -> io::Result<()> {
    for (from, to) in [(client, server), (server, client)] {
        to.set_nodelay(true)?;
        let (sender, receiver) = mpsc::channel();
        let (mut from, to) = (from.try_clone()?, to.try_clone()?);
        thread::spawn(move || {
            let mut buffer = vec![0; BUFFER];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                let piece = Piece {
                    due: Instant::now() + one_way,
                    bytes: buffer[..count].to_vec(),
                };
                if sender.send(piece).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || deliver(&receiver, to));
    }
    Ok(())
}

fn deliver(pieces: &Receiver<Piece>, mut to: TcpStream) {
    for Piece { due, bytes } in iter::from_fn(|| pieces.recv().ok()) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_WAY: Duration = Duration::from_millis(20);

    fn echo() -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut copy = stream.try_clone().unwrap();
            io::copy(&mut copy, &mut stream)
        });
        address
    }

    #[test]
    fn a_round_trip_takes_the_delay_both_ways() {
        let delayed = Delayed::to(echo(), ONE_WAY).unwrap();
        let mut stream = TcpStream::connect(delayed.address()).unwrap();
        let start = Instant::now();
        let mut answer = [0; 4];
        stream.write_all(b"ping").unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ping");
        assert!(start.elapsed() >= 2 * ONE_WAY);
    }

    #[test]
    fn what_is_sent_one_after_another_is_not_delayed_one_after_another() {
        let delayed = Delayed::to(echo(), ONE_WAY).unwrap();
        let mut stream = TcpStream::connect(delayed.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let start = Instant::now();
        for number in 0..50 {
            stream.write_all(&[number]).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
        let mut answers = [0; 50];
        stream.read_exact(&mut answers).unwrap();
        assert!(answers.iter().copied().eq(0..50), "{answers:?}");
        // 50 times the delay would be two seconds.
        assert!(start.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn an_end_is_passed_on() {
        let delayed = Delayed::to(echo(), ONE_WAY).unwrap();
        let mut stream = TcpStream::connect(delayed.address()).unwrap();
        stream.write_all(b"last").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"last");
    }
}
