//! What the databases that are servers have in common: how they are reached, and when they answer.
//!
//! No SQL.

use std::env;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::Outcome;
use crate::proxy::Proxy;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const PAUSE: Duration = Duration::from_millis(50);
const QUERY_PATIENCE: Duration = Duration::from_secs(20);

/// The server that this variable names.
pub(super) fn named(variable: &str) -> Outcome<String> {
    let server = env::var(variable).ok().filter(|url| !url.is_empty());
    server.ok_or_else(|| format!("{variable} is not set: `cargo xtask torture` sets it").into())
}

pub(super) async fn proxy(url: &str) -> Outcome<Option<Proxy>> {
    let proxy = Proxy::start().await?;
    proxy.lead_to(Some(idem_tests::server_of(url).parse()?));
    Ok(Some(proxy))
}

pub(super) fn url_through(url: &str, proxy: Option<&Proxy>) -> String {
    match proxy {
        Some(proxy) => idem_tests::with_address(url, proxy.address()),
        None => url.to_owned(),
    }
}

pub(super) async fn in_time(work: impl Future<Output = Outcome>) -> Outcome {
    timeout(QUERY_PATIENCE, work).await?
}

/// Returns when it answers.
pub(super) async fn until_up<A: Future<Output = Outcome>>(ask: impl Fn() -> A) -> Outcome {
    let start = Instant::now();
    loop {
        match timeout(Duration::from_secs(2), ask()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) if start.elapsed() > PATIENCE => return Err(error),
            Err(error) if start.elapsed() > PATIENCE => return Err(error.into()),
            _ => sleep(PAUSE).await,
        }
    }
}
