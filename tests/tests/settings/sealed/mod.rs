//! What is stored where the application seals, redacts or compresses it, on every backend: what can be read in the table,
//! and what becomes of a row that somebody has changed.
//!
//! How these cases make applications; no case lives here.

mod leased;
mod records;
mod redaction;

use actix_web::test::TestRequest;
use actix_web::web;
use idem_runtime::{Builder, EncryptionKeys, Seal, SealError, Sealed};
use idem_tests::Database;

use crate::leased::{self as leasing, Kind, Told};
use crate::open::Answer;

/// The key that these cases seal with.
fn keys() -> EncryptionKeys {
    EncryptionKeys::new(1, [1; 32])
}

/// A seal that cannot be made at this moment.
struct WithoutKeys;

impl Seal for WithoutKeys {
    fn seal(&self, _: &[u8], _: &[u8]) -> Result<Sealed, SealError> {
        Err(SealError::Failed("the keys are away".into()))
    }

    fn open(&self, key_id: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::UnknownKey(key_id))
    }
}

/// A process that seals.
async fn sealing<K: Kind>(database: &Database) -> Builder<K> {
    K::builder(database).await.seal(keys())
}

/// One request after the other, to handlers in both modes.
async fn send<K: Kind>(builder: Builder<K>, requests: Vec<TestRequest>) -> Vec<Answer> {
    leasing::send(builder, &web::Data::<Told>::default(), requests).await
}

async fn send_one<K: Kind>(builder: Builder<K>, request: TestRequest) -> Answer {
    send(builder, vec![request]).await.remove(0)
}

/// Everything that the table says in texts and bytes.
async fn everything<K: Kind>(database: &Database) -> String {
    let mut all = String::new();
    for row in 0..database.records().await {
        let value = async |expression: &str| {
            let query = format!(
                "SELECT {expression} FROM idempotency_keys ORDER BY id LIMIT 1 OFFSET {row}"
            );
            database.text(&query).await.unwrap_or_default()
        };
        all += &value("headers").await;
        all += &value("steps").await;
        for column in ["body", "request"] {
            let hex = value(&format!("{}{column}{}", K::HEX.0, K::HEX.1)).await;
            let bytes = hex.as_bytes().chunks(2).map(|pair| {
                let pair = std::str::from_utf8(pair).unwrap();
                u8::from_str_radix(pair, 16).unwrap()
            });
            all += &String::from_utf8_lossy(&bytes.collect::<Vec<_>>());
        }
    }
    all
}
