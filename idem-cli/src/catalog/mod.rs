//! What the catalogs of a database say about our tables. Each backend asks its own.
//!
//! No verdicts.

/// The lists of names: the questions differ, how they are asked does not.
macro_rules! lists {
    (columns: $columns:literal, indexes: $indexes:literal, versions: $versions:literal) => {
        async fn columns(&mut self, table: &str) -> diesel::QueryResult<Vec<String>> {
            let query = diesel::sql_query($columns).bind::<diesel::sql_types::Text, _>(table);
            query.load(self).await.map($crate::catalog::names)
        }

        async fn indexes(&mut self, table: &str) -> diesel::QueryResult<Vec<String>> {
            let query = diesel::sql_query($indexes).bind::<diesel::sql_types::Text, _>(table);
            query.load(self).await.map($crate::catalog::names)
        }

        async fn versions(&mut self) -> diesel::QueryResult<Vec<String>> {
            if self.columns("__diesel_schema_migrations").await?.is_empty() {
                return Ok(Vec::new());
            }
            let query = diesel::sql_query($versions);
            query.load(self).await.map($crate::catalog::names)
        }
    };
}

mod mysql;
mod postgres;
mod sqlite;

use diesel::QueryResult;
use diesel::prelude::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};

use crate::args::Backend;

/// A connection whose catalogs we can read.
pub(crate) trait Catalog: idem_runtime::Backend {
    const BACKEND: Backend;

    /// The columns of a table; none where there is no such table.
    async fn columns(&mut self, table: &str) -> QueryResult<Vec<String>>;

    /// The indexes of a table that can be used.
    async fn indexes(&mut self, table: &str) -> QueryResult<Vec<String>>;

    /// The versions that diesel has recorded.
    async fn versions(&mut self) -> QueryResult<Vec<String>>;

    /// Whether the table takes part in transactions and outlives a crash; nothing where that is a matter of each
    /// connection.
    async fn is_durable(&mut self, table: &str) -> QueryResult<Option<bool>>;

    async fn size(&mut self, table: &str) -> QueryResult<Size>;
}

/// How large a table is.
#[derive(Debug, QueryableByName)]
pub(crate) struct Size {
    /// The table alone; on SQLite the whole file.
    #[diesel(sql_type = BigInt)]
    pub(crate) table_bytes: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(crate) index_bytes: Option<i64>,
    /// Rows, as far as the server's statistics know.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(crate) rows: Option<i64>,
    /// Rows that are gone, and whose room nobody can use yet.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(crate) dead_rows: Option<i64>,
    /// Room in the file that nobody uses.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(crate) free_bytes: Option<i64>,
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Yes {
    #[diesel(sql_type = Bool)]
    yes: bool,
}

fn names(rows: Vec<Name>) -> Vec<String> {
    rows.into_iter().map(|row| row.name).collect()
}
