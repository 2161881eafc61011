//! `idem outbox list`, `retry` and `drop`: messages that were given up.

use idem_runtime::outbox::{self, DeadMessage};
use idem_runtime::{Backend, inspect};
use serde::Serialize;

use crate::args::{ListMessages, OneMessage};
use crate::audit::Audit;
use crate::change::{Words, carry_out};
use crate::confirm::confirm;
use crate::error::Error;
use crate::output::{length, milliseconds, print, table};

#[derive(Serialize)]
struct Page<'a> {
    dead: Vec<Shown<'a>>,
    /// What `--after` takes for the next page; null behind the last one.
    next: Option<i64>,
    /// Messages that are due and taken by no relay.
    overdue: u64,
    overdue_ms: Option<u64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    position: i64,
    id: String,
    topic: &'a str,
    ordering_key: Option<&'a str>,
    scope: &'a str,
    key: &'a str,
    attempts: u32,
    last_error: Option<&'a str>,
    dead_ms_ago: u64,
}

impl<'a> Shown<'a> {
    fn new(message: &'a DeadMessage) -> Self {
        Self {
            position: message.position,
            id: message.id.to_string(),
            topic: &message.topic,
            ordering_key: message.ordering_key.as_deref(),
            scope: &message.scope,
            key: &message.key,
            attempts: message.attempts,
            last_error: message.last_error.as_deref(),
            dead_ms_ago: milliseconds(message.dead_for),
        }
    }
}

pub(crate) async fn list<C: Backend>(conn: &mut C, asked: &ListMessages) -> Result<(), Error> {
    let dead = outbox::dead(conn, asked.after, asked.limit).await?;
    let overdue = inspect::overdue_messages(conn).await?;
    let is_full = dead.len() == asked.limit as usize;
    let page = Page {
        next: dead.last().filter(|_| is_full).map(|last| last.position),
        dead: dead.iter().map(Shown::new).collect(),
        overdue: overdue.count,
        overdue_ms: overdue.oldest.map(milliseconds),
    };
    print(asked.target.json, &page, || {
        let rows = dead.iter().map(|message| {
            vec![
                message.id.to_string(),
                message.topic.clone(),
                message.ordering_key.clone().unwrap_or_default(),
                message.attempts.to_string(),
                length(message.dead_for),
                message.last_error.clone().unwrap_or_default(),
            ]
        });
        let headers = [
            "ID",
            "TOPIC",
            "ORDERING KEY",
            "ATTEMPTS",
            "DEAD FOR",
            "LAST ERROR",
        ];
        let mut text = table(&headers, rows);
        match page.next {
            Some(next) => text += &format!("\nMore: --after {next}"),
            None => text += &format!("\n{} dead messages", dead.len()),
        }
        match overdue.oldest {
            Some(oldest) => {
                text += &format!(
                    ", {} due and not taken, for {}",
                    overdue.count,
                    length(oldest)
                );
            }
            None => text += ", none due and not taken",
        }
        text
    });
    Ok(())
}

pub(crate) async fn retry<C: Backend>(conn: &mut C, asked: OneMessage) -> Result<(), Error> {
    let question = "Send this message after all, behind what is queued in its order?";
    let done = async |conn: &mut C| outbox::requeue(conn, asked.id).await;
    change(conn, &asked, "outbox retry", question, "queued", done).await
}

pub(crate) async fn drop<C: Backend>(conn: &mut C, asked: OneMessage) -> Result<(), Error> {
    let question = "Forget this message for good? It will never be sent.";
    let done = async |conn: &mut C| outbox::discard(conn, asked.id).await;
    change(conn, &asked, "outbox drop", question, "dropped", done).await
}

async fn change<C: Backend>(
    conn: &mut C,
    asked: &OneMessage,
    command: &'static str,
    question: &str,
    done: &'static str,
    change: impl AsyncFnOnce(&mut C) -> diesel::QueryResult<bool>,
) -> Result<(), Error> {
    confirm(&asked.changing, question)?;
    let audit = Audit::open(command, asked.changing.audit.clone())?;
    let words = Words {
        id: &asked.id.to_string(),
        done,
        not_done: "not found",
        refusal: "nothing was done: there is no dead message with this id",
        json: asked.target.json,
    };
    carry_out(conn, audit, words, change).await
}
