//! The shop's tables: orders, and keys with what became of them. All SQL of the shop.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, Error as PoolError, Pool};
use diesel::sql_types::{BigInt, Binary, Bool, Double, Text};
use uuid::Uuid;

use super::reply::Reply;
use super::request::{Operation, Order};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id integer PRIMARY KEY AUTOINCREMENT, item text NOT NULL, quantity real NOT NULL);
    CREATE TABLE IF NOT EXISTS keys (
        scope text NOT NULL, key text NOT NULL, fingerprint blob NOT NULL, owner text NOT NULL,
        since real NOT NULL DEFAULT (julianday('now')), reply text, PRIMARY KEY (scope, key));";

diesel::table! {
    orders (id) {
        id -> BigInt,
        item -> Text,
        quantity -> Double,
    }
}

diesel::table! {
    keys (scope, key) {
        scope -> Text,
        key -> Text,
        fingerprint -> Binary,
        owner -> Text,
        reply -> Nullable<Text>,
    }
}

type Work<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The tables.
#[derive(Clone)]
pub struct Journal {
    pool: Pool<ConnectionManager<SqliteConnection>>,
}

/// What stands there of a key.
pub(super) struct Entry {
    pub(super) fingerprint: Vec<u8>,
    pub(super) owner: String,
    /// None while somebody works.
    pub(super) reply: Option<Reply>,
}

/// An answer, and how it is recorded.
pub(super) struct Answer {
    pub(super) now: Reply,
    pub(super) later: Reply,
}

#[derive(Debug)]
struct Patience;

impl CustomizeConnection<SqliteConnection, PoolError> for Patience {
    fn on_acquire(&self, connection: &mut SqliteConnection) -> Result<(), PoolError> {
        let set_up = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL";
        connection
            .batch_execute(set_up)
            .map_err(PoolError::QueryError)
    }
}

impl Journal {
    pub(super) fn open(path: &str) -> Self {
        let pool = Pool::builder()
            .max_size(8)
            .min_idle(Some(1))
            .connection_customizer(Box::new(Patience))
            .build(ConnectionManager::new(path))
            .expect("a pool");
        let mut connection = pool.get().expect("a connection");
        connection.batch_execute(TABLES).expect("tables");
        Self { pool }
    }

    pub(super) fn orders(&self) -> Work<i64> {
        Ok(orders::table.count().get_result(&mut self.pool.get()?)?)
    }

    pub(super) fn items(&self) -> Work<Vec<(i64, String)>> {
        let all = orders::table.select((orders::id, orders::item));
        Ok(all.order(orders::id).load(&mut self.pool.get()?)?)
    }

    pub(super) fn look(&self, operation: &Operation) -> Work<Option<Entry>> {
        let row: Option<(Vec<u8>, String, Option<String>)> = keys::table
            .find((&operation.scope, &operation.key))
            .select((keys::fingerprint, keys::owner, keys::reply))
            .first(&mut self.pool.get()?)
            .optional()?;
        let Some((fingerprint, owner, reply)) = row else {
            return Ok(None);
        };
        let reply = reply
            .map(|reply| serde_json::from_str(&reply))
            .transpose()?;
        Ok(Some(Entry {
            fingerprint,
            owner,
            reply,
        }))
    }

    /// The owner's token if the key was nobody's. Committed at once.
    pub(super) fn claim(&self, operation: &Operation) -> Work<Option<String>> {
        let owner = Uuid::new_v4().to_string();
        let written = diesel::insert_into(keys::table)
            .values((
                keys::scope.eq(&operation.scope),
                keys::key.eq(&operation.key),
                keys::fingerprint.eq(&operation.fingerprint),
                keys::owner.eq(&owner),
            ))
            .on_conflict_do_nothing()
            .execute(&mut self.pool.get()?)?;
        Ok((written == 1).then_some(owner))
    }

    /// The defect: the claim of somebody who has not finished within the lease becomes ours.
    pub(super) fn take_over(
        &self,
        operation: &Operation,
        from: &str,
        lease: Duration,
    ) -> Work<Option<String>> {
        let owner = Uuid::new_v4().to_string();
        let written = diesel::sql_query(
            "UPDATE keys SET owner = ?, since = julianday('now') WHERE scope = ? AND key = ? AND owner = ?
             AND reply IS NULL AND (julianday('now') - since) * 86400 > ?",
        )
        .bind::<Text, _>(&owner)
        .bind::<Text, _>(&operation.scope)
        .bind::<Text, _>(&operation.key)
        .bind::<Text, _>(from)
        .bind::<Double, _>(lease.as_secs_f64())
        .execute(&mut self.pool.get()?)?;
        Ok((written == 1).then_some(owner))
    }

    /// The order and its record in one transaction: both, or an error and neither. `owner` is who must still hold the
    /// claim, or nobody in particular.
    pub(super) fn take_order(
        &self,
        operation: &Operation,
        order: &Order,
        owner: Option<&str>,
        answer: impl FnOnce(i64) -> Answer,
    ) -> Work<Reply> {
        self.pool.get()?.immediate_transaction(|connection| {
            let new = (
                orders::item.eq(&order.item),
                orders::quantity.eq(order.quantity),
            );
            diesel::insert_into(orders::table)
                .values(new)
                .execute(connection)?;
            let id = diesel::select(sql::<BigInt>("last_insert_rowid()")).get_result(connection)?;
            let Answer { now, later } = answer(id);
            record(connection, operation, &later, owner)?;
            Ok(now)
        })
    }

    /// A record without an order.
    pub(super) fn remember(&self, operation: &Operation, reply: &Reply) -> Work<()> {
        record(&mut *self.pool.get()?, operation, reply, None)
    }

    /// As if the key had never come.
    pub(super) fn forget(&self, operation: &Operation, owner: &str) -> Work<()> {
        let claim = keys::table
            .find((&operation.scope, &operation.key))
            .filter(keys::owner.eq(owner));
        diesel::delete(claim).execute(&mut self.pool.get()?)?;
        Ok(())
    }
}

fn record(
    connection: &mut SqliteConnection,
    operation: &Operation,
    reply: &Reply,
    owner: Option<&str>,
) -> Work<()> {
    // Without a claim there is no row yet, and whoever is later is the one that is remembered.
    let written = diesel::sql_query(
        "INSERT INTO keys (scope, key, fingerprint, owner, reply) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (scope, key) DO UPDATE SET reply = excluded.reply WHERE ? OR owner = excluded.owner",
    )
    .bind::<Text, _>(&operation.scope)
    .bind::<Text, _>(&operation.key)
    .bind::<Binary, _>(&operation.fingerprint)
    .bind::<Text, _>(owner.unwrap_or_default())
    .bind::<Text, _>(serde_json::to_string(reply)?)
    .bind::<Bool, _>(owner.is_none())
    .execute(connection)?;
    match written {
        1 => Ok(()),
        _ => Err("somebody else holds the claim".into()),
    }
}
