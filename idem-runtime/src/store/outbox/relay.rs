//! The statements of a relay: taking messages, saying what became of them, and what it does besides.
//!
//! No SQL of one backend, no decisions about when or how often.

use std::time::Duration;

use diesel::QueryResult;
use uuid::Uuid;

use super::{Queue, TakenRow};
use crate::store::change::{self, Change, Table};
use crate::store::statement::{
    BacklogQuery, DueQuery, LookQuery, Piece, Statement, TakenQuery, statement,
};

/// Ordering keys that are looked at in one go, for each message that may be taken.
const LOOKED_AT: u32 = 4;

/// Ordering keys that are looked at in one go at all: MySQL and MariaDB end a recursion behind a thousand.
const MOST_LOOKED_AT: u32 = 900;

/// How much a relay takes at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) messages: u32,
    /// Of one ordering key.
    pub(crate) in_order: u32,
    /// Payloads and headers together; one message may be larger.
    pub(crate) bytes: u32,
}

/// What a relay has taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// The fencing token.
    pub(crate) owner: Uuid,
    /// How long nobody else takes it.
    pub(crate) length: Duration,
}

/// How far a relay has come among the ordering keys, in their alphabetical order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reached(String);

/// The heads of orders: the first message of each that is neither sent nor dead.
#[derive(Debug)]
pub(crate) struct Heads {
    /// Those that are due.
    positions: Vec<i64>,
    /// Where the next look goes on; `None` behind the last ordering key.
    pub(crate) reached: Option<Reached>,
}

/// Looks for heads that are due, from one ordering key on, and no further than a bounded number of them: how
/// much is waiting behind a head does not count.
pub(crate) async fn look<C: Queue>(
    connection: &mut C,
    Reached(reached): &Reached,
    bounds: Bounds,
) -> QueryResult<Heads> {
    let few = bounds
        .messages
        .saturating_mul(LOOKED_AT)
        .min(MOST_LOOKED_AT);
    let look = statement![
        "WITH RECURSIVE orders (ordering_key, number) AS (\
         SELECT min(ordering_key), 1 FROM idempotency_outbox WHERE sent_at IS NULL \
         AND dead_at IS NULL AND ordering_key > ",
        Piece::Text(reached.as_str().into()),
        " UNION ALL SELECT (SELECT min(following.ordering_key) FROM idempotency_outbox AS following \
         WHERE following.sent_at IS NULL AND following.dead_at IS NULL \
         AND following.ordering_key > orders.ordering_key), number + 1 \
         FROM orders WHERE orders.ordering_key IS NOT NULL AND number < ",
        Piece::Number(few.into()),
        "), firsts AS (SELECT orders.ordering_key, (SELECT min(waiting.position) \
         FROM idempotency_outbox AS waiting WHERE waiting.ordering_key = orders.ordering_key \
         AND waiting.sent_at IS NULL AND waiting.dead_at IS NULL) AS position \
         FROM orders WHERE orders.ordering_key IS NOT NULL) \
         SELECT firsts.ordering_key, firsts.position, (SELECT head.available_at <= ",
        Piece::Started,
        " FROM idempotency_outbox AS head WHERE head.position = firsts.position) \
         FROM firsts ORDER BY firsts.ordering_key",
    ];
    let rows = C::heads(connection, LookQuery(look)).await?;
    let mut all = rows.len() < few as usize;
    let (mut positions, mut last) = (Vec::new(), None);
    for (key, position, is_due) in rows {
        if positions.len() == bounds.messages as usize {
            all = false;
            break;
        }
        if is_due {
            positions.push(position);
        }
        last = Some(Reached(key));
    }
    let reached = if all { None } else { last };
    Ok(Heads { positions, reached })
}

/// Takes messages that are due: such as are in no order, and these heads with those behind them.
///
/// An order is only ever taken through its head, and whoever takes the head has its row locked. Behind it
/// come those that follow it and are due, up to the first that is not. Two relays therefore never have the
/// same order, or parts of it. A head that was seen stays one until it is sent or dead.
pub(crate) async fn take<C: Queue>(
    connection: &mut C,
    taken: &Taken,
    bounds: Bounds,
    seen: &Heads,
) -> QueryResult<Vec<TakenRow>> {
    let loose = statement![
        "SELECT position FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL \
         AND ordering_key IS NULL AND available_at <= ",
        Piece::Started,
        " ORDER BY available_at LIMIT ",
        Piece::Number(bounds.messages.into()),
        Piece::SkipLocked,
    ];
    let heads = statement![
        "SELECT position, ordering_key FROM idempotency_outbox WHERE position",
        Piece::among(&seen.positions),
        " AND sent_at IS NULL AND dead_at IS NULL AND available_at <= ",
        Piece::Now,
        Piece::SkipLocked,
    ];
    let last_of_few = statement![
        "SELECT few.position FROM idempotency_outbox AS few \
         WHERE few.ordering_key = heads.ordering_key AND few.position >= heads.position \
         AND few.sent_at IS NULL AND few.dead_at IS NULL ORDER BY few.position LIMIT 1 OFFSET ",
        Piece::Number(bounds.in_order.saturating_sub(1).into()),
    ];
    // What was chosen is as the statement found it; a late relay may have put off one of them since. What is
    // behind that one must not be taken without it.
    let free = statement![
        "SELECT position FROM idempotency_outbox WHERE position",
        Piece::OneOf(statement!["SELECT position FROM chosen"]),
        " AND sent_at IS NULL AND dead_at IS NULL AND available_at <= ",
        Piece::Now,
        Piece::SkipLocked,
    ];
    let whole = statement![
        "WITH loose AS (",
        loose,
        "), heads AS (",
        heads,
        "), streams AS (SELECT ordering_key, position AS head, coalesce((",
        last_of_few,
        "), 9223372036854775807) AS newest FROM heads), \
         candidates AS (SELECT position, ordering_key, length(payload) + ",
        Piece::Size("headers"),
        " AS size FROM idempotency_outbox WHERE position IN (SELECT position FROM loose) \
         UNION SELECT message.position, message.ordering_key, length(message.payload) + ",
        Piece::Size("message.headers"),
        " FROM streams \
         JOIN idempotency_outbox AS message ON message.ordering_key = streams.ordering_key \
         AND message.position >= streams.head AND message.position <= streams.newest \
         AND message.sent_at IS NULL AND message.dead_at IS NULL), \
         chosen AS (SELECT position, ordering_key FROM \
         (SELECT position, ordering_key, sum(size) OVER (ORDER BY position) - size AS ahead FROM candidates \
         ORDER BY position LIMIT ",
        Piece::Number(bounds.messages.into()),
        ") AS sized WHERE ahead < ",
        Piece::Number(bounds.bytes.into()),
        "), free AS (",
        free,
        "), marked AS (SELECT chosen.position, chosen.ordering_key, free.position AS freed, \
         sum(CASE WHEN free.position IS NULL THEN 1 ELSE 0 END) OVER \
         (PARTITION BY chosen.ordering_key ORDER BY chosen.position) AS gaps \
         FROM chosen LEFT JOIN free ON free.position = chosen.position) \
         SELECT position FROM marked WHERE freed IS NOT NULL AND (ordering_key IS NULL OR gaps = 0)",
    ];
    let take = statement![
        "UPDATE idempotency_outbox SET owner = ",
        taken.owner,
        ", available_at = ",
        Piece::later(taken.length),
    ];
    let columns = statement![
        "position, ",
        Piece::BytesOfId("message_id"),
        ", topic, ordering_key, headers, content_type, payload, ",
        Piece::Wide("attempts"),
        ", ",
        Piece::Since("enqueued_at"),
    ];
    let change = Change {
        table: Table::Outbox,
        rows: whole,
        change: take,
    };
    let ask = async |connection: &mut C, query| C::take(connection, TakenQuery(query)).await;
    let mut rows = change::change_and_ask(connection, change, columns, ask).await?;
    rows.sort_by_key(|row| row.position);
    Ok(rows)
}

/// Whether anything is due, and in how many milliseconds the next one is.
pub(crate) async fn due<C: Queue>(connection: &mut C) -> QueryResult<(bool, Option<i64>)> {
    let next = statement![
        "SELECT min(available_at) AS due FROM idempotency_outbox \
         WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NULL AND available_at > ",
        Piece::Started,
        " UNION ALL SELECT min(available_at) FROM idempotency_outbox \
         WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NOT NULL AND available_at > ",
        Piece::Started,
    ];
    let due = statement![
        "SELECT EXISTS(SELECT 1 FROM idempotency_outbox WHERE sent_at IS NULL \
         AND dead_at IS NULL AND ordering_key IS NULL AND available_at <= ",
        Piece::Started,
        ") OR EXISTS(SELECT 1 FROM idempotency_outbox WHERE sent_at IS NULL \
         AND dead_at IS NULL AND ordering_key IS NOT NULL AND available_at <= ",
        Piece::Started,
        "), (SELECT -",
        Piece::Since("min(due)"),
        " FROM (",
        next,
        ") AS next)",
    ];
    let mut found = C::due(connection, DueQuery(due)).await?;
    Ok(found.pop().unwrap_or_default())
}

/// Which rows: still this relay's.
fn of(taken: &Taken, positions: &[i64]) -> Statement {
    statement![
        " WHERE owner = ",
        taken.owner,
        " AND position",
        Piece::among(positions),
    ]
}

/// They have arrived.
pub(crate) async fn sent<C: Queue>(
    connection: &mut C,
    taken: &Taken,
    positions: &[i64],
    retain: Duration,
) -> QueryResult<usize> {
    let sent = statement![
        "UPDATE idempotency_outbox SET owner = NULL, attempts = attempts + 1, last_error = NULL, \
         sent_at = ",
        Piece::Now,
        ", expires_at = ",
        Piece::later(retain),
        of(taken, positions),
    ];
    C::execute(connection, sent).await
}

/// It did not arrive, and is tried again after a pause.
pub(crate) async fn put_off<C: Queue>(
    connection: &mut C,
    taken: &Taken,
    position: i64,
    error: &str,
    pause: Duration,
) -> QueryResult<usize> {
    let put_off = statement![
        "UPDATE idempotency_outbox SET owner = NULL, attempts = attempts + 1, last_error = ",
        Piece::Text(error.into()),
        ", available_at = ",
        Piece::later(pause),
        of(taken, &[position]),
    ];
    C::execute(connection, put_off).await
}

/// It did not arrive, and is not tried again.
pub(crate) async fn give_up<C: Queue>(
    connection: &mut C,
    taken: &Taken,
    position: i64,
    error: &str,
) -> QueryResult<usize> {
    let give_up = statement![
        "UPDATE idempotency_outbox SET owner = NULL, attempts = attempts + 1, last_error = ",
        Piece::Text(error.into()),
        ", dead_at = ",
        Piece::Now,
        of(taken, &[position]),
    ];
    C::execute(connection, give_up).await
}

/// They were not tried: whoever comes next takes them.
pub(crate) async fn give_back<C: Queue>(
    connection: &mut C,
    taken: &Taken,
    positions: &[i64],
) -> QueryResult<usize> {
    let give_back = statement![
        "UPDATE idempotency_outbox SET owner = NULL, available_at = ",
        Piece::Now,
        of(taken, positions),
    ];
    C::execute(connection, statement![Piece::Wake(give_back)]).await
}

/// All that this claim has taken and that is still its own: nobody has learned what that is.
pub(crate) async fn give_back_all<C: Queue>(connection: &mut C, owner: Uuid) -> QueryResult<usize> {
    let held = |order| {
        statement![
            "SELECT position FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL AND ",
            Piece::Sql(order),
            " AND available_at > ",
            Piece::Started,
            " AND owner = ",
            owner,
        ]
    };
    let all = statement![
        held("ordering_key IS NULL"),
        " UNION ALL ",
        held("ordering_key IS NOT NULL"),
    ];
    let give_back = statement![
        "UPDATE idempotency_outbox SET owner = NULL, available_at = ",
        Piece::Now,
        " WHERE owner = ",
        owner,
        " AND position",
        Piece::OneOf(all),
    ];
    C::execute(connection, statement![Piece::Wake(give_back)]).await
}

/// Deletes at most `limit` messages that were sent and have been kept for long enough.
pub(crate) async fn prune<C: Queue>(connection: &mut C, limit: u32) -> QueryResult<usize> {
    let expired = statement![
        "SELECT position FROM idempotency_outbox WHERE sent_at IS NOT NULL AND expires_at <= ",
        Piece::Started,
        " ORDER BY expires_at LIMIT ",
        Piece::Number(limit.into()),
        Piece::SkipLocked,
    ];
    let change = Change {
        table: Table::Outbox,
        rows: expired,
        change: statement!["DELETE FROM idempotency_outbox"],
    };
    change::change(connection, change).await
}

/// How many messages are not sent yet, and for how many milliseconds the oldest has been waiting.
pub(crate) async fn backlog<C: Queue>(connection: &mut C) -> QueryResult<(i64, Option<i64>)> {
    let backlog = statement![
        "SELECT count(*), ",
        Piece::Since("min(enqueued_at)"),
        " FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL",
    ];
    let mut found = C::backlog(connection, BacklogQuery(backlog)).await?;
    Ok(found.pop().unwrap_or_default())
}
