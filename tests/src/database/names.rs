//! Names of databases, and where they stand in a server's URL.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_micros();
    format!("idem_test_{time}_{}_{count}", process::id())
}

/// The same server, user and parameters, another database.
pub(super) fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..]
        .find('/')
        .map_or(address.len(), |at| authority + at);
    let question = if parameters.is_empty() { "" } else { "?" };
    format!("{}/{name}{question}{parameters}", &address[..end])
}
