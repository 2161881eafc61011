//! Routes behind a socket: as a process, or on a thread of a test.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use actix_web::dev::{Server, ServerHandle};
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer};

/// A server that listens already, and runs when it is awaited; and where it listens.
pub fn serve(
    routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    listen: SocketAddr,
    workers: usize,
) -> io::Result<(Server, SocketAddr)> {
    let server = HttpServer::new(move || App::new().configure(routes.clone()))
        .workers(workers)
        .disable_signals()
        .bind(listen)?;
    let address = server.addrs().first().copied();
    let address = address.ok_or_else(|| io::Error::other("nothing listens"))?;
    Ok((server.run(), address))
}

/// A server on a thread of its own, with a free port of this machine. Stopped when dropped.
pub struct Running {
    address: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Returns when it listens. Panics if it cannot.
    pub fn start(routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) -> Self {
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            actix_web::rt::System::new().block_on(async {
                let (server, address) =
                    serve(routes, ([127, 0, 0, 1], 0).into(), 2).expect("it listens");
                tell.send((address, server.handle()))
                    .expect("somebody waits");
                server.await.expect("it serves");
            });
        });
        let (address, handle) = told.recv().expect("it listens");
        Self {
            address,
            handle,
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The command is sent by the call; its future only waits for the end.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server panicked");
        }
    }
}
