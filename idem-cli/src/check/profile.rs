//! What a server is held to: the draft, our contract, or a file that says how the server differs from one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::rule::Rule;
use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Base {
    /// draft-ietf-httpapi-idempotency-key-header-07.
    Draft,
    /// The whole contract of idem-runtime (README, "The contract").
    Strict,
}

/// How a key is written into its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeyForm {
    /// `k`
    Bare,
    /// `"k"`, a String of RFC 9651.
    Quoted,
}

#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) base: Base,
    pub(super) key_header: HeaderName,
    pub(super) key_form: KeyForm,
    /// What only a replay says.
    pub(super) marker: Option<(HeaderName, HeaderValue)>,
    pub(super) missing: Rule,
    pub(super) malformed: Rule,
    pub(super) mismatch: Rule,
    pub(super) in_flight: Rule,
    /// Headers that need not be the same in a replay.
    pub(super) ignored: Vec<HeaderName>,
    /// Members of JSON answers that a replay does not have (RFC 6901).
    pub(super) redact: Vec<String>,
    /// Checks that need not hold, and why not.
    pub(super) deviations: BTreeMap<String, String>,
    /// What else is not as in the profile that it is based on.
    pub(super) notes: Vec<String>,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    based_on: Base,
    key_header: Option<String>,
    key_form: Option<KeyForm>,
    replay_header: Option<String>,
    #[serde(default)]
    ignore_headers: Vec<String>,
    #[serde(default)]
    redact: Vec<String>,
    missing: Option<Refusal>,
    malformed: Option<Refusal>,
    mismatch: Option<Refusal>,
    in_flight: Option<Refusal>,
    #[serde(default)]
    deviations: BTreeMap<String, String>,
}

/// What the server answers; it is not asked for more than is said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Refusal {
    status: u16,
    code: Option<String>,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    retry_after: bool,
}

impl Profile {
    /// `ids` are those of all checks.
    pub(super) fn named(name: &str, ids: &[&str]) -> Result<Self, Error> {
        match name {
            "draft" => Ok(Self::draft()),
            "strict" => Ok(Self::strict()),
            file => Self::read(Path::new(file), ids),
        }
    }

    /// The draft leaves open what an answer looks like, and says nothing of a marker.
    fn draft() -> Self {
        Self {
            name: "draft".to_owned(),
            base: Base::Draft,
            key_header: HeaderName::from_static("idempotency-key"),
            key_form: KeyForm::Quoted,
            marker: None,
            missing: Rule::status(400),
            malformed: Rule::status(400),
            mismatch: Rule::status(422),
            in_flight: Rule::status(409),
            ignored: Vec::new(),
            redact: Vec::new(),
            deviations: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    fn strict() -> Self {
        let marker = HeaderName::from_static("idempotent-replayed");
        Self {
            name: "strict".to_owned(),
            base: Base::Strict,
            key_form: KeyForm::Bare,
            marker: Some((marker, HeaderValue::from_static("true"))),
            missing: Rule::problem(400, "idempotency-key-missing"),
            malformed: Rule::problem(400, "idempotency-key-invalid"),
            mismatch: Rule::problem(422, "idempotency-key-reused"),
            in_flight: Rule::problem(409, "idempotency-in-flight").with_retry(),
            ..Self::draft()
        }
    }

    fn read(path: &Path, ids: &[&str]) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Usage(format!(
                "--profile: neither draft nor strict, nor a file that can be read: {error}"
            ))
        })?;
        let file: File = toml::from_str(&text).map_err(|source| Error::Config {
            path: PathBuf::from(path),
            source,
        })?;
        let wrong = |what: String| Error::Usage(format!("{}: {what}", path.display()));
        if let Some(id) = file
            .deviations
            .keys()
            .find(|id| !ids.contains(&id.as_str()))
        {
            return Err(wrong(format!(
                "there is no check {id:?}; there are {}",
                ids.join(", ")
            )));
        }
        let mut profile = match file.based_on {
            Base::Draft => Self::draft(),
            Base::Strict => Self::strict(),
        };
        profile.name = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if let Some(name) = &file.key_header {
            profile.key_header = header_name(name).map_err(wrong)?;
            profile
                .notes
                .push(format!("the key is in {}", profile.key_header));
        }
        if let Some(form) = file.key_form.filter(|form| *form != profile.key_form) {
            profile.key_form = form;
            profile.notes.push(match form {
                KeyForm::Bare => "keys are sent bare".to_owned(),
                KeyForm::Quoted => "keys are sent in quotes".to_owned(),
            });
        }
        if let Some(line) = &file.replay_header {
            let (name, value) = super::caller::line("replay-header", line)?;
            profile.notes.push(format!("a replay is known by {name}"));
            profile.marker = Some((name, value));
        }
        for name in &file.ignore_headers {
            profile.ignored.push(header_name(name).map_err(wrong)?);
            profile
                .notes
                .push(format!("{name} need not be the same in a replay"));
        }
        for pointer in file.redact {
            if !pointer.starts_with('/') {
                return Err(wrong(format!("{pointer:?} is no pointer to a member")));
            }
            let note = format!("a replay does not have {pointer}");
            profile.notes.push(note);
            profile.redact.push(pointer);
        }
        for (rule, refusal) in [
            (&mut profile.missing, file.missing),
            (&mut profile.malformed, file.malformed),
            (&mut profile.mismatch, file.mismatch),
            (&mut profile.in_flight, file.in_flight),
        ] {
            if let Some(refusal) = refusal {
                *rule = refusal.instead_of(rule);
            }
        }
        profile.deviations = file.deviations;
        Ok(profile)
    }
}

impl Refusal {
    fn instead_of(self, base: &Rule) -> Rule {
        let rule = Rule {
            status: self.status,
            code: self.code,
            retryable: self.retryable,
            retry_after: self.retry_after,
            instead_of: None,
        };
        let instead_of = (rule != *base).then_some(base.status);
        Rule { instead_of, ..rule }
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    name.parse()
        .map_err(|_| format!("{name:?} is no name of a header"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Profile, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shop.toml");
        fs::write(&path, text).unwrap();
        Profile::named(path.to_str().unwrap(), &["new-key", "mismatch"])
    }

    #[test]
    fn a_file_says_what_differs_and_nothing_else() {
        let profile = read(
            "based-on = 'strict'\nkey-header = 'X-Key'\n[mismatch]\nstatus = 409\n[missing]\nstatus = 400\n
             code = 'idempotency-key-missing'\n[deviations]\nnew-key = 'one a day'",
        )
        .unwrap();
        assert_eq!(profile.name, "shop");
        assert_eq!(profile.key_header, "x-key");
        assert_eq!(
            profile.mismatch.deviation().unwrap(),
            "the answer is 409 instead of 422"
        );
        assert_eq!(profile.missing.deviation(), None);
        assert_eq!(profile.in_flight, Profile::strict().in_flight);
        assert_eq!(profile.deviations["new-key"], "one a day");
    }

    #[test]
    fn a_mistake_in_a_file_is_none_of_the_server() {
        for (text, because) in [
            ("based-on = 'stricter'", "stricter"),
            ("key-header = 'X-Key'", "based-on"),
            ("based-on = 'draft'\nkey-heather = 'X-Key'", "key-heather"),
            (
                "based-on = 'draft'\nkey-header = 'X Key'",
                "no name of a header",
            ),
            ("based-on = 'draft'\nredact = ['card']", "no pointer"),
            (
                "based-on = 'draft'\n[deviations]\nnew-keys = 'x'",
                "mismatch",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(because), "{error}");
        }
    }
}
