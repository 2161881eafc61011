//! What the tables have to be like, read off the runtime's own migrations: their columns, and the indexes with names.

use idem_runtime::migrations::MigrationFile;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) indexes: Vec<String>,
}

/// Our migrations are written so that this can be read line by line: a column of a new table stands behind four
/// spaces, in lower case.
pub(super) fn tables(files: &[MigrationFile]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut is_open = false;
    for line in files.iter().flat_map(|file| file.up.lines()) {
        let words: Vec<_> = line.split_whitespace().map(bare).collect();
        match words[..] {
            ["CREATE", "TABLE", name, ..] => {
                tables.push(Table {
                    name: name.to_owned(),
                    columns: Vec::new(),
                    indexes: Vec::new(),
                });
                is_open = true;
            }
            _ if line.starts_with(')') => is_open = false,
            ["--", ..] | [] => {}
            _ => {
                let Some(table) = tables.last_mut() else {
                    continue;
                };
                if is_open && is_column(line) {
                    table
                        .columns
                        .extend(words.first().map(|&name| name.to_owned()));
                }
                for pair in words.windows(3) {
                    match *pair {
                        ["ADD", "COLUMN", name] => table.columns.push(name.to_owned()),
                        [.., "INDEX", name] if name.starts_with("idempotency_") => {
                            table.indexes.push(name.to_owned());
                        }
                        _ => {}
                    }
                }
                if let ["INDEX", name, ..] = words[..] {
                    table.indexes.push(name.to_owned());
                }
            }
        }
    }
    tables
}

fn bare(word: &str) -> &str {
    word.trim_matches(['`', '(', ',', ';'])
}

fn is_column(line: &str) -> bool {
    let name = line.strip_prefix("    ");
    name.is_some_and(|name| {
        name.starts_with(|first: char| first == '`' || first.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::args::Backend;
    use crate::migration::Migrations;

    #[test]
    fn nothing_of_the_migrations_is_overlooked() {
        for backend in [Backend::Postgres, Backend::Mysql, Backend::Sqlite] {
            let of = Migrations::of(backend);
            let keys = tables(of.keys);
            assert_eq!(keys.len(), 1);
            assert_eq!(keys[0].name, "idempotency_keys");
            assert_eq!(keys[0].columns.len(), 17, "{:?}", keys[0].columns);
            assert_eq!(keys[0].indexes.len(), 2, "{:?}", keys[0].indexes);
            let outbox = tables(of.outbox);
            assert_eq!(outbox[0].columns.len(), 17, "{:?}", outbox[0].columns);
            assert_eq!(outbox[0].indexes.len(), 5, "{:?}", outbox[0].indexes);
            let inbox = tables(of.inbox);
            assert_eq!(inbox[0].columns, ["consumer", "message_id", "received_at"]);
            assert_eq!(inbox[0].indexes, ["idempotency_inbox_received_at"]);
        }
        let turns = &tables(Migrations::of(Backend::Mysql).outbox)[1];
        assert_eq!(turns.columns, ["turn", "taken"]);
    }
}
