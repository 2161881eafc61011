//! The outcomes as JUnit XML, in the dialect that CI servers read. What is no failure but not plainly passed is said in
//! the output of its case.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use quick_xml::events::BytesText;
use quick_xml::writer::Writer;
use tempfile::NamedTempFile;

use super::report::{Outcome, Report, Row};
use crate::error::Error;
use crate::output::printable;

/// A file beside the one that is asked for, whose place it takes when it is whole.
pub(super) struct Draft {
    file: NamedTempFile,
    path: PathBuf,
}

impl Draft {
    /// Nothing happens to what is there by now.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let is_other = std::fs::metadata(path).is_ok_and(|there| !there.is_file());
        if is_other {
            let what = io::Error::new(io::ErrorKind::InvalidInput, "this is no file");
            return Err(unwritable(path, &what));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // As any other file of this user: CI servers read it as somebody else.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| unwritable(path, &error))?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    pub(super) fn finish(self, report: &Report) -> Result<(), Error> {
        let Self { file, path } = self;
        write(report, &file).map_err(|error| unwritable(&path, &error))?;
        file.persist(&path)
            .map_err(|error| unwritable(&path, &error.error))?;
        Ok(())
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Usage(format!("--junit: {}: {error}", path.display()))
}

fn write(report: &Report, file: impl Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(file, b' ', 2);
    let count = |outcome| report.count(outcome).to_string();
    let (tests, failures) = (report.checks.len().to_string(), count(Outcome::Violated));
    let (errors, skipped) = (count(Outcome::Unchecked), count(Outcome::Skipped));
    let counts = [
        ("name", "idem check"),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
        ("skipped", &skipped),
    ];
    writer
        .create_element("testsuites")
        .with_attributes(counts)
        .write_inner_content(|writer| {
            writer
                .create_element("testsuite")
                .with_attributes(counts)
                .write_inner_content(|writer| {
                    report
                        .checks
                        .iter()
                        .try_for_each(|row| case(writer, &report.profile, row))
                })
                .map(drop)
        })?;
    writer.get_mut().write_all(b"\n")
}

fn case(writer: &mut Writer<impl Write>, profile: &str, row: &Row) -> io::Result<()> {
    let class = format!("idem.check.{profile}");
    let took = format!("{:.3}", row.took.as_secs_f64());
    let detail = printable(row.detail.as_deref().unwrap_or_default());
    let case = writer
        .create_element("testcase")
        .with_attribute(("classname", class.as_str()))
        .with_attribute(("name", row.id))
        .with_attribute(("time", took.as_str()));
    let result = match row.outcome {
        Outcome::Violated => "failure",
        Outcome::Unchecked => "error",
        Outcome::Skipped => "skipped",
        Outcome::Passed if detail.is_empty() => return case.write_empty().map(drop),
        Outcome::Passed | Outcome::AnswersOnly | Outcome::Advised | Outcome::Deviation => {
            let said = format!("{}: {detail}", row.outcome.name());
            return case
                .write_inner_content(|writer| {
                    let output = writer.create_element("system-out");
                    output.write_text_content(BytesText::new(&said)).map(drop)
                })
                .map(drop);
        }
    };
    let reason = format!("{}; otherwise {} ({})", row.title, row.why, row.source);
    case.write_inner_content(|writer| {
        writer
            .create_element(result)
            .with_attribute(("message", detail.as_str()))
            .write_text_content(BytesText::new(&reason))
            .map(drop)
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::check::checks::Level;

    #[test]
    fn nothing_that_a_server_says_ends_an_element() {
        let row = Row {
            id: "retry",
            title: "a",
            level: Level::Must,
            outcome: Outcome::Violated,
            detail: Some("\"<&'\u{1}\u{ffff}>\"".to_owned()),
            why: "<b>",
            source: "c",
            took: Duration::from_millis(7),
        };
        let report = Report {
            url: String::new(),
            method: String::new(),
            profile: "\"strict\"".to_owned(),
            notes: Vec::new(),
            observed: Vec::new(),
            key_prefix: String::new(),
            effects_counted: false,
            conformant: false,
            counts: BTreeMap::new(),
            checks: vec![row],
        };
        let mut file = Vec::new();
        write(&report, &mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert!(
            text.contains(r#"classname="idem.check.&quot;strict&quot;""#),
            "{text}"
        );
        assert!(text.contains(r#"time="0.007""#), "{text}");
        assert!(
            text.contains(r#"message="&quot;&lt;&amp;&apos;\u{1}"#),
            "{text}"
        );
        assert!(text.contains("a; otherwise &lt;b&gt; (c)"), "{text}");
    }
}
