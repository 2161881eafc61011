//! The log of one operation's finished steps, and the rule by which a run has to follow it.
//!
//! Pure values.

use std::collections::VecDeque;

use super::StepError;
use super::line::{DamagedLine, Finished, StepLine, lines};

/// What a run has been told so far.
#[derive(Default)]
pub(crate) struct Log {
    /// Finished by an earlier run, and not yet asked for by this one.
    ahead: VecDeque<Finished>,
    /// Finished, and asked for.
    behind: Vec<String>,
    running: Option<String>,
    /// Begun by this run, and left unfinished.
    failed: Option<String>,
    /// The bytes of all that is finished, whatever a seal makes of them.
    size: usize,
}

/// What a run that asks for a step is told.
#[derive(Debug)]
pub(crate) enum Asked {
    Finished(String),
    New,
}

impl Log {
    /// That of an earlier run, whose lines are opened so.
    pub(crate) fn read<E: From<DamagedLine>>(
        text: &str,
        mut open: impl FnMut(StepLine) -> Result<Finished, E>,
    ) -> Result<Self, E> {
        let ahead = lines(text).map(|line| open(line?));
        let ahead = ahead.collect::<Result<VecDeque<_>, E>>()?;
        Ok(Self {
            size: ahead.iter().map(Finished::size).sum(),
            ahead,
            ..Self::default()
        })
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

    /// How large this step would make it.
    pub(super) fn size_with(&self, finished: &Finished) -> usize {
        self.size + finished.size()
    }

    /// The running step, of this size, is finished; its name.
    pub(super) fn finish(&mut self, size: usize) -> Option<&str> {
        let step = self.running.take()?;
        self.size += size;
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
        let line = |name: &&str| StepLine::of(Finished::new(name, &name.len()).unwrap()).text();
        let lines: String = names.iter().map(line).map(Result::unwrap).collect();
        Log::read(&lines, |line| Ok::<_, DamagedLine>(line.plain().unwrap())).unwrap()
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
        log.finish(0);
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
        log.finish(4);
        assert!(!log.is_empty());
        assert!(matches!(log.ask("charge"), Ok(Asked::New)));
    }
}
