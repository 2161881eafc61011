//! `https`: a server whose certificate this machine trusts is checked like any other, and no other is asked anything.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use idem_tests::broken::Defect;
use rcgen::generate_simple_self_signed;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, pki_types::CertificateDer};

use super::{ALICE, Server};
use crate::common::{Said, command};

/// Takes TLS off in front of a server, for as long as the test's runtime goes on.
async fn in_front_of(
    server: SocketAddr,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> SocketAddr {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us says so here.
                let Ok(mut client) = acceptor.accept(client).await else {
                    return;
                };
                let mut server = TcpStream::connect(server).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

#[actix_web::test]
async fn a_server_behind_tls_is_checked_if_it_is_trusted() {
    let server = Server::with(Defect::None);
    let signed = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let address = in_front_of(server.running.address(), signed.cert.der().clone(), key).await;
    let trusted = server.dir.path().join("trusted.pem");
    fs::write(&trusted, signed.cert.pem()).unwrap();
    let stranger = server.dir.path().join("stranger.pem");
    let other = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(&stranger, other.cert.pem()).unwrap();

    let url = format!("https://localhost:{}/orders", address.port());
    let body = r#"{"item": "tea", "quantity": 1}"#;
    let args = ["check", &url, "--yes", "--header", ALICE, "--body", body];
    let check = |roots| {
        let mut command = Command::from(command(server.dir.path(), &args));
        command.env("SSL_CERT_FILE", roots);
        command.env_remove("SSL_CERT_DIR");
        command
    };
    let said = Said::of(check(&stranger).output().await.unwrap());
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.err.contains("no TLS"), "{}", said.err);
    assert_eq!(server.shop.orders(), 0);
    let said = Said::of(check(&trusted).output().await.unwrap()).done();
    assert!(said.out.contains("it conforms"), "{}", said.out);
    assert!(server.shop.orders() > 10);
}
