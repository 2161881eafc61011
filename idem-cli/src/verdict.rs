//! `idem keys release` and `settle`: an operator says how an unresolved operation ended.

use std::fs;
use std::io::{Read, stdin};
use std::path::Path;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use idem_runtime::inspect;
use idem_runtime::{
    Backend, RecordedResponse, UnresolvedOperation, Verdict, settle as settle_as,
    unresolved_operation,
};

use crate::args::{Changing, Name, ReleaseKey, SettleKey};
use crate::audit::Audit;
use crate::change::{Words, carry_out};
use crate::confirm::confirm;
use crate::error::Error;
use crate::keys;
use crate::output::{length, one_line};

/// How a verdict is spoken of.
struct Given {
    command: &'static str,
    question: String,
    outcome: &'static str,
}

pub(crate) async fn release<C: Backend>(conn: &mut C, asked: ReleaseKey) -> Result<(), Error> {
    let given = Given {
        command: "keys release",
        question: "Was it not done, and may its next retry run it again?".to_owned(),
        outcome: "released",
    };
    let json = asked.target.json;
    give(
        conn,
        &asked.name,
        asked.changing,
        json,
        given,
        Verdict::Released,
        Duration::ZERO,
    )
    .await
}

pub(crate) async fn settle<C: Backend>(conn: &mut C, asked: SettleKey) -> Result<(), Error> {
    let response = response(&asked)?;
    let given = Given {
        command: "keys settle",
        question: question(&asked, &response),
        outcome: "settled",
    };
    let json = asked.target.json;
    let verdict = Verdict::Completed(response);
    give(
        conn,
        &asked.name,
        asked.changing,
        json,
        given,
        verdict,
        asked.retain,
    )
    .await
}

/// What is about to be recorded. Headers and body may be secrets.
fn question(asked: &SettleKey, response: &RecordedResponse) -> String {
    let body = match response.content() {
        Some(body) => format!("a body of {} bytes", body.len()),
        None => "no body".to_owned(),
    };
    format!(
        "Status {}, {} headers, {body}. Is this its answer from now on, for {}?",
        response.status().as_u16(),
        response.headers().count(),
        length(asked.retain)
    )
}

fn response(asked: &SettleKey) -> Result<RecordedResponse, Error> {
    let wrong = |what: &str| Error::Usage(format!("this is not a {what}"));
    let status = StatusCode::from_u16(asked.status).map_err(|_| wrong("status"))?;
    let mut response = RecordedResponse::new(status);
    for header in &asked.header {
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| wrong("header: name, colon, value"))?;
        let name =
            HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| wrong("header name"))?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| wrong("header value"))?;
        response = response.header(name, value);
    }
    Ok(match &asked.body_file {
        Some(path) => response.body(body(path)?),
        None => response,
    })
}

fn body(path: &Path) -> Result<Vec<u8>, Error> {
    let read = match path.as_os_str() == "-" {
        true => {
            let mut body = Vec::new();
            stdin().read_to_end(&mut body).map(|_| body)
        }
        false => fs::read(path),
    };
    read.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

/// Gives a verdict on the operation as it is found now.
async fn give<C: Backend>(
    conn: &mut C,
    name: &Name,
    changing: Changing,
    json: bool,
    given: Given,
    verdict: Verdict,
    retain: Duration,
) -> Result<(), Error> {
    let Some(operation) = inspect::operation(conn, &name.scope, &name.key).await? else {
        return Err(keys::none());
    };
    let Some(unresolved) = unresolved_operation(conn, &name.scope, &name.key).await? else {
        let state = operation.state.name();
        let refusal = format!(
            "nothing was done: it is {state}, and only what is unresolved can be {}",
            given.outcome
        );
        return Err(Error::Refused(refusal));
    };
    confirm(
        &changing,
        &format!("{}\n{}", about(&unresolved), given.question),
    )?;
    let audit = Audit::open(given.command, changing.audit)?;
    let words = Words {
        id: &operation.id.to_string(),
        done: given.outcome,
        not_done: "not done",
        refusal: "nothing was done: somebody has worked on the operation, or settled it, meanwhile",
        json,
    };
    let settle = async |conn: &mut C| settle_as(conn, &unresolved, verdict, retain).await;
    carry_out(conn, audit, words, settle).await
}

fn about(operation: &UnresolvedOperation) -> String {
    let steps: Vec<_> = operation.steps().map(one_line).collect();
    let steps = match steps.is_empty() {
        true => "no step finished".to_owned(),
        false => format!("finished steps: {}", steps.join(", ")),
    };
    let (endpoint, since) = (
        one_line(operation.endpoint()),
        length(operation.unresolved_for()),
    );
    format!("{endpoint}, unresolved for {since}, {steps}.")
}
