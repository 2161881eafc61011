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

use idem_runtime::inspect;
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

/// Tells all that can be found out. A database that has stopped answering on the way is an error, behind the report.
pub(crate) async fn examine<C: Catalog>(conn: &mut C, asked: &Doctor) -> Result<ExitCode, Error> {
    let findings = all(conn).await;
    let worst = findings.iter().map(|finding| finding.verdict).max();
    let verdict = worst.unwrap_or(Verdict::Ok);
    let report = Report {
        verdict,
        checks: &findings,
    };
    print(asked.target.json, &report, || text(&findings));
    if verdict != Verdict::Ok {
        inspect::clock(conn).await?;
    }
    let tolerated = match asked.fail_on {
        FailOn::Warning => Verdict::Ok,
        FailOn::Failure => Verdict::Warning,
    };
    Ok(match verdict > tolerated {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

async fn all<C: Catalog>(conn: &mut C) -> Vec<Finding> {
    let of = Migrations::of(C::BACKEND);
    let mut findings = Vec::new();
    let has_keys = part(conn, "keys", of.keys, true, &mut findings).await;
    let has_outbox = part(conn, "outbox", of.outbox, false, &mut findings).await;
    part(conn, "inbox", of.inbox, false, &mut findings).await;
    findings.push(Finding::of(
        migrations::CHECK,
        migrations::check(conn, &of).await,
    ));
    findings.push(Finding::of(clock::CHECK, clock::check(conn).await));
    if has_keys {
        findings.push(Finding::of(
            unresolved::CHECK,
            unresolved::check(conn).await,
        ));
        findings.push(Finding::of(
            unresolved::STUCK,
            unresolved::stuck(conn).await,
        ));
        findings.push(Finding::of(
            maintenance::CHECK,
            maintenance::check(conn).await,
        ));
        findings.extend(sample::check(conn).await);
        let (check, table) = ("keys-size", "idempotency_keys");
        findings.push(Finding::of(check, size::check(conn, check, table).await));
    }
    if has_outbox {
        findings.push(Finding::of(
            messages::OVERDUE,
            messages::overdue(conn).await,
        ));
        findings.push(Finding::of(messages::DEAD, messages::dead(conn).await));
        let (check, table) = ("outbox-size", "idempotency_outbox");
        findings.push(Finding::of(check, size::check(conn, check, table).await));
    }
    findings
}

/// The tables of one part. Says whether they may be there to be asked; a part that nobody has to use may be missing
/// altogether.
async fn part<C: Catalog>(
    conn: &mut C,
    name: &str,
    files: &[MigrationFile],
    is_required: bool,
    findings: &mut Vec<Finding>,
) -> bool {
    let tables = expected::tables(files);
    let found = schema::columns(conn, &tables).await;
    if !is_required
        && found
            .as_ref()
            .is_ok_and(|found| found.iter().all(Vec::is_empty))
    {
        return false;
    }
    let [schema, indexes, durability] =
        ["schema", "indexes", "durability"].map(|what| format!("{name}-{what}"));
    let found = found.map(|found| schema::check(&schema, &tables, &found));
    let may_be_asked = !matches!(&found, Ok(finding) if finding.verdict != Verdict::Ok);
    findings.push(Finding::of(&schema, found));
    if may_be_asked {
        let found = schema::indexes(&indexes, conn, &tables).await;
        findings.push(Finding::of(&indexes, found));
        let found = schema::durability(&durability, conn, &tables).await;
        let found = found.transpose();
        findings.extend(found.map(|found| Finding::of(&durability, found)));
    }
    may_be_asked
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
