//! The catalogs of PostgreSQL.

use diesel::sql_types::Text;
use diesel::{QueryResult, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::{Catalog, Size, Yes};
use crate::args::Backend;

impl Catalog for AsyncPgConnection {
    const BACKEND: Backend = Backend::Postgres;

    lists! {
        columns: "SELECT attname::text AS name FROM pg_attribute \
                  WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        // One that CREATE INDEX CONCURRENTLY has left unfinished is there, and of no use.
        indexes: "SELECT relname::text AS name FROM pg_index \
                  JOIN pg_class ON pg_class.oid = indexrelid \
                  WHERE indrelid = to_regclass($1) AND indisvalid",
        versions: "SELECT version::text AS name FROM __diesel_schema_migrations"
    }

    async fn is_durable(&mut self, table: &str) -> QueryResult<Option<bool>> {
        let query = "SELECT relpersistence = 'p' AS yes FROM pg_class WHERE oid = to_regclass($1)";
        let found: Yes = sql_query(query)
            .bind::<Text, _>(table)
            .get_result(self)
            .await?;
        Ok(Some(found.yes))
    }

    /// The statistics count nothing after a restart that recovered, and nothing yet of what has just been written.
    async fn size(&mut self, table: &str) -> QueryResult<Size> {
        let query = "SELECT pg_table_size(relid) AS table_bytes, pg_indexes_size(relid) AS index_bytes, \
             CASE WHEN n_live_tup > 0 OR reltuples >= 0 THEN greatest(n_live_tup, reltuples::bigint) END AS rows, \
             n_dead_tup AS dead_rows, NULL::bigint AS free_bytes \
             FROM pg_stat_user_tables JOIN pg_class ON oid = relid WHERE relid = to_regclass($1)";
        sql_query(query)
            .bind::<Text, _>(table)
            .get_result(self)
            .await
    }
}
