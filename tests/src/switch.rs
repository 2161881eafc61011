//! A TCP switch: clients keep one address while what is behind it goes, comes back, or is another server. It does not
//! read what it carries; the proxy does.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The switch; gone when dropped, and its connections with it.
pub struct Switch {
    address: SocketAddr,
    lead: watch::Sender<Lead>,
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
        let open = watch::Sender::new(0);
        let accept = accept(listener, lead.subscribe(), open.clone());
        Self {
            address,
            lead,
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

async fn accept(listener: TcpListener, lead: watch::Receiver<Lead>, open: watch::Sender<usize>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let mut lead = lead.clone();
        let Lead { target, era } = *lead.borrow();
        let Some(target) = target else {
            continue;
        };
        let open = Open::new(&open);
        tokio::spawn(async move {
            let _open = open;
            let carry = async {
                let mut server = TcpStream::connect(target).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                copy_bidirectional(&mut client, &mut server).await
            };
            // Also when the switch itself is gone.
            tokio::select! {
                _ = lead.wait_for(|lead| lead.era != era) => {}
                _ = carry => {}
            }
        });
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
