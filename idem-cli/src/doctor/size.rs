//! How large a table and its indexes are, and how much of that is of no use.

use diesel::QueryResult;

use super::findings::Finding;
use crate::args::Backend;
use crate::catalog::{Catalog, Size};

/// Fewer dead rows than this are nothing to speak of.
const DEAD: i64 = 10_000;

const MIB: i64 = 1 << 20;

/// InnoDB keeps some megabytes ahead, and its statistics of the rest are behind.
const FREE: i64 = 16 * MIB;

/// Several times of what the indexes of a row take.
const INDEX_BYTES: i64 = 400;

pub(super) async fn check<C: Catalog>(
    conn: &mut C,
    check: &str,
    table: &str,
) -> QueryResult<Finding> {
    let size = conn.size(table).await?;
    let says = says(&size, C::BACKEND);
    Ok(match bloat(&size, C::BACKEND) {
        Some(to_do) => Finding::warning(check, says, to_do),
        None => Finding::ok(check, says),
    })
}

fn says(size: &Size, backend: Backend) -> String {
    let mebibytes = |bytes: i64| format!("{:.1} MiB", bytes as f64 / MIB as f64);
    let mut says = match backend {
        Backend::Sqlite => format!("file {}", mebibytes(size.table_bytes)),
        Backend::Postgres | Backend::Mysql => format!("table {}", mebibytes(size.table_bytes)),
    };
    let parts = [
        size.index_bytes
            .map(|bytes| format!("indexes {}", mebibytes(bytes))),
        size.rows.map(|rows| format!("about {rows} rows")),
        size.dead_rows.map(|rows| format!("{rows} dead rows")),
        size.free_bytes
            .map(|bytes| format!("{} free", mebibytes(bytes))),
    ];
    for part in parts.into_iter().flatten() {
        says += ", ";
        says += &part;
    }
    says
}

/// What to do, if there is too much of it.
fn bloat(size: &Size, backend: Backend) -> Option<&'static str> {
    let live = size.rows.unwrap_or_default();
    if size
        .dead_rows
        .is_some_and(|dead| dead > DEAD && dead > live)
    {
        return Some(
            "VACUUM does not keep up: an old transaction may hold it up, or autovacuum is too late for a table that \
             turns over (README, \"Pruning\").",
        );
    }
    let indexes = size
        .index_bytes
        .filter(|_| backend == Backend::Postgres)
        .unwrap_or_default();
    let needed = size.rows.map(|rows| rows.saturating_mul(INDEX_BYTES));
    if indexes > 4 * MIB && needed.is_some_and(|needed| indexes > needed) {
        return Some(
            "The indexes are far larger than their rows need: REINDEX TABLE CONCURRENTLY makes them small.",
        );
    }
    let free = size.free_bytes.unwrap_or_default();
    let whole = match backend {
        Backend::Sqlite => size.table_bytes,
        Backend::Postgres | Backend::Mysql => {
            size.table_bytes + size.index_bytes.unwrap_or_default() + free
        }
    };
    if free > FREE && free > whole / 2 {
        return Some(
            "Most of the file is empty: VACUUM (SQLite) or OPTIMIZE TABLE (MySQL and MariaDB) give it back.",
        );
    }
    None
}
