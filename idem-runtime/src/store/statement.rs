//! A statement in pieces, written once for all backends: what they call differently, time and ids
//! above all, is a piece of its own.
//!
//! For lease mode and the outbox, whose statements are not what their speed depends on. Never knows what a statement
//! is for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use uuid::Uuid;

/// How one backend says what each of them says differently.
pub trait Dialect: Backend {
    /// The database's clock, not the start of a transaction.
    const NOW: &'static str;
    /// Around a number of milliseconds: that much after [`Self::NOW`].
    const LATER: (&'static str, &'static str);
    /// Around a number of milliseconds: that much before this statement began; it may bound an index.
    const EARLIER: (&'static str, &'static str);
    /// Around a time: how many milliseconds it is before [`Self::NOW`].
    const SINCE: (&'static str, &'static str);
    /// Around 16 bytes: an id.
    const ID: (&'static str, &'static str);
    /// Around a time: a number that no other time of a row has.
    const EXACT: (&'static str, &'static str);
    /// Around an id: its 16 bytes.
    const BYTES_OF_ID: (&'static str, &'static str);
    /// Around a query for ids, behind a column: is one of them.
    const ONE_OF: (&'static str, &'static str);
    /// When this statement began: unlike [`Self::NOW`] it may bound an index.
    const STARTED: &'static str;
    /// Around a text, a JSON array of numbers: a query for these.
    const NUMBERS: (&'static str, &'static str);
    /// Around an INSERT or UPDATE: if it changes a row, wakes at the commit whoever waits for messages.
    const WAKE: (&'static str, &'static str);
    /// Behind a query: passes by what somebody else has locked.
    const SKIP_LOCKED: &'static str;

    fn bind_bytes<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b [u8]) -> QueryResult<()>;
    fn bind_text<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b str) -> QueryResult<()>;
    fn bind_number<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b i64) -> QueryResult<()>;
}

/// A piece of a statement.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Sql(&'static str),
    Nested(Statement),
    Now,
    /// So many milliseconds from now as this expression says.
    Later(Statement),
    /// So many milliseconds before this statement as this expression says.
    Earlier(Statement),
    /// Milliseconds since the time in this column.
    Since(&'static str),
    /// The time in this column, as a number to be compared.
    Exact(&'static str),
    Id([u8; 16]),
    /// The bytes of the id in this column.
    BytesOfId(&'static str),
    OneOf(Statement),
    Started,
    /// A query for these numbers, a JSON array.
    Numbers(Arc<str>),
    Wake(Statement),
    SkipLocked,
    Bytes(Bytes),
    Text(Arc<str>),
    Number(i64),
}

impl Piece {
    /// So much later than now.
    pub(super) fn later(length: Duration) -> Self {
        Self::Later(Statement(vec![Self::milliseconds(length)]))
    }

    pub(super) fn numbers(numbers: &[i64]) -> Self {
        let numbers: Vec<_> = numbers.iter().map(i64::to_string).collect();
        Self::Numbers(format!("[{}]", numbers.join(",")).into())
    }

    pub(super) fn milliseconds(length: Duration) -> Self {
        Self::Number(i64::try_from(length.as_millis()).unwrap_or(i64::MAX))
    }
}

impl From<&'static str> for Piece {
    fn from(sql: &'static str) -> Self {
        Self::Sql(sql)
    }
}

impl From<Statement> for Piece {
    fn from(statement: Statement) -> Self {
        Self::Nested(statement)
    }
}

impl From<[u8; 16]> for Piece {
    fn from(id: [u8; 16]) -> Self {
        Self::Id(id)
    }
}

impl From<Uuid> for Piece {
    fn from(id: Uuid) -> Self {
        Self::Id(id.into_bytes())
    }
}

/// A statement. Values are bound, so that the texts are few, and each is prepared once for a
/// connection.
#[derive(Debug, Clone)]
pub struct Statement(pub(super) Vec<Piece>);

/// Pieces one after the other: SQL as literals, everything else as a [`Piece`], an id or a statement.
macro_rules! statement {
    ($($piece:expr),+ $(,)?) => {
        $crate::store::statement::Statement(vec![$($crate::store::statement::Piece::from($piece)),+])
    };
}
pub(super) use statement;

/// Diesel then takes the text itself as the name of the prepared statement.
impl QueryId for Statement {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C> diesel::RunQueryDsl<C> for Statement {}

impl<DB: Dialect> QueryFragment<DB> for Statement {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.iter().try_for_each(|piece| walk(piece, &mut out))
    }
}

fn walk<'b, DB: Dialect>(piece: &'b Piece, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
    match piece {
        Piece::Sql(sql) => out.push_sql(sql),
        Piece::Nested(statement) => statement.walk_ast(out.reborrow())?,
        Piece::Now => out.push_sql(DB::NOW),
        Piece::Later(milliseconds) => {
            out.push_sql(DB::LATER.0);
            milliseconds.walk_ast(out.reborrow())?;
            out.push_sql(DB::LATER.1);
        }
        Piece::Earlier(milliseconds) => {
            out.push_sql(DB::EARLIER.0);
            milliseconds.walk_ast(out.reborrow())?;
            out.push_sql(DB::EARLIER.1);
        }
        Piece::Since(column) => around(DB::SINCE, column, out),
        Piece::Exact(column) => around(DB::EXACT, column, out),
        Piece::Id(id) => {
            out.push_sql(DB::ID.0);
            DB::bind_bytes(out, id)?;
            out.push_sql(DB::ID.1);
        }
        Piece::BytesOfId(column) => around(DB::BYTES_OF_ID, column, out),
        Piece::OneOf(ids) => {
            out.push_sql(DB::ONE_OF.0);
            ids.walk_ast(out.reborrow())?;
            out.push_sql(DB::ONE_OF.1);
        }
        Piece::Started => out.push_sql(DB::STARTED),
        Piece::Numbers(numbers) => {
            out.push_sql(DB::NUMBERS.0);
            DB::bind_text(out, numbers)?;
            out.push_sql(DB::NUMBERS.1);
        }
        Piece::Wake(changing) => {
            out.push_sql(DB::WAKE.0);
            changing.walk_ast(out.reborrow())?;
            out.push_sql(DB::WAKE.1);
        }
        Piece::SkipLocked => out.push_sql(DB::SKIP_LOCKED),
        Piece::Bytes(bytes) => DB::bind_bytes(out, bytes)?,
        Piece::Text(text) => DB::bind_text(out, text)?,
        Piece::Number(number) => DB::bind_number(out, number)?,
    }
    Ok(())
}

fn around<DB: Backend>(
    (before, behind): (&str, &str),
    column: &str,
    out: &mut AstPass<'_, '_, DB>,
) {
    out.push_sql(before);
    out.push_sql(column);
    out.push_sql(behind);
}

/// A query, and the types of its answer.
macro_rules! query {
    ($name:ident: $sql_type:ty) => {
        #[derive(Debug, Clone)]
        pub struct $name(pub(super) Statement);

        impl QueryId for $name {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }

        impl Query for $name {
            type SqlType = $sql_type;
        }

        impl<C> diesel::RunQueryDsl<C> for $name {}

        impl<DB: Dialect> QueryFragment<DB> for $name {
            fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                self.0.walk_ast(out)
            }
        }
    };
}

query!(StepsQuery: Nullable<Text>);

query!(StateQuery: (
    Text,
    Binary,
    Nullable<Binary>,
    Nullable<Text>,
    Bool,
    Bool,
    Bool,
    Nullable<Integer>,
    Nullable<Text>,
    Nullable<Binary>,
));

query!(UnresolvedQuery: (
    Text,
    Text,
    Text,
    Nullable<Binary>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Binary>,
    BigInt,
    BigInt,
    BigInt,
));

query!(LookQuery: (Text, BigInt, Bool));

query!(TakenQuery: (
    BigInt,
    Binary,
    Text,
    Nullable<Text>,
    Text,
    Nullable<Text>,
    Binary,
    BigInt,
    BigInt,
));

query!(DeadQuery: (
    Binary,
    Text,
    Text,
    Text,
    Nullable<Text>,
    BigInt,
    Nullable<Text>,
    BigInt,
));

query!(DueQuery: (Bool, Nullable<BigInt>));

query!(BacklogQuery: (BigInt, Nullable<BigInt>));
