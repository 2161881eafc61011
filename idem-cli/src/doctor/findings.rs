//! What a check has found: a verdict, a sentence, and what to do.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    /// It works, and somebody should look into it.
    Warning,
    /// Something does not work, or is lost.
    Failure,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    pub(super) to_do: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &str, says: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, says.into(), None)
    }

    pub(super) fn warning(check: &str, says: impl Into<String>, to_do: &str) -> Self {
        Self::new(check, Verdict::Warning, says.into(), Some(to_do))
    }

    pub(super) fn failure(check: &str, says: impl Into<String>, to_do: &str) -> Self {
        Self::new(check, Verdict::Failure, says.into(), Some(to_do))
    }

    fn new(check: &str, verdict: Verdict, says: String, to_do: Option<&str>) -> Self {
        Self {
            check: check.to_owned(),
            verdict,
            says,
            to_do: to_do.map(str::to_owned),
        }
    }
}
