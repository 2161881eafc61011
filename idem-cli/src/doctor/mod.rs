//! `idem doctor`: the order of the checks, and how their findings are told. What a check looks at and how it judges
//! is in a file of its own.

mod clock;
mod expected;
mod findings;
mod maintenance;
mod messages;
mod migrations;
mod sample;
mod schema;
mod size;
mod unresolved;

use std::process::ExitCode;

use diesel::QueryResult;
use idem_runtime::migrations::MigrationFile;
use serde::Serialize;

use crate::args::{Doctor, FailOn};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::migration::Migrations;
use crate::output::{print, table};

use findings::{Finding, Verdict};

#[derive(Serialize)]
struct Report<'a> {
    verdict: Verdict,
    checks: &'a [Finding],
}

pub(crate) async fn examine<C: Catalog>(conn: &mut C, asked: &Doctor) -> Result<ExitCode, Error> {
    let findings = all(conn).await?;
    let worst = findings.iter().map(|finding| finding.verdict).max();
    let verdict = worst.unwrap_or(Verdict::Ok);
    let report = Report {
        verdict,
        checks: &findings,
    };
    print(asked.target.json, &report, || text(&findings));
    let tolerated = match asked.fail_on {
        FailOn::Warning => Verdict::Ok,
        FailOn::Failure => Verdict::Warning,
    };
    Ok(match verdict > tolerated {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

async fn all<C: Catalog>(conn: &mut C) -> QueryResult<Vec<Finding>> {
    let of = Migrations::of(C::BACKEND);
    let mut findings = Vec::new();
    let has_keys = part(conn, "keys", of.keys, true, &mut findings).await?;
    let has_outbox = part(conn, "outbox", of.outbox, false, &mut findings).await?;
    part(conn, "inbox", of.inbox, false, &mut findings).await?;
    findings.push(migrations::check(conn, &of).await?);
    findings.push(clock::check(conn).await?);
    if has_keys {
        findings.push(unresolved::check(conn).await?);
        findings.push(unresolved::stuck(conn).await?);
        findings.push(maintenance::check(conn).await?);
        findings.extend(sample::check(conn).await?);
        findings.push(size::check(conn, "keys-size", "idempotency_keys").await?);
    }
    if has_outbox {
        findings.push(messages::overdue(conn).await?);
        findings.push(messages::dead(conn).await?);
        findings.push(size::check(conn, "outbox-size", "idempotency_outbox").await?);
    }
    Ok(findings)
}

/// The tables of one part. Says whether they are there to be asked; a part that nobody has to use may be missing
/// altogether.
async fn part<C: Catalog>(
    conn: &mut C,
    name: &str,
    files: &[MigrationFile],
    is_required: bool,
    findings: &mut Vec<Finding>,
) -> QueryResult<bool> {
    let tables = expected::tables(files);
    let found = schema::look(conn, &tables).await?;
    if !is_required && found.iter().all(schema::Found::is_missing) {
        return Ok(false);
    }
    let schema = schema::check(name, &tables, &found);
    let is_complete = schema.verdict == Verdict::Ok;
    findings.push(schema);
    if is_complete {
        findings.push(schema::indexes(name, &tables, &found));
        findings.extend(schema::durability(name, conn, &tables).await?);
    }
    Ok(is_complete)
}

fn text(findings: &[Finding]) -> String {
    let rows = findings.iter().map(|finding| {
        let (verdict, check) = (finding.verdict.name(), finding.check.clone());
        vec![verdict.to_owned(), check, finding.says.clone()]
    });
    let mut text = table(&["VERDICT", "CHECK", "FINDING"], rows);
    let to_do = findings.iter().filter_map(|finding| {
        let to_do = finding.to_do.as_ref()?;
        Some(format!("\n{}: {to_do}\n", finding.check))
    });
    text.extend(to_do);
    text
}
