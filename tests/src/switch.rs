//! A TCP switch: clients keep one address while what is behind it goes, comes back, says nothing, or is another server. It
//! does not read what it carries; the proxy does.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The switch; gone when dropped, and its connections with it.
pub struct Switch {
    address: SocketAddr,
    lead: watch::Sender<Lead>,
    is_mute: watch::Sender<bool>,
    open: watch::Sender<usize>,
    listener: JoinHandle<()>,
}

/// Where to, and how often that was changed: a connection lives until the next change.
#[derive(Clone, Copy)]
struct Lead {
    target: Option<SocketAddr>,
    era: u64,
}

/// Counts as an open connection for as long as it lives.
struct Open(watch::Sender<usize>);

impl Switch {
    /// A switch that leads there.
    pub async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("an address");
        let target = Some(target);
        let lead = watch::Sender::new(Lead { target, era: 0 });
        let is_mute = watch::Sender::new(false);
        let open = watch::Sender::new(0);
        let accept = accept(
            listener,
            lead.subscribe(),
            is_mute.subscribe(),
            open.clone(),
        );
        Self {
            address,
            lead,
            is_mute,
            open,
            listener: tokio::spawn(accept),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and every new one. Returns when none is left.
    pub async fn cut(&self) {
        self.set(None).await;
    }

    /// Closes all connections; new ones lead there.
    pub async fn lead_to(&self, target: SocketAddr) {
        self.set(Some(target)).await;
    }

    /// Nothing comes back to clients any more, over whatever connection, while all that they send arrives.
    pub fn mute(&self) {
        self.is_mute.send_replace(true);
    }

    async fn set(&self, target: Option<SocketAddr>) {
        self.lead.send_modify(|lead| {
            lead.target = target;
            lead.era += 1;
        });
        if target.is_none() {
            let mut open = self.open.subscribe();
            let _ = open.wait_for(|open| *open == 0).await;
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn accept(
    listener: TcpListener,
    lead: watch::Receiver<Lead>,
    is_mute: watch::Receiver<bool>,
    open: watch::Sender<usize>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let (mut lead, is_mute) = (lead.clone(), is_mute.clone());
        let Lead { target, era } = *lead.borrow();
        let Some(target) = target else {
            continue;
        };
        let open = Open::new(&open);
        tokio::spawn(async move {
            let _open = open;
            let carry = async {
                let server = TcpStream::connect(target).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                let (mut asks, hears) = client.into_split();
                let (says, mut told) = server.into_split();
                let there = async {
                    copy(&mut asks, &mut told).await?;
                    told.shutdown().await
                };
                tokio::try_join!(there, back(says, hears, is_mute))
            };
            // Also when the switch itself is gone.
            tokio::select! {
                _ = lead.wait_for(|lead| lead.era != era) => {}
                _ = carry => {}
            }
        });
    }
}

/// What the server says, unless nothing is to come back.
async fn back(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    mut is_mute: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 14];
    loop {
        let count = server.read(&mut bytes).await?;
        if is_mute.wait_for(|is_mute| !*is_mute).await.is_err() || count == 0 {
            return client.shutdown().await;
        }
        client.write_all(&bytes[..count]).await?;
    }
}

impl Open {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|open| *open += 1);
        Self(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}
