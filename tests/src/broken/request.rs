//! What a request says before anything is looked up: its key, its account, its fingerprint.

use actix_web::HttpRequest;
use actix_web::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Defect;
use super::reply::{self, Reply};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LONGEST_KEY: usize = 255;
/// As many as somebody has thought that a key would have.
const LAX_KEY: usize = 64;

/// The body of an order.
#[derive(Deserialize)]
pub(super) struct Order {
    pub(super) item: String,
    /// With fractions: tea is sold by weight.
    #[serde(default)]
    pub(super) quantity: f64,
    #[serde(default)]
    pub(super) sleep_ms: u64,
    #[serde(default)]
    pub(super) fail: bool,
}

/// One operation, and what of it has to be the same at a retry.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) scope: String,
    pub(super) key: String,
    pub(super) fingerprint: Vec<u8>,
}

impl Operation {
    pub(super) fn of(request: &HttpRequest, body: &[u8], defect: Defect) -> Result<Self, Reply> {
        let key = match defect {
            Defect::LaxKeys => lax_key(request),
            _ => key(request)?,
        };
        let account = match account(request) {
            None if defect == Defect::Anonymous => "nobody",
            account => account.ok_or_else(reply::unauthorized)?,
        };
        let scope = match defect {
            Defect::GlobalScope => String::new(),
            _ => account.to_owned(),
        };
        let fingerprint = match defect {
            Defect::NoFingerprint => Vec::new(),
            _ => fingerprint(request, body, defect),
        };
        let key = match defect {
            Defect::BodyIsKey => hex::encode(&fingerprint),
            _ => key,
        };
        Ok(Self {
            scope,
            key,
            fingerprint,
        })
    }

    /// What is taken while the body of this one is on its way.
    pub(super) fn upload(request: &HttpRequest, defect: Defect) -> Result<Self, Reply> {
        let mut upload = Self::of(request, b"", defect)?;
        upload.key.insert_str(0, "upload of ");
        Ok(upload)
    }
}

/// The defect: whatever is there, or something else.
fn lax_key(request: &HttpRequest) -> String {
    let Some(line) = request.headers().get(KEY) else {
        return Uuid::new_v4().to_string();
    };
    let text = String::from_utf8_lossy(line.as_bytes()).to_lowercase();
    text.chars().take(LAX_KEY).collect()
}

/// A String of RFC 9651, or the bare form of one.
fn key(request: &HttpRequest) -> Result<String, Reply> {
    let mut lines = request.headers().get_all(KEY);
    let line = lines.next().ok_or_else(reply::key_missing)?;
    let text = line.to_str().ok().filter(|_| lines.next().is_none());
    let text = text.ok_or_else(reply::key_invalid)?.trim_matches(' ');
    let content = match text.strip_prefix('"') {
        Some(rest) => unquoted(rest),
        None => text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !br#""\,;"#.contains(&byte))
            .then(|| text.to_owned()),
    };
    content
        .filter(|key| (1..=LONGEST_KEY).contains(&key.len()))
        .ok_or_else(reply::key_invalid)
}

/// What stands behind the opening quote and in front of the closing one, which must be the end.
fn unquoted(text: &str) -> Option<String> {
    let mut content = String::new();
    let mut signs = text.chars();
    loop {
        match signs.next()? {
            '"' => break signs.next().is_none().then_some(content),
            '\\' => content.push(signs.next().filter(|sign| matches!(sign, '"' | '\\'))?),
            sign @ ' '..='~' => content.push(sign),
            _ => break None,
        }
    }
}

fn account(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (account, _) = value.strip_prefix("Bearer ")?.split_once(':')?;
    (!account.is_empty()).then_some(account)
}

fn fingerprint(request: &HttpRequest, body: &[u8], defect: Defect) -> Vec<u8> {
    let media_type = request.headers().get(CONTENT_TYPE);
    let body = match defect {
        Defect::FloatFingerprint => floating(body),
        Defect::RawFingerprint => body.to_vec(),
        _ => canonical(body),
    };
    let parts = [
        request.method().as_str().as_bytes(),
        request.path().as_bytes(),
        request.query_string().as_bytes(),
        media_type.map_or(b"", |value| value.as_bytes()),
        &body,
    ];
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().to_vec()
}

/// JSON with sorted members and without white space; the body as it is, wherever that would merge two bodies.
fn canonical(body: &[u8]) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return body.to_vec();
    };
    // They are not by themselves where somebody else in the program wants serde_json's `preserve_order`.
    value.sort_all_objects();
    let text = value.to_string();
    // A fraction may have lost digits; another length may be that of a member that stood there twice.
    match has_fraction(&value) || text.len() != without_space(body) {
        true => body.to_vec(),
        false => text.into_bytes(),
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        _ => false,
    }
}

/// The length of valid JSON without its insignificant white space.
fn without_space(body: &[u8]) -> usize {
    let (mut length, mut is_text, mut is_escaped) = (0, false, false);
    for byte in body {
        length += usize::from(is_text || !byte.is_ascii_whitespace());
        match byte {
            b'"' if !is_escaped => is_text = !is_text,
            _ => {}
        }
        is_escaped = is_text && *byte == b'\\' && !is_escaped;
    }
    length
}

/// The defect: every number becomes a floating one.
fn floating(body: &[u8]) -> Vec<u8> {
    fn float(value: &mut Value) {
        match value {
            Value::Number(number) => *value = number.as_f64().into(),
            Value::Array(items) => items.iter_mut().for_each(float),
            Value::Object(members) => members.values_mut().for_each(float),
            _ => {}
        }
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) => {
            float(&mut value);
            value.sort_all_objects();
            value.to_string().into_bytes()
        }
        Err(_) => body.to_vec(),
    }
}
