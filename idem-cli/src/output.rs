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
        table.add_row(row.iter().map(|cell| one_line(cell)));
    }
    lines(&table)
}

/// A name and its value on each line, without those that have none.
pub(crate) fn facts(facts: &[(&str, Option<String>)]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in facts {
        if let Some(value) = value {
            table.add_row([(*name).to_owned(), one_line(value)]);
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

/// As it is, save what a terminal would act on: control characters, and those that turn the order of what follows
/// (Unicode TR 36, section 2.5) or cannot be seen. Lines stay lines.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// The same on one line: what stands in a table or a question can make no line of its own.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_acted_on(character) && !is_kept(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    escaped
}

fn is_acted_on(character: char) -> bool {
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
    );
    is_unseen || character.is_control()
}

/// In whole seconds.
pub(crate) fn length(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
}

pub(crate) fn milliseconds(length: Duration) -> u64 {
    length.as_millis().try_into().unwrap_or(u64::MAX)
}
