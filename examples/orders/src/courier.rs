//! The courier: somebody else's service, which no transaction of ours can roll back. Nothing of orders.
//!
//! Here it is a directory with one file for each parcel, so that the API can be tried without a network. A real one
//! would be called over HTTP, and this would be its client.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use actix_web::rt::time::sleep;
use actix_web::web;

/// From the request to the booking, and from the booking to the answer.
const WAY: Duration = Duration::from_millis(500);

/// The courier's client.
#[derive(Clone, Debug)]
pub(crate) struct Courier {
    books: PathBuf,
}

impl Courier {
    /// A call takes no longer than this: a booking that is not in the books by then will not come to be.
    pub(crate) const LONGEST: Duration = Duration::from_secs(2);

    /// The courier whose books are in the directory `ORDERS_COURIER`, or `courier`.
    pub(crate) fn from_env() -> Self {
        let books = env::var_os("ORDERS_COURIER").unwrap_or_else(|| "courier".into());
        Self {
            books: books.into(),
        }
    }

    /// Books a parcel, and gives its number. The courier knows the key: a second request with it books nothing.
    pub(crate) async fn book(&self, key: &str, to: &str) -> io::Result<String> {
        sleep(WAY).await;
        let (books, page, to) = (self.books.clone(), self.books.join(key), to.to_owned());
        let written = web::block(move || {
            fs::create_dir_all(books)?;
            let page = OpenOptions::new().write(true).create_new(true).open(page);
            page.and_then(|mut page| page.write_all(to.as_bytes()))
        });
        match written.await.map_err(io::Error::other)? {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => written?,
        }
        sleep(WAY).await;
        Ok(number(key))
    }

    /// The number of the parcel that was booked with this key, if one was.
    pub(crate) async fn find(&self, key: &str) -> io::Result<Option<String>> {
        let page = self.books.join(key);
        let is_booked = web::block(move || page.try_exists());
        let is_booked = is_booked.await.map_err(io::Error::other)??;
        Ok(is_booked.then(|| number(key)))
    }
}

fn number(key: &str) -> String {
    format!("parcel-{}", key.get(..12).unwrap_or(key))
}
