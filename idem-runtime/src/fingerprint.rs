//! The digest of what a request asked for, and how a stored one is compared.
//!
//! Pure values. Nothing here reads a clock or a database.

use actix_web::HttpRequest;
use actix_web::http::{Method, Uri, header};
use actix_web::web::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use mime::Mime;
use sha2::digest::Update;
use sha2::{Digest, Sha256};

use crate::canonical::canonical_json;
use crate::digest::part;
use crate::policy::BodyForm;

const VERSION: u8 = 1;
/// Version, body form, four bytes of secret id: what says how the digest behind it was made.
const HEADER: usize = 6;

/// A fingerprint as it is stored: how it was made, then the digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; HEADER + 32]);

impl Fingerprint {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A stored fingerprint was made in a way that this process cannot repeat.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FingerprintError {
    #[error("the stored fingerprint has an unknown form")]
    UnknownForm,
    #[error("the stored fingerprint needs the secret {0}, which is not configured")]
    UnknownSecret(u32),
}

/// The secrets for HMAC; the first is the current one. Without any, plain SHA-256 is used.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    pub(crate) current: Option<(u32, Vec<u8>)>,
    pub(crate) retired: Vec<(u32, Vec<u8>)>,
}

/// What of a request goes into its fingerprint: method, path, query, media type, encoding, body.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    method: Method,
    uri: Uri,
    media_type: MediaType,
    encoding: Vec<u8>,
    body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MediaType {
    Json(String),
    Other(Vec<u8>),
}

impl Subject {
    pub(crate) fn new(request: &HttpRequest, body: Bytes) -> Self {
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            media_type: MediaType::of(request),
            encoding: content_encoding(request),
            body,
        }
    }

    fn feed(&self, hash: &mut impl Update, form: BodyForm) {
        part(hash, b"idem:fingerprint:1");
        part(hash, self.method.as_str().as_bytes());
        part(hash, self.uri.path().as_bytes());
        part(hash, self.uri.query().unwrap_or_default().as_bytes());
        let canonical = match &self.media_type {
            MediaType::Json(essence) => {
                part(hash, essence.as_bytes());
                (form == BodyForm::Json && self.encoding.is_empty())
                    .then(|| canonical_json(&self.body))
                    .flatten()
            }
            MediaType::Other(written) => {
                part(hash, written);
                None
            }
        };
        part(hash, &self.encoding);
        match canonical {
            Some(canonical) => {
                part(hash, b"json");
                part(hash, &canonical);
            }
            None => {
                part(hash, b"raw");
                part(hash, &self.body);
            }
        }
    }
}

impl MediaType {
    /// The essence for JSON; the essence with the charset for everything else; what cannot be
    /// parsed as it stands.
    fn of(request: &HttpRequest) -> Self {
        let mut values = request.headers().get_all(header::CONTENT_TYPE);
        let (Some(value), None) = (values.next(), values.next()) else {
            let all = request.headers().get_all(header::CONTENT_TYPE);
            return Self::Other(all.fold(Vec::new(), |mut joined, value| {
                part_into(&mut joined, value.as_bytes());
                joined
            }));
        };
        let Some(mime) = value
            .to_str()
            .ok()
            .and_then(|text| text.parse::<Mime>().ok())
        else {
            return Self::Other(value.as_bytes().to_vec());
        };
        let essence = mime.essence_str().to_ascii_lowercase();
        let json = mime.suffix() == Some(mime::JSON)
            || (mime.subtype() == mime::JSON
                && (mime.type_() == mime::APPLICATION || mime.type_() == mime::TEXT));
        if json {
            return Self::Json(essence);
        }
        match mime.get_param(mime::CHARSET) {
            // A charset that only quotes could hold would read like something else without them.
            Some(charset) if !charset.as_str().bytes().all(in_charset) => {
                Self::Other(value.as_bytes().to_vec())
            }
            Some(charset) => Self::Other(
                format!("{essence};charset={charset}")
                    .to_ascii_lowercase()
                    .into(),
            ),
            None => Self::Other(essence.into()),
        }
    }
}

fn in_charset(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte)
}

/// All Content-Encoding lines; empty where nothing encodes the body.
fn content_encoding(request: &HttpRequest) -> Vec<u8> {
    let mut joined = Vec::new();
    for value in request.headers().get_all(header::CONTENT_ENCODING) {
        let value = value.as_bytes().trim_ascii();
        if !value.eq_ignore_ascii_case(b"identity") {
            part_into(&mut joined, &value.to_ascii_lowercase());
        }
    }
    joined
}

fn part_into(joined: &mut Vec<u8>, bytes: &[u8]) {
    joined.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    joined.extend_from_slice(bytes);
}

impl Secrets {
    /// The fingerprint of a request, with the current secret.
    pub(crate) fn fingerprint(&self, subject: &Subject, form: BodyForm) -> Fingerprint {
        match &self.current {
            Some((id, secret)) => make(subject, form, *id, Some(secret)),
            None => make(subject, form, 0, None),
        }
    }

    /// Whether a stored fingerprint is that of this request. `current` is the request's own.
    pub(crate) fn matches(
        &self,
        stored: &[u8],
        current: &Fingerprint,
        subject: &Subject,
    ) -> Result<bool, FingerprintError> {
        if stored == current.as_bytes() {
            return Ok(true);
        }
        if stored.get(..HEADER) == current.as_bytes().get(..HEADER) {
            return Ok(false);
        }
        let [VERSION, form, a, b, c, d, ..] = *stored else {
            return Err(FingerprintError::UnknownForm);
        };
        let form = match form {
            0 => BodyForm::Raw,
            1 => BodyForm::Json,
            _ => return Err(FingerprintError::UnknownForm),
        };
        let id = u32::from_be_bytes([a, b, c, d]);
        let secret = match id {
            0 => None,
            id => Some(self.secret(id).ok_or(FingerprintError::UnknownSecret(id))?),
        };
        Ok(make(subject, form, id, secret).as_bytes() == stored)
    }

    fn secret(&self, id: u32) -> Option<&[u8]> {
        self.current
            .iter()
            .chain(&self.retired)
            .find(|(known, _)| *known == id)
            .map(|(_, secret)| secret.as_slice())
    }
}

fn make(subject: &Subject, form: BodyForm, id: u32, secret: Option<&[u8]>) -> Fingerprint {
    let digest: [u8; 32] =
        match secret.and_then(|secret| Hmac::<Sha256>::new_from_slice(secret).ok()) {
            Some(mut mac) => {
                subject.feed(&mut mac, form);
                mac.finalize().into_bytes().into()
            }
            None => {
                let mut hash = Sha256::new();
                subject.feed(&mut hash, form);
                hash.finalize().into()
            }
        };
    let mut made = [0; HEADER + 32];
    made[0] = VERSION;
    made[1] = match form {
        BodyForm::Raw => 0,
        BodyForm::Json => 1,
    };
    made[2..HEADER].copy_from_slice(&id.to_be_bytes());
    made[HEADER..].copy_from_slice(&digest);
    Fingerprint(made)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn subject(content_type: &str, body: &'static str) -> Subject {
        let request = TestRequest::post()
            .uri("/orders?a=1")
            .insert_header(("content-type", content_type))
            .to_http_request();
        Subject::new(&request, Bytes::from_static(body.as_bytes()))
    }

    fn print(content_type: &str, body: &'static str) -> Fingerprint {
        Secrets::default().fingerprint(&subject(content_type, body), BodyForm::Json)
    }

    #[test]
    fn json_is_compared_in_canonical_form_and_nothing_else_is() {
        let json = "application/json";
        assert_eq!(
            print(json, r#"{"a":1,"b":2}"#),
            print(json, r#"{ "b": 2, "a": 1 }"#)
        );
        assert_eq!(
            print(json, "[1]"),
            print("application/json; charset=utf-8", "[ 1 ]")
        );
        assert_eq!(
            print("application/vnd.a+json", "[1]"),
            print("application/vnd.a+json", "[1 ]")
        );
        assert_ne!(print(json, "[1]"), print("application/vnd.a+json", "[1]"));
        assert_ne!(print("text/plain", "[1]"), print("text/plain", "[1 ]"));
        assert_ne!(
            print("text/plain", "a"),
            print("text/plain;charset=latin1", "a")
        );
        assert_eq!(
            print("text/plain; charset=UTF-8", "a"),
            print("text/plain;charset=utf-8", "a")
        );
        // The second is no media type, and stands for itself.
        assert_ne!(
            print("text/plain;charset=\"a;b\"", "a"),
            print("text/plain;charset=a;b", "a")
        );
    }

    /// Stored digests outlive a release. If this one changes, so must the version.
    #[test]
    fn a_digest_of_this_version_never_changes() {
        let body = r#" { "b" : null, "a": [1.0, "\u00e9"] } "#;
        assert_eq!(
            hex::encode(print("application/json", body).as_bytes()),
            "010100000000\
             44389c996018e17633f7a8e361516ee8a9ffd4732106045821b827d522562a0b"
        );
    }

    #[test]
    fn raw_takes_the_bytes() {
        let secrets = Secrets::default();
        let one = secrets.fingerprint(&subject("application/json", "[1]"), BodyForm::Raw);
        let other = secrets.fingerprint(&subject("application/json", "[1 ]"), BodyForm::Raw);
        assert_ne!(one, other);
    }

    #[test]
    fn a_canonical_body_never_equals_the_raw_bytes_that_spell_it() {
        assert_ne!(print("application/json", "[1]"), print("text/plain", "[1]"));
    }

    #[test]
    fn an_encoded_body_is_raw_bytes_and_its_encoding() {
        let encoded = |encoding: &str| {
            let request = TestRequest::post()
                .insert_header(("content-type", "application/json"))
                .insert_header(("content-encoding", encoding))
                .to_http_request();
            let subject = Subject::new(&request, Bytes::from_static(b"[1]"));
            Secrets::default().fingerprint(&subject, BodyForm::Json)
        };
        assert_ne!(encoded("gzip"), encoded("br"));
        assert_eq!(encoded("gzip"), encoded("GZIP"));
        assert_ne!(encoded("gzip"), encoded("identity"));
    }

    #[test]
    fn a_new_secret_or_form_keeps_yesterdays_fingerprints() {
        let subject = subject("application/json", "[1]");
        let plain = Secrets::default();
        let first = Secrets {
            current: Some((1, b"first".to_vec())),
            retired: Vec::new(),
        };
        let second = Secrets {
            current: Some((2, b"second".to_vec())),
            retired: vec![(1, b"first".to_vec())],
        };
        let current = second.fingerprint(&subject, BodyForm::Raw);
        for stored in [
            plain.fingerprint(&subject, BodyForm::Json),
            first.fingerprint(&subject, BodyForm::Json),
            first.fingerprint(&subject, BodyForm::Raw),
        ] {
            assert!(
                second
                    .matches(stored.as_bytes(), &current, &subject)
                    .unwrap()
            );
        }
        let other = first.fingerprint(&self::subject("application/json", "[2]"), BodyForm::Json);
        assert!(
            !second
                .matches(other.as_bytes(), &current, &subject)
                .unwrap()
        );
        assert!(matches!(
            plain.matches(
                current.as_bytes(),
                &plain.fingerprint(&subject, BodyForm::Raw),
                &subject
            ),
            Err(FingerprintError::UnknownSecret(2))
        ));
    }
}
