//! What sets up the connections of diesel's `r2d2` pool, as `setup` says.

use diesel::connection::SimpleConnection;
use diesel::r2d2::{CustomizeConnection, Error, R2D2Connection};

use crate::pool::setup::{self, SetUp};

/// Sets up each new connection of a pool of diesel's `PgConnection`, [as it has to
/// be](crate::pool::set_up_postgres): for `connection_customizer` of the pool's builder. A customizer of your own
/// calls [`set_up_postgres_blocking`](crate::pool::set_up_postgres_blocking).
#[cfg(feature = "postgres-blocking")]
#[must_use]
pub fn postgres_customizer() -> Box<dyn CustomizeConnection<diesel::PgConnection, Error>> {
    customizer(&setup::POSTGRES)
}

/// Sets up each new connection of a pool of diesel's `MysqlConnection`, [as it has to
/// be](crate::pool::set_up_mysql): for `connection_customizer` of the pool's builder. A customizer of your own
/// calls [`set_up_mysql_blocking`](crate::pool::set_up_mysql_blocking).
#[cfg(feature = "mysql-blocking")]
#[must_use]
pub fn mysql_customizer() -> Box<dyn CustomizeConnection<diesel::MysqlConnection, Error>> {
    customizer(&setup::MYSQL)
}

/// Sets up each new connection of a pool of diesel's `SqliteConnection`, [as it has to
/// be](crate::pool::set_up_sqlite): for `connection_customizer` of the pool's builder. A customizer of your own
/// calls [`set_up_sqlite_blocking`](crate::pool::set_up_sqlite_blocking).
#[cfg(feature = "sqlite")]
#[must_use]
pub fn sqlite_customizer() -> Box<dyn CustomizeConnection<diesel::SqliteConnection, Error>> {
    customizer(&setup::SQLITE)
}

fn customizer<C: R2D2Connection>(set_up: &'static SetUp) -> Box<dyn CustomizeConnection<C, Error>> {
    set_up.ask();
    Box::new(Customizer(set_up))
}

struct Customizer(&'static SetUp);

impl std::fmt::Debug for Customizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Customizer(..)")
    }
}

impl<C: SimpleConnection> CustomizeConnection<C, Error> for Customizer {
    fn on_acquire(&self, connection: &mut C) -> Result<(), Error> {
        self.0.apply_blocking(connection).map_err(Error::QueryError)
    }
}
