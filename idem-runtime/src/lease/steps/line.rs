//! A finished step, and the line of JSON as which it stands in its row: with its result, or with what a seal has made of
//! that.
//!
//! Pure values.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A finished step.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) step: String,
    pub(crate) result: Box<RawValue>,
}

impl Finished {
    pub(crate) fn new(name: &str, value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self {
            step: name.to_owned(),
            result: serde_json::value::to_raw_value(value)?,
        })
    }

    /// What counts against the limit for all steps together, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.step.len() + self.result.get().len()
    }
}

/// A finished step as it stands in its row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StepLine {
    pub(crate) step: String,
    #[serde(
        default,
        deserialize_with = "there",
        skip_serializing_if = "Option::is_none"
    )]
    result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<SealedResult>,
}

/// A result that is sealed: how, under which key, and what was made of it, in Base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SealedResult {
    /// Of what is inside.
    pub(crate) version: u32,
    pub(crate) key: u32,
    pub(crate) bytes: String,
}

/// A result may be `null`.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

impl StepLine {
    pub(crate) fn of(finished: Finished) -> Self {
        Self {
            step: finished.step,
            result: Some(finished.result),
            sealed: None,
        }
    }

    pub(crate) fn sealed(step: String, result: SealedResult) -> Self {
        Self {
            step,
            result: None,
            sealed: Some(result),
        }
    }

    /// The step with its result, unless that is sealed.
    pub(crate) fn plain(self) -> Result<Finished, (String, SealedResult)> {
        match (self.result, self.sealed) {
            (Some(result), _) => Ok(Finished {
                step: self.step,
                result,
            }),
            (None, Some(sealed)) => Err((self.step, sealed)),
            // `lines` takes these for damaged.
            (None, None) => Ok(Finished {
                step: self.step,
                result: RawValue::NULL.to_owned(),
            }),
        }
    }

    /// As it is written, with the line's end.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        // A value may hold JSON text as it came, and that has its line breaks between tokens, where a space says the same.
        let mut line = serde_json::to_string(self)?.replace('\n', " ");
        line.push('\n');
        Ok(line)
    }
}

/// A line that is none of ours, or damaged: nobody knows which step is done.
#[derive(Debug, thiserror::Error)]
#[error("the line of a step is damaged")]
pub(crate) struct DamagedLine;

/// The finished steps in their order. One whose outcome was unknown may have been written twice.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Result<StepLine, DamagedLine>> {
    let mut seen = std::collections::HashSet::new();
    let lines = text.lines().map(|line| {
        let line = serde_json::from_str(line).ok();
        line.filter(|line: &StepLine| line.result.is_some() != line.sealed.is_some())
            .ok_or(DamagedLine)
    });
    lines.filter(move |line| match line {
        Ok(line) => seen.insert(line.step.clone()),
        Err(DamagedLine) => true,
    })
}

/// The names of those that can be read.
pub(crate) fn names(text: &str) -> impl Iterator<Item = String> {
    lines(text).filter_map(|line| Some(line.ok()?.step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &impl Serialize) -> serde_json::Result<String> {
        StepLine::of(Finished::new(name, value)?).text()
    }

    fn finished(text: &str) -> impl Iterator<Item = Finished> {
        lines(text).map(|line| line.unwrap().plain().unwrap())
    }

    #[test]
    fn a_line_is_one_line_whatever_the_result_holds() {
        let line = line("a\n\"b", &"x\ny\0").unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        let read: Vec<_> = finished(&line).collect();
        assert_eq!(read[0].step, "a\n\"b");
        assert_eq!(read[0].result.get(), r#""x\ny\u0000""#);
    }

    #[test]
    fn a_result_that_is_json_text_of_many_lines_is_one_line() {
        let text = "{\n  \"charge\": [\r\n 1.0 ]\n}";
        let provider: Box<RawValue> = RawValue::from_string(text.to_owned()).unwrap();
        let line = line("charge", &provider).unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        let read: Vec<_> = finished(&line).collect();
        assert_eq!(read[0].step, "charge");
        assert_eq!(read[0].result.get(), text.replace('\n', " "));
    }

    #[test]
    fn a_result_that_is_null_is_a_result() {
        let line = line("mail", &()).unwrap();
        assert_eq!(line, "{\"step\":\"mail\",\"result\":null}\n");
        let read: Vec<_> = finished(&line).collect();
        assert_eq!(read[0].result.get(), "null");
    }

    #[test]
    fn a_damaged_line_is_no_step_that_was_not_done() {
        let sealed = r#"{"step":"a","sealed":{"version":1,"key":1,"bytes":""}}"#;
        assert!(lines(sealed).all(|line| line.is_ok()));
        for damaged in [
            "",
            "{",
            r#"{"step":"a"}"#,
            r#"{"result":1}"#,
            r#"{"step":"a","result":1,"sealed":{"version":1,"key":1,"bytes":""}}"#,
            r#"{"step":"a","sealed":{"version":1,"key":"1","bytes":""}}"#,
            r#"{"step":"a","sealed":{"version":1,"key":-1,"bytes":""}}"#,
            r#"{"step":"a","sealed":{"key":1,"bytes":""}}"#,
        ] {
            let text = format!("{sealed}\n{damaged}\n");
            let read: Vec<_> = lines(&text).map(|line| line.is_ok()).collect();
            assert_eq!(read, [true, false], "{damaged}");
            assert_eq!(names(&text).collect::<Vec<_>>(), ["a"]);
        }
    }
}
