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

/// A result that is sealed: under which key, and what was made of it, in Base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SealedResult {
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
            // `lines` gives none of these.
            (None, None) => Ok(Finished {
                step: self.step,
                result: RawValue::NULL.to_owned(),
            }),
        }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        // A value may hold JSON text as it came, and that has its line breaks between tokens, where a space says the same.
        let mut line = serde_json::to_string(self)?.replace('\n', " ");
        line.push('\n');
        Ok(line)
    }
}

/// The finished steps in their order. One whose outcome was unknown may have been written twice.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = StepLine> {
    let mut seen = std::collections::HashSet::new();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &StepLine| line.result.is_some() != line.sealed.is_some())
        .filter(move |line| seen.insert(line.step.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &impl Serialize) -> serde_json::Result<String> {
        StepLine::of(Finished::new(name, value)?).text()
    }

    fn finished(text: &str) -> impl Iterator<Item = Finished> {
        lines(text).map(|line| line.plain().unwrap())
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
    fn a_line_without_a_result_or_with_two_is_damaged() {
        let two = r#"{"step":"a","result":1,"sealed":{"key":1,"bytes":""}}"#;
        assert_eq!(lines(&format!("{{\"step\":\"a\"}}\n{two}\n")).count(), 0);
    }
}
