//! `idem keys list` and `show`: operations as they stand in the table.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use idem_runtime::inspect::{self, Filter, Operation};
use idem_runtime::{Backend, RecordedResponse};
use serde::Serialize;

use crate::args::{ListKeys, ShowKey};
use crate::error::Error;
use crate::output::{facts, length, milliseconds, print, printable, table};

#[derive(Serialize)]
struct Page<'a> {
    operations: Vec<Shown<'a>>,
    /// What `--after` takes for the next page; null behind the last one.
    next: Option<String>,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: String,
    scope: &'a str,
    key: &'a str,
    endpoint: &'a str,
    state: &'static str,
    status: Option<u16>,
    rule: Option<&'a str>,
    steps: &'a [String],
    attempts: u32,
    body_bytes: Option<u64>,
    recorded_ms_ago: Option<u64>,
    expires_in_ms: Option<u64>,
    retain_ms: Option<u64>,
    lease_ended_ms_ago: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response>,
    /// Why it is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
}

#[derive(Serialize)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    /// The body, if it is text.
    body: Option<String>,
    /// The body otherwise.
    body_base64: Option<String>,
}

impl<'a> Shown<'a> {
    fn new(operation: &'a Operation) -> Self {
        Self {
            id: operation.id.to_string(),
            scope: &operation.scope,
            key: &operation.key,
            endpoint: &operation.endpoint,
            state: operation.state.name(),
            status: operation.status,
            rule: operation.rule.as_deref(),
            steps: &operation.steps,
            attempts: operation.attempts,
            body_bytes: operation.body_size,
            recorded_ms_ago: operation.recorded_for.map(milliseconds),
            expires_in_ms: operation.expires_in.map(milliseconds),
            retain_ms: operation.retain.map(milliseconds),
            lease_ended_ms_ago: operation.lease_ended_for.map(milliseconds),
            response: None,
            unreadable: None,
        }
    }
}

impl Response {
    fn new(response: &RecordedResponse) -> Self {
        let headers = response.headers().map(|(name, value)| {
            let value = value.as_bytes().escape_ascii().to_string();
            (name.to_string(), value)
        });
        let body = response.content();
        let text = body.and_then(|body| std::str::from_utf8(body).ok());
        Self {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: text.map(str::to_owned),
            body_base64: match text {
                Some(_) => None,
                None => body.map(|body| BASE64_STANDARD.encode(body)),
            },
        }
    }

    fn text(&self) -> String {
        let headers = self.headers.iter();
        let mut text: String = headers
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        text.push('\n');
        match (&self.body, &self.body_base64) {
            (Some(body), _) => text += &printable(body),
            (None, Some(encoded)) => text += &format!("(not text; in base64) {encoded}"),
            (None, None) => text += "(no body)",
        }
        text
    }
}

pub(crate) async fn list<C: Backend>(conn: &mut C, asked: &ListKeys) -> Result<(), Error> {
    let mut filter = Filter::default();
    filter.scope.clone_from(&asked.scope);
    filter.endpoint.clone_from(&asked.endpoint);
    filter.state = asked.state.map(Into::into);
    // The table has no column for what is left out.
    filter.is_brief = !asked.target.json;
    let found = inspect::operations(conn, &filter, asked.after, asked.limit).await?;
    let is_full = found.len() == asked.limit as usize;
    let page = Page {
        next: found
            .last()
            .filter(|_| is_full)
            .map(|last| last.id.to_string()),
        operations: found.iter().map(Shown::new).collect(),
    };
    print(asked.target.json, &page, || {
        let rows = found.iter().map(|operation| {
            vec![
                operation.state.name().to_owned(),
                operation
                    .status
                    .map_or_else(String::new, |status| status.to_string()),
                operation.endpoint.clone(),
                operation.scope.clone(),
                operation.key.clone(),
                since(operation),
            ]
        });
        let mut text = table(
            &["STATE", "STATUS", "ENDPOINT", "SCOPE", "KEY", "SINCE"],
            rows,
        );
        match &page.next {
            Some(next) => text += &format!("\nMore: --after {next}"),
            None => text += &format!("\n{} operations", found.len()),
        }
        text
    });
    Ok(())
}

/// For how long it has been what it is, as far as that is known.
fn since(operation: &Operation) -> String {
    let since = operation.lease_ended_for.or(operation.recorded_for);
    since.map_or_else(String::new, length)
}

pub(crate) async fn show<C: Backend>(conn: &mut C, asked: &ShowKey) -> Result<(), Error> {
    let (scope, key) = (&asked.name.scope, &asked.name.key);
    let Some(operation) = inspect::operation(conn, scope, key).await? else {
        return Err(none());
    };
    let mut shown = Shown::new(&operation);
    if asked.body {
        match inspect::response(conn, scope, key).await {
            Ok(response) => shown.response = response.as_ref().map(Response::new),
            // Sealed, as a rule: this tool has no keys.
            Err(diesel::result::Error::DeserializationError(why)) => {
                shown.unreadable = Some(why.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    print(asked.target.json, &shown, || {
        let steps = Some(&operation.steps).filter(|steps| !steps.is_empty());
        let retain = operation
            .retain
            .map(|retain| format!("{} (at its recording)", length(retain)));
        let mut text = facts(&[
            ("id", Some(operation.id.to_string())),
            ("scope", Some(operation.scope.clone())),
            ("key", Some(operation.key.clone())),
            ("endpoint", Some(operation.endpoint.clone())),
            ("state", Some(operation.state.name().to_owned())),
            ("status", operation.status.map(|status| status.to_string())),
            (
                "body",
                operation.body_size.map(|bytes| format!("{bytes} bytes")),
            ),
            (
                "recorded",
                operation.recorded_for.map(|ago| length(ago) + " ago"),
            ),
            ("expires in", operation.expires_in.map(length)),
            ("retain", retain),
            (
                "lease ended",
                operation.lease_ended_for.map(|ago| length(ago) + " ago"),
            ),
            ("rule", operation.rule.clone()),
            ("steps", steps.map(|steps| steps.join(", "))),
        ]);
        if let Some(response) = &shown.response {
            text += "\n";
            text += &response.text();
        }
        text
    });
    match shown.unreadable {
        None => Ok(()),
        Some(why) => Err(Error::Refused(format!("its response is not shown: {why}"))),
    }
}

pub(crate) fn none() -> Error {
    Error::Refused("there is no operation with this scope and key".to_owned())
}
