//! What the log shows: a budget that is too long, and never a key, a token or a body.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_client::reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use idem_client::{Key, Outcome, reqwest};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::builder;
use crate::server::{Server, Turn};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Everything that is said on this thread while the guard lives.
fn listen() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

#[test]
fn a_budget_beyond_the_retention_is_worth_a_warning() {
    let (log, _guard) = listen();
    let minute = Duration::from_secs(60);
    let client = builder().budget(minute).retention(minute).build().unwrap();
    assert!(!log.text().contains("WARN"), "{}", log.text());
    builder()
        .budget(minute + Duration::from_secs(1))
        .retention(minute)
        .build()
        .unwrap();
    assert_eq!(log.text().matches("WARN").count(), 1, "{}", log.text());
    let request = client.post("http://127.0.0.1:9/").retention(minute / 2);
    request.prepare().unwrap();
    assert_eq!(log.text().matches("WARN").count(), 2, "{}", log.text());
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_secret_is_said_on_any_level() {
    let (log, _guard) = listen();
    let server = Server::start(&[Turn::CloseBehind, Turn::CutBody]).await;
    let client = builder().build().unwrap();
    let request = client.post(format!("{}?q=qu3ry", server.url()));
    let mut operation = request.bearer_auth("t0ken").body("b0dy").prepare().unwrap();
    let outcome = client.run(&mut operation).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    let (text, printed) = (log.text(), format!("{client:?} {operation:?} {outcome:?}"));
    // It was heard at all.
    assert!(text.contains("the operation is sent again"), "{text}");
    let key = operation.key().unwrap().trim_matches('"').to_owned();
    for secret in [&*key, "t0ken", "b0dy", "order 0"] {
        assert!(!text.contains(secret), "{secret}: {text}");
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
    assert!(!printed.contains("qu3ry"), "{printed}");
}

/// Whatever is on its way to be a client or an operation may be printed by somebody.
#[test]
fn nothing_secret_is_printed_of_what_is_being_written() {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer t0ken"));
    let http = reqwest::Client::builder().default_headers(headers);
    let settings = builder().http(http);
    let printed = format!("{settings:?}");
    assert!(
        printed.contains("budget") && !printed.contains("t0ken"),
        "{printed}"
    );

    let client = settings.build().unwrap();
    let name = HeaderName::from_static("x-signature");
    let request = client.post("http://127.0.0.1:9/?q=qu3ry");
    let request = request.header(name, HeaderValue::from_static("s1gned"));
    let request = request.key(Key::new("m1ne").unwrap()).body("b0dy");
    let printed = format!("{client:?} {request:?}");
    for secret in ["qu3ry", "s1gned", "m1ne", "b0dy", "t0ken"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }

    // A key that is written as a header, for reqwest's own eyes.
    let name = HeaderName::from_static("idempotency-key");
    let request = client.post("http://127.0.0.1:9/");
    let request = request.header(name, HeaderValue::from_static("m1ne"));
    let _ = request.with(|http| {
        let printed = format!("{http:?}");
        assert!(printed.contains("idempotency-key"), "{printed}");
        assert!(!printed.contains("m1ne"), "{printed}");
        http
    });
}
