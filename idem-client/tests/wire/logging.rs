//! What the log shows: a budget that is too long, and never a key, a token or a body.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_client::Outcome;
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
