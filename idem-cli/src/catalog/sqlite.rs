//! The catalogs of SQLite.

use diesel::{QueryResult, SqliteConnection, sql_query};
use diesel_async::RunQueryDsl;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use super::{Catalog, Size};
use crate::args::Backend;

impl Catalog for SyncConnectionWrapper<SqliteConnection> {
    const BACKEND: Backend = Backend::Sqlite;

    lists! {
        columns: "SELECT name FROM pragma_table_info(?)",
        indexes: "SELECT name FROM pragma_index_list(?)",
        versions: "SELECT version AS name FROM __diesel_schema_migrations"
    }

    async fn is_durable(&mut self, _: &str) -> QueryResult<Option<bool>> {
        Ok(None)
    }

    async fn size(&mut self, _: &str) -> QueryResult<Size> {
        let query = "SELECT page_count * page_size AS table_bytes, NULL AS index_bytes, NULL AS rows, \
             NULL AS dead_rows, freelist_count * page_size AS free_bytes \
             FROM pragma_page_count, pragma_page_size, pragma_freelist_count";
        sql_query(query).get_result(self).await
    }
}
