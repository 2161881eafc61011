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
    /// Around a text: how many bytes it has.
    const SIZE: (&'static str, &'static str);
    /// Around a time: a number that no other time of a row has.
    const EXACT: (&'static str, &'static str);
    /// Around an id: its 16 bytes.
    const BYTES_OF_ID: (&'static str, &'static str);
    /// Around a query for ids, behind a column: is one of them.
    const ONE_OF: (&'static str, &'static str);
    /// When this statement began: unlike [`Self::NOW`] it may bound an index.
    const STARTED: &'static str;
    /// Around columns, behind an INSERT: does nothing where these are there already.
    const UNLESS_THERE: (&'static str, &'static str);
    /// Around an INSERT or UPDATE: if it changes a row, wakes at the commit whoever waits for messages.
    const WAKE: (&'static str, &'static str);
    /// The column `key`, which is a reserved word here and there.
    const KEY: &'static str;
    /// Around an expression: as a number of 64 bits.
    const WIDE: (&'static str, &'static str);
    /// Around and between two texts: one behind the other.
    const JOINED: (&'static str, &'static str, &'static str);
    /// Behind a query: passes by what somebody else has locked.
    const SKIP_LOCKED: &'static str;
    /// Milliseconds since 1970 by the database's clock.
    const CLOCK: &'static str;

    fn bind_bytes<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b [u8]) -> QueryResult<()>;
    fn bind_text<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b str) -> QueryResult<()>;
    fn bind_number<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b i64) -> QueryResult<()>;
    /// Behind a column: is one of these.
    fn among<'b>(out: &mut AstPass<'_, 'b, Self>, numbers: &'b Numbers) -> QueryResult<()>;
}

/// How values are bound: the same words everywhere, and each backend has to say them about itself.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
macro_rules! binds {
    () => {
        fn bind_bytes<'b>(
            out: &mut diesel::query_builder::AstPass<'_, 'b, Self>,
            value: &'b [u8],
        ) -> diesel::QueryResult<()> {
            out.push_bind_param::<diesel::sql_types::Binary, [u8]>(value)
        }

        fn bind_text<'b>(
            out: &mut diesel::query_builder::AstPass<'_, 'b, Self>,
            value: &'b str,
        ) -> diesel::QueryResult<()> {
            out.push_bind_param::<diesel::sql_types::Text, str>(value)
        }

        fn bind_number<'b>(
            out: &mut diesel::query_builder::AstPass<'_, 'b, Self>,
            value: &'b i64,
        ) -> diesel::QueryResult<()> {
            out.push_bind_param::<diesel::sql_types::BigInt, i64>(value)
        }
    };
}
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub(super) use binds;

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
    /// The bytes of the text in this column.
    Size(&'static str),
    /// The time in this column, as a number to be compared.
    Exact(&'static str),
    Id([u8; 16]),
    /// The bytes of the id in this column.
    BytesOfId(&'static str),
    OneOf(Statement),
    Started,
    Wake(Statement),
    SkipLocked,
    Clock,
    Key,
    Wide(&'static str),
    /// An expression, and a text behind it.
    Joined(&'static str, Arc<str>),
    /// Ids, as a list.
    Ids(Arc<[Vec<u8>]>),
    /// Numbers, as a list.
    List(Arc<[i64]>),
    /// Behind a column: is one of these numbers.
    Among(Numbers),
    /// Behind an INSERT: does nothing where these columns are there already.
    UnlessThere(&'static str),
    Bytes(Bytes),
    Text(Arc<str>),
    Number(i64),
}

/// Some numbers, also as a JSON array, which is one value however many they are.
#[derive(Debug, Clone)]
#[allow(
    dead_code,
    reason = "each backend takes one of the two, and not all of them are built"
)]
pub struct Numbers {
    pub(super) each: Arc<[i64]>,
    pub(super) json: Arc<str>,
}

impl Piece {
    /// Behind a column: is one of these numbers.
    pub(super) fn among(numbers: &[i64]) -> Self {
        let texts: Vec<_> = numbers.iter().map(i64::to_string).collect();
        Self::Among(Numbers {
            each: numbers.into(),
            json: format!("[{}]", texts.join(",")).into(),
        })
    }

    /// So much later than now.
    pub(super) fn later(length: Duration) -> Self {
        Self::Later(Statement(vec![Self::milliseconds(length)]))
    }

    /// Whether it is a list of nothing.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Ids(ids) => ids.is_empty(),
            Self::List(numbers) => numbers.is_empty(),
            _ => false,
        }
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
        Piece::Size(column) => around(DB::SIZE, column, out),
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
        Piece::Wake(changing) => {
            out.push_sql(DB::WAKE.0);
            changing.walk_ast(out.reborrow())?;
            out.push_sql(DB::WAKE.1);
        }
        Piece::SkipLocked => out.push_sql(DB::SKIP_LOCKED),
        Piece::Clock => out.push_sql(DB::CLOCK),
        Piece::Key => out.push_sql(DB::KEY),
        Piece::Wide(expression) => around(DB::WIDE, expression, out),
        Piece::Joined(expression, text) => {
            out.push_sql(DB::JOINED.0);
            out.push_sql(expression);
            out.push_sql(DB::JOINED.1);
            DB::bind_text(out, text)?;
            out.push_sql(DB::JOINED.2);
        }
        Piece::Ids(ids) => list(ids, out, |out, id| {
            out.push_sql(DB::ID.0);
            DB::bind_bytes(out, id)?;
            out.push_sql(DB::ID.1);
            Ok(())
        })?,
        Piece::List(numbers) => list(numbers, out, DB::bind_number)?,
        Piece::Among(numbers) => DB::among(out, numbers)?,
        Piece::UnlessThere(columns) => around(DB::UNLESS_THERE, columns, out),
        Piece::Bytes(bytes) => DB::bind_bytes(out, bytes)?,
        Piece::Text(text) => DB::bind_text(out, text)?,
        Piece::Number(number) => DB::bind_number(out, number)?,
    }
    Ok(())
}

/// As many places as the next power of two, the last ones with the last value: statements are prepared by their
/// texts, which are few then.
pub(super) fn list<'b, DB: Dialect, T>(
    values: &'b [T],
    out: &mut AstPass<'_, 'b, DB>,
    bind: impl Fn(&mut AstPass<'_, 'b, DB>, &'b T) -> QueryResult<()>,
) -> QueryResult<()> {
    let places = values.len().next_power_of_two();
    let padding = values.last().into_iter().cycle();
    for (index, value) in values.iter().chain(padding).take(places).enumerate() {
        out.push_sql(if index == 0 { "" } else { ", " });
        bind(out, value)?;
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

pub(super) use query;

query!(IdsQuery: Binary);

query!(PositionsQuery: BigInt);

query!(StepsQuery: Nullable<Text>);

query!(StateQuery: (
    Text,
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
    Binary,
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
    BigInt,
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
