//! The fingerprints of two requests, against what each asks for, spelled out; and stored ones, whole and damaged.

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use actix_web::test::TestRequest;
use actix_web::web::Bytes;
use mime::Mime;

use crate::canonical::oracle;
use crate::fingerprint::{Fingerprint, FingerprintError, Secrets, Subject};
use crate::lease::KeptRequest;
use crate::policy::BodyForm;

/// Where the digest begins: behind version, form and secret's id.
const DIGEST: usize = 6;

/// Two bytes that say how a stored fingerprint is damaged; then two requests as they are kept, apart at the first zero
/// byte.
pub fn fingerprint(data: &[u8]) {
    let Some(([at, change], rest)) = data.split_first_chunk::<2>() else {
        return;
    };
    let Some(middle) = rest.iter().position(|byte| *byte == 0) else {
        return;
    };
    let (Some(one), Some(other)) = (
        Asked::read(&rest[..middle]),
        Asked::read(&rest[middle + 1..]),
    ) else {
        return;
    };
    let now = secrets(Some(7), &[3]);
    for form in [BodyForm::Json, BodyForm::Raw] {
        let is_same = one.says(form) == other.says(form);
        let current = now.fingerprint(&other.subject, form);
        for then in [
            secrets(None, &[]),
            secrets(Some(3), &[]),
            secrets(Some(7), &[]),
        ] {
            let stored = then.fingerprint(&one.subject, form);
            let made = then.fingerprint(&other.subject, form);
            assert_eq!(
                stored == made,
                is_same,
                "{:?} {:?}",
                one.says(form),
                other.says(form)
            );
            let matches = |stored: &[u8]| now.matches(stored, &current, &other.subject);
            assert_eq!(matches(stored.as_bytes()).ok(), Some(is_same));
            damaged(&stored, *at, *change, matches);
        }
        assert!(!matches!(
            now.matches(data, &current, &other.subject),
            Ok(true)
        ));
    }
}

/// One that is changed or cut is never a match. (With another form it may be one: that of a body that is no JSON.)
fn damaged(
    stored: &Fingerprint,
    at: u8,
    change: u8,
    matches: impl Fn(&[u8]) -> Result<bool, FingerprintError>,
) {
    let mut bytes = stored.as_bytes().to_vec();
    let at = usize::from(at) % bytes.len();
    assert!(!matches!(matches(&bytes[..at]), Ok(true)));
    bytes[at] ^= change;
    let is_match = matches!(matches(&bytes), Ok(true));
    assert!(!is_match || change == 0 || at == 1, "{at} of {DIGEST}");
}

fn secrets(current: Option<u32>, retired: &[u32]) -> Secrets {
    let secret = |id: u32| (id, format!("secret {id}").into_bytes());
    Secrets {
        current: current.map(secret),
        retired: retired.iter().copied().map(secret).collect(),
    }
}

/// A request, and what its fingerprint is made of.
struct Asked {
    request: HttpRequest,
    subject: Subject,
    body: Bytes,
}

/// What a request asks for. Equality is the specification.
#[derive(Debug, PartialEq)]
struct Says {
    method: String,
    path: String,
    query: String,
    media: Media,
    encodings: Vec<Vec<u8>>,
    body: Body,
}

#[derive(Debug, PartialEq)]
enum Media {
    Json(String),
    /// Essence and charset.
    Other(String, Option<String>),
    /// What is no media type, or not one, or more than one.
    AsWritten(Vec<Vec<u8>>),
}

#[derive(Debug, PartialEq)]
enum Body {
    Json(oracle::Tree),
    Raw(Bytes),
}

impl Asked {
    fn read(bytes: &[u8]) -> Option<Self> {
        let kept = KeptRequest::read(bytes)?;
        let target = kept.uri().path_and_query()?.as_str();
        let mut request = TestRequest::with_uri(target).method(kept.method().clone());
        for header in kept.headers() {
            request = request.append_header((header.0.clone(), header.1.clone()));
        }
        let request = request.to_http_request();
        let body = Bytes::copy_from_slice(kept.body());
        Some(Self {
            subject: Subject::new(&request, body.clone()),
            request,
            body,
        })
    }

    fn says(&self, form: BodyForm) -> Says {
        let target = self.request.uri().to_string();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let media = self.media();
        let encodings: Vec<_> = self
            .values(&CONTENT_ENCODING)
            .into_iter()
            .map(|value| value.trim_ascii().to_ascii_lowercase())
            .filter(|value| value != b"identity")
            .collect();
        let in_form =
            form == BodyForm::Json && matches!(media, Media::Json(_)) && encodings.is_empty();
        let tree = in_form.then(|| oracle::parse(&self.body)).flatten();
        Says {
            method: self.request.method().to_string(),
            path: path.to_owned(),
            query: query.to_owned(),
            media,
            encodings,
            body: tree.map_or_else(|| Body::Raw(self.body.clone()), Body::Json),
        }
    }

    fn values(&self, name: &HeaderName) -> Vec<Vec<u8>> {
        let values = self.request.headers().get_all(name);
        values.map(|value| value.as_bytes().to_vec()).collect()
    }

    /// Whether it is a media type is `mime`'s word; what it says is read off its text.
    fn media(&self) -> Media {
        let values = self.values(&CONTENT_TYPE);
        // No line is like an empty one.
        let value = match &values[..] {
            [] => return Media::AsWritten(vec![Vec::new()]),
            [value] => value.clone(),
            _ => return Media::AsWritten(values),
        };
        let text = std::str::from_utf8(&value).unwrap_or_default();
        if !value.is_ascii() || text.parse::<Mime>().is_err() {
            return Media::AsWritten(vec![value]);
        }
        let text = text.to_ascii_lowercase();
        let (essence, parameters) = text.split_once(';').unwrap_or((&text, ""));
        let essence = essence.trim().to_owned();
        if ["application/json", "text/json"].contains(&&*essence) || essence.ends_with("+json") {
            return Media::Json(essence);
        }
        match charset(parameters) {
            Some(charset) if charset.contains(|c: char| !in_charset(c)) => {
                Media::AsWritten(vec![value])
            }
            charset => Media::Other(essence, charset),
        }
    }
}

fn in_charset(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+".contains(c)
}

/// The first charset among parameters.
fn charset(parameters: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (name, behind) = rest.split_once('=')?;
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => behind
                .split_once(';')
                .map_or((behind, ""), |(value, _)| behind.split_at(value.len())),
        };
        if name.trim_matches([';', ' ']) == "charset" {
            return Some(value.trim_end().to_owned());
        }
        rest = behind;
    }
}
