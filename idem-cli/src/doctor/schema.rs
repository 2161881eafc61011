//! Are the tables there and current, with their indexes; and do they keep what is committed.

use diesel::QueryResult;

use super::expected::Table;
use super::findings::Finding;
use crate::catalog::Catalog;

/// The columns of each table; none where it is missing.
pub(super) async fn columns<C: Catalog>(
    conn: &mut C,
    tables: &[Table],
) -> QueryResult<Vec<Vec<String>>> {
    let mut found = Vec::new();
    for table in tables {
        found.push(conn.columns(&table.name).await?);
    }
    Ok(found)
}

pub(super) fn check(check: &str, tables: &[Table], found: &[Vec<String>]) -> Finding {
    let to_do = "Run `idem migration generate`, with `--with` for the outbox and the inbox, and then \
                 `diesel migration run`. If the tables are in another schema or database, name that in the URL.";
    let mut missing = Vec::new();
    for (table, columns) in tables.iter().zip(found) {
        match columns.is_empty() {
            true => missing.push(format!("the table {}", table.name)),
            false => missing.extend(absent(table, &table.columns, columns)),
        }
    }
    match missing.is_empty() {
        true => Finding::ok(check, format!("{} as this release has it", named(tables))),
        false => Finding::failure(check, format!("missing: {}", missing.join(", ")), to_do),
    }
}

pub(super) async fn indexes<C: Catalog>(
    check: &str,
    conn: &mut C,
    tables: &[Table],
) -> QueryResult<Finding> {
    let to_do = "Create it as the migration does. Without it pruning, workers and relays read the whole table.";
    let mut missing = Vec::new();
    for table in tables {
        let found = conn.indexes(&table.name).await?;
        missing.extend(absent(table, &table.indexes, &found));
    }
    Ok(match missing.is_empty() {
        true => Finding::ok(check, "all there"),
        false => Finding::failure(check, format!("missing: {}", missing.join(", ")), to_do),
    })
}

fn absent(table: &Table, expected: &[String], found: &[String]) -> Vec<String> {
    let missing = expected.iter().filter(|name| !found.contains(name));
    missing
        .map(|name| format!("{}.{name}", table.name))
        .collect()
}

fn named(tables: &[Table]) -> String {
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    names.join(", ")
}

/// Nothing where the table has no say in it.
pub(super) async fn durability<C: Catalog>(
    check: &str,
    conn: &mut C,
    tables: &[Table],
) -> QueryResult<Option<Finding>> {
    let to_do =
        "PostgreSQL: ALTER TABLE .. SET LOGGED. MySQL and MariaDB: ALTER TABLE .. ENGINE = InnoDB.";
    let mut lost = Vec::new();
    for table in tables {
        match conn.is_durable(&table.name).await? {
            Some(true) => {}
            Some(false) => lost.push(table.name.as_str()),
            None => return Ok(None),
        }
    }
    Ok(Some(match lost.is_empty() {
        true => Finding::ok(check, "rows outlive a crash"),
        false => {
            let lost = lost.join(", ");
            let says = format!("does not outlive a crash, or is in no transaction: {lost}");
            Finding::failure(check, says, to_do)
        }
    }))
}
