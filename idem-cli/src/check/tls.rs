//! TLS to a server, with the certificates that this machine trusts; SSL_CERT_FILE names others.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, crypto};

/// What a connection is made of.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum TlsError {
    #[error(transparent)]
    Name(#[from] InvalidDnsNameError),
    #[error("this machine trusts nobody: there are no root certificates")]
    NoRoots,
    #[error(transparent)]
    Config(#[from] rustls::Error),
    #[error(transparent)]
    Handshake(#[from] io::Error),
}

pub(super) struct Client {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Client {
    pub(super) fn to(host: &str) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        // One that cannot be read is one that is not trusted.
        let (trusted, _) =
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if trusted == 0 {
            return Err(TlsError::NoRoots);
        }
        let config =
            ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots)
                .with_no_client_auth();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: ServerName::try_from(host.to_owned())?,
        })
    }

    pub(super) async fn connect(
        &self,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, TlsError> {
        Ok(self.connector.connect(self.name.clone(), stream).await?)
    }
}
