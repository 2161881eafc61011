//! The catalogs of MySQL and MariaDB.

use diesel::sql_types::Text;
use diesel::{QueryResult, sql_query};
use diesel_async::{AsyncMysqlConnection, RunQueryDsl};

use super::{Catalog, Size, Yes};
use crate::args::Backend;

impl Catalog for AsyncMysqlConnection {
    const BACKEND: Backend = Backend::Mysql;

    lists! {
        columns: "SELECT CAST(column_name AS char) AS name FROM information_schema.columns \
                  WHERE table_schema = database() AND table_name = ?",
        indexes: "SELECT DISTINCT CAST(index_name AS char) AS name FROM information_schema.statistics \
                  WHERE table_schema = database() AND table_name = ?",
        versions: "SELECT CAST(version AS char) AS name FROM __diesel_schema_migrations"
    }

    async fn is_durable(&mut self, table: &str) -> QueryResult<Option<bool>> {
        let query = "SELECT engine = 'InnoDB' AS yes FROM information_schema.tables \
             WHERE table_schema = database() AND table_name = ?";
        let found: Yes = sql_query(query)
            .bind::<Text, _>(table)
            .get_result(self)
            .await?;
        Ok(Some(found.yes))
    }

    async fn size(&mut self, table: &str) -> QueryResult<Size> {
        let query = "SELECT CAST(data_length AS signed) AS table_bytes, \
             CAST(index_length AS signed) AS index_bytes, CAST(table_rows AS signed) AS `rows`, \
             CAST(NULL AS signed) AS dead_rows, CAST(data_free AS signed) AS free_bytes \
             FROM information_schema.tables WHERE table_schema = database() AND table_name = ?";
        sql_query(query)
            .bind::<Text, _>(table)
            .get_result(self)
            .await
    }
}
