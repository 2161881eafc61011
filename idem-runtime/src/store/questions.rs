//! The questions that every backend answers in the same way, each with a row of its answer, and how they are
//! asked: one list for all.
//!
//! No SQL, no backend.

/// Those of lease mode, or of the outbox.
macro_rules! questions {
    (leases $stamp:ident) => {
        $stamp! {
            ids(crate::store::statement::IdsQuery) -> Vec<u8>;
            positions(crate::store::statement::PositionsQuery) -> i64;
            steps(crate::store::statement::StepsQuery) -> Option<String>;
            states(crate::store::statement::StateQuery) -> crate::store::lease::State;
            unresolved(crate::store::statement::UnresolvedQuery) -> crate::store::lease::UnresolvedRow;
            operations(crate::store::inspect::OperationsQuery) -> crate::store::inspect::OperationRow;
        }
    };
    (queue $stamp:ident) => {
        $stamp! {
            heads(crate::store::statement::LookQuery) -> (String, i64, bool);
            take(crate::store::statement::TakenQuery) -> crate::store::outbox::TakenRow;
            dead(crate::store::statement::DeadQuery) -> crate::store::outbox::DeadRow;
            due(crate::store::statement::DueQuery) -> (bool, Option<i64>);
            backlog(crate::store::statement::BacklogQuery) -> (i64, Option<i64>);
        }
    };
}

/// All of them, as any connection of diesel answers them on its thread. Where this stands, [`diesel::RunQueryDsl`]
/// is in scope.
#[cfg(any(feature = "postgres-blocking", feature = "sqlite"))]
macro_rules! answers {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        fn $name(&mut self, query: $query) -> diesel::QueryResult<Vec<$row>> {
            query.get_results(self)
        }
    )+};
}

/// All of them, on a connection that is awaited. Where this stands, [`diesel_async::RunQueryDsl`] and a function
/// `asked`, which bounds the time, are in scope.
#[cfg(any(feature = "postgres", feature = "mysql"))]
macro_rules! awaited {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        async fn $name(connection: &mut Self, query: $query) -> diesel::QueryResult<Vec<$row>> {
            asked(connection, async |connection| {
                query.get_results(connection).await
            })
            .await
        }
    )+};
}

#[cfg(any(feature = "postgres-blocking", feature = "sqlite"))]
pub(super) use answers;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) use awaited;
pub(super) use questions;
