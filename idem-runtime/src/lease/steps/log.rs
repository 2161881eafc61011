//! The log of one operation's finished steps, and the rule by which a run has to follow it.
//!
//! Pure values.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::StepError;

/// A finished step as it stands in its row: one line of JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) step: String,
    pub(crate) result: Box<RawValue>,
}

/// The line of a finished step.
pub(crate) fn line(name: &str, value: &impl Serialize) -> serde_json::Result<String> {
    let finished = Finished {
        step: name.to_owned(),
        result: serde_json::value::to_raw_value(value)?,
    };
    // A value may hold JSON text as it came, and that has its line breaks between tokens, where a space says the same.
    let mut line = serde_json::to_string(&finished)?.replace('\n', " ");
    line.push('\n');
    Ok(line)
}

/// The finished steps in their order. One whose outcome was unknown may have been written twice.
pub(crate) fn finished(text: &str) -> impl Iterator<Item = Finished> {
    let mut seen = std::collections::HashSet::new();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(move |finished: &Finished| seen.insert(finished.step.clone()))
}

/// What a run has been told so far.
pub(crate) struct Log {
    /// Finished by an earlier run, and not yet asked for by this one.
    ahead: VecDeque<Finished>,
    /// Finished, and asked for.
    behind: Vec<String>,
    running: Option<String>,
    /// Begun by this run, and left unfinished.
    failed: Option<String>,
    /// The bytes of all that is finished.
    size: usize,
}

/// What a run that asks for a step is told.
#[derive(Debug)]
pub(crate) enum Asked {
    Finished(String),
    New,
}

impl Log {
    pub(crate) fn read(text: &str) -> Self {
        Self {
            ahead: finished(text).collect(),
            behind: Vec::new(),
            running: None,
            failed: None,
            size: text.len(),
        }
    }

    pub(crate) fn ask(&mut self, name: &str) -> Result<Asked, StepError> {
        if let Some(running) = &self.running {
            return Err(StepError::Overlapping {
                step: name.to_owned(),
                running: running.clone(),
            });
        }
        if let Some(failed) = &self.failed
            && failed != name
        {
            return Err(StepError::Unfinished {
                step: name.to_owned(),
                unfinished: failed.clone(),
            });
        }
        if self.behind.iter().any(|behind| behind == name) {
            return Err(StepError::Repeated {
                step: name.to_owned(),
            });
        }
        match self.ahead.pop_front() {
            Some(next) if next.step == name => {
                self.behind.push(next.step);
                Ok(Asked::Finished(next.result.get().to_owned()))
            }
            Some(next) => {
                let error = StepError::Changed {
                    step: name.to_owned(),
                    finished: next.step.clone(),
                };
                self.ahead.push_front(next);
                Err(error)
            }
            None => {
                self.failed = None;
                self.running = Some(name.to_owned());
                Ok(Asked::New)
            }
        }
    }

    /// How long this line would make it.
    pub(super) fn size_with(&self, line: &str) -> usize {
        self.size + line.len()
    }

    /// The running step is finished; its name.
    pub(super) fn finish(&mut self, line: &str) -> Option<&str> {
        let step = self.running.take()?;
        self.size += line.len();
        self.behind.push(step);
        self.behind.last().map(String::as_str)
    }

    /// The running step is not finished.
    pub(super) fn leave(&mut self) {
        if let Some(running) = self.running.take() {
            self.failed = Some(running);
        }
    }

    /// Whether no step is finished.
    pub(super) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// A step that an earlier run has finished and this one never asked for.
    pub(crate) fn left_out(&self) -> Option<&str> {
        self.ahead.front().map(|finished| finished.step.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(names: &[&str]) -> Log {
        let lines: String = names
            .iter()
            .map(|name| line(name, &name.len()).unwrap())
            .collect();
        Log::read(&lines)
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
    fn finished_steps_answer_in_their_order_and_then_new_ones_begin() {
        let mut log = log(&["charge", "order"]);
        assert!(matches!(log.ask("charge"), Ok(Asked::Finished(json)) if json == "6"));
        assert_eq!(log.left_out(), Some("order"));
        assert!(matches!(log.ask("order"), Ok(Asked::Finished(_))));
        assert_eq!(log.left_out(), None);
        assert!(matches!(log.ask("mail"), Ok(Asked::New)));
    }

    #[test]
    fn another_name_at_the_place_of_a_finished_one_is_a_change() {
        let mut log = log(&["charge", "order"]);
        for changed in ["charge_v2", "order"] {
            assert!(matches!(log.ask(changed), Err(StepError::Changed { .. })));
        }
        assert!(log.ask("charge").is_ok());
    }

    #[test]
    fn a_finished_step_is_not_asked_for_twice_and_one_that_failed_may_be() {
        let mut log = log(&["charge"]);
        assert!(log.ask("charge").is_ok());
        assert!(matches!(log.ask("charge"), Err(StepError::Repeated { .. })));
        assert!(matches!(log.ask("mail"), Ok(Asked::New)));
        assert!(matches!(
            log.ask("other"),
            Err(StepError::Overlapping { .. })
        ));
        log.leave();
        assert!(matches!(log.ask("mail"), Ok(Asked::New)));
        log.finish("");
        assert!(matches!(log.ask("mail"), Err(StepError::Repeated { .. })));
    }

    #[test]
    fn a_step_that_was_written_twice_counts_once() {
        let mut log = log(&["charge", "charge", "order"]);
        assert!(log.ask("charge").is_ok());
        assert!(matches!(log.ask("order"), Ok(Asked::Finished(_))));
    }

    #[test]
    fn a_step_that_was_left_unfinished_is_not_passed_by() {
        let mut log = log(&[]);
        assert!(log.ask("score").is_ok());
        log.leave();
        assert!(matches!(
            log.ask("charge"),
            Err(StepError::Unfinished { .. })
        ));
        assert!(matches!(log.ask("score"), Ok(Asked::New)));
        assert!(log.is_empty());
        log.finish("line");
        assert!(!log.is_empty());
        assert!(matches!(log.ask("charge"), Ok(Asked::New)));
    }
}
