//! The words of SQLite for the statements that are written once for all backends.

use diesel::QueryResult;
use diesel::query_builder::AstPass;
use diesel::sqlite::Sqlite;

use crate::store::statement::{Dialect, Numbers, binds};

impl Dialect for Sqlite {
    const NOW: &'static str = super::NOW;
    const LATER: (&'static str, &'static str) = (
        "strftime('%Y-%m-%d %H:%M:%f', 'now', ((",
        ") / 1000.0) || ' seconds')",
    );
    const EARLIER: (&'static str, &'static str) = (
        "strftime('%Y-%m-%d %H:%M:%f', 'now', ((-",
        ") / 1000.0) || ' seconds')",
    );
    const SINCE: (&'static str, &'static str) = (
        "CAST((julianday('now') - julianday(",
        ")) * 86400000.0 AS integer)",
    );
    const SIZE: (&'static str, &'static str) = ("length(CAST(", " AS blob))");
    const EXACT: (&'static str, &'static str) = ("CAST(julianday(", ") * 86400000.0 AS integer)");
    const ID: (&'static str, &'static str) = ("", "");
    const BYTES_OF_ID: (&'static str, &'static str) = ("", "");
    const ONE_OF: (&'static str, &'static str) = (" IN (", ")");
    const STARTED: &'static str = super::NOW;
    const UNLESS_THERE: (&'static str, &'static str) = (" ON CONFLICT (", ") DO NOTHING");
    /// Nobody is told here.
    const WAKE: (&'static str, &'static str) = ("", "");
    const KEY: &'static str = "key";
    const WIDE: (&'static str, &'static str) = ("CAST(", " AS bigint)");
    const JOINED: (&'static str, &'static str, &'static str) = ("", " || ", "");
    /// There is one writer.
    const SKIP_LOCKED: &'static str = "";
    const CLOCK: &'static str = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS integer)";

    binds! {}

    fn among<'b>(out: &mut AstPass<'_, 'b, Self>, numbers: &'b Numbers) -> QueryResult<()> {
        out.push_sql(" IN (SELECT value FROM json_each(");
        Self::bind_text(out, &numbers.json)?;
        out.push_sql("))");
        Ok(())
    }
}
