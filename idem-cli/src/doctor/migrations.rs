//! Does what diesel has recorded agree with this release.

use diesel::QueryResult;
use idem_runtime::migrations::MigrationFile;

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::migration::Migrations;

pub(super) const CHECK: &str = "migrations";

/// How the versions of our migrations begin.
const OURS: &str = "20260101000000";

pub(super) async fn check<C: Catalog>(conn: &mut C, of: &Migrations) -> QueryResult<Finding> {
    let recorded = conn.versions().await?;
    let recorded: Vec<_> = recorded
        .iter()
        .filter(|version| version.starts_with(OURS))
        .collect();
    if recorded.is_empty() {
        let says = "diesel has recorded none of ours: the tables come from elsewhere, as far as they are there";
        return Ok(Finding::ok(CHECK, says));
    }
    let missing = of
        .keys
        .iter()
        .filter(|file| !recorded.iter().any(|version| **version == version_of(file)));
    let missing: Vec<_> = missing.map(|file| file.name).collect();
    if !missing.is_empty() {
        let says = format!("not run: {}", missing.join(", "));
        return Ok(Finding::failure(CHECK, says, "Run `diesel migration run`."));
    }
    let all = [of.keys, of.outbox, of.inbox].concat();
    let newer = recorded
        .iter()
        .filter(|version| !all.iter().any(|file| ***version == version_of(file)));
    Ok(match newer.count() {
        0 => Finding::ok(CHECK, format!("{} of ours are recorded", recorded.len())),
        count => Finding::warning(
            CHECK,
            format!("{count} of ours are recorded that this release does not know"),
            "The database belongs to a newer release: use the `idem` of that one.",
        ),
    })
}

/// As diesel reads it off the directory's name.
fn version_of(file: &MigrationFile) -> String {
    crate::generate::version(file.name)
}
