//! What a command prints: a table for people, or one JSON document.

use std::io::{Write, stdout};
use std::time::Duration;

use comfy_table::{Table, presets};
use serde::Serialize;

/// Prints one of the two. Whoever closed our output has no say in what is done, so that errors are ignored here.
pub(crate) fn print(json: bool, document: &impl Serialize, text: impl FnOnce() -> String) {
    let text = match json {
        true => serde_json::to_string_pretty(document).unwrap_or_default(),
        false => text(),
    };
    let _ = writeln!(stdout(), "{}", text.trim_end());
}

/// What became of one row.
#[derive(Serialize)]
struct Done<'a> {
    id: &'a str,
    outcome: &'a str,
}

pub(crate) fn print_done(json: bool, id: &str, outcome: &str) {
    print(json, &Done { id, outcome }, || format!("{outcome}  {id}"));
}

pub(crate) fn table(headers: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headers);
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    lines(&table)
}

/// A name and its value on each line, without those that have none.
pub(crate) fn facts(facts: &[(&str, Option<String>)]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in facts {
        if let Some(value) = value {
            table.add_row([(*name).to_owned(), printable(value)]);
        }
    }
    lines(&table)
}

fn lines(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// As it is, save what a terminal would act on.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |character: char| match character {
        '\n' | '\t' => character.to_string(),
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// In whole seconds.
pub(crate) fn length(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
}

pub(crate) fn milliseconds(length: Duration) -> u64 {
    length.as_millis().try_into().unwrap_or(u64::MAX)
}
