//! How a message names what could have been meant.
//!
//! Words only; never knows an option.

/// How alike two words must be before one is taken for a misspelling of the other, from 0 to 1.
const ALIKE: f64 = 0.6;

/// The name that was probably meant.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    names
        .map(|name| (strsim::normalized_damerau_levenshtein(&word, name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// `a, b or c`
pub(crate) fn either(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
