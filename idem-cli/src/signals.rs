//! Signals that would end the process, held back from before a change until the line behind it is written.
//!
//! SIGKILL cannot be held.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::task::JoinHandle;

use crate::error::Error;

/// From its making on no signal that asks ends the process: what was begun is finished first. What waits for somebody
/// else's lock is bounded, so that this does not last.
pub(crate) struct Held(JoinHandle<()>);

impl Held {
    pub(crate) fn new() -> Result<Self, Error> {
        // Each is held from here on, and not from when it is first looked for.
        let mut held = listeners().map_err(Error::Runtime)?;
        let any = poll_fn(move |context| {
            let mut is_any = false;
            for signal in &mut held {
                is_any |= signal.poll_recv(context).is_ready();
            }
            match is_any {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        Ok(Self(tokio::spawn(any)))
    }

    /// Whether there was one.
    pub(crate) fn is_any(&self) -> bool {
        self.0.is_finished()
    }
}

#[cfg(unix)]
fn listeners() -> io::Result<Vec<tokio::signal::unix::Signal>> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    kinds.into_iter().map(signal).collect()
}

#[cfg(windows)]
fn listeners() -> io::Result<Vec<tokio::signal::windows::CtrlC>> {
    Ok(vec![tokio::signal::windows::ctrl_c()?])
}
