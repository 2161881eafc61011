//! What a process holds, by the kernel's books. Linux only, as all of `/proc` is.

use std::fs;
use std::path::{Path, PathBuf};

use super::figure::{Figure, Kind};
use crate::Outcome;

const KIB: f64 = 1024.0;

/// Of one application.
pub(crate) fn figures(number: usize, process: u32) -> Outcome<Vec<Figure>> {
    let place = Path::new("/proc").join(process.to_string());
    let memory = fs::read_to_string(place.join("smaps_rollup"))?;
    let status = fs::read_to_string(place.join("status"))?;
    let handles = handles(&place)?;
    let sockets = handles
        .iter()
        .filter(|name| name.to_string_lossy().starts_with("socket:"));
    let figure = |name: &str, kind, value| Figure::new(format!("app {number} {name}"), kind, value);
    // What was swapped out is held as well.
    let own = field(&memory, "Anonymous")? + field(&memory, "Swap")?;
    Ok(vec![
        figure("anonymous memory", Kind::Memory, own * KIB),
        figure("RSS", Kind::Shown, field(&memory, "Rss")? * KIB),
        figure("PSS", Kind::Shown, field(&memory, "Pss")? * KIB),
        figure("threads", Kind::Few, field(&status, "Threads")?),
        figure("handles", Kind::Few, handles.len() as f64),
        figure("sockets", Kind::Few, sockets.count() as f64),
    ])
}

/// What its open handles lead to. One that is closed meanwhile is none.
fn handles(place: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(place.join("fd"))?.flatten();
    Ok(entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .collect())
}

fn field(text: &str, name: &str) -> Outcome<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number
        .ok_or_else(|| format!("there is no {name}"))?
        .parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_books_can_be_read() {
        let figures = figures(0, std::process::id()).unwrap();
        let value = |name: &str| {
            let found = figures.iter().find(|figure| figure.name == name);
            found.map(|figure| figure.value).unwrap()
        };
        assert!(value("app 0 anonymous memory") > 0.0);
        assert!(value("app 0 RSS") >= value("app 0 anonymous memory"));
        assert!(value("app 0 threads") >= 1.0);
        assert!(value("app 0 handles") >= 3.0);
    }
}
