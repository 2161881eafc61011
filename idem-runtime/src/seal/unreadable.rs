//! Why something stored cannot be read, and what that means for whoever asks for it.
//!
//! Values only.

use super::SealError;
use crate::lease::DamagedLine;
use crate::problem::Problem;
use crate::response::DamagedResponse;

/// Why something stored cannot be read here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("it is sealed under key {0}, and this process has no seal")]
    NoSeal(u32),
    #[cfg(not(feature = "zstd"))]
    #[error("it is compressed, and this process is built without the feature `zstd`")]
    NoCompression,
    #[error("it is packed in a way that this version does not know")]
    Unknown,
    #[error("it says that it is {0} bytes long, which nothing here may be")]
    TooLarge(usize),
    #[cfg(feature = "zstd")]
    #[error("what is compressed is damaged")]
    Compressed(#[source] std::io::Error),
    #[error("it is not as long as it says")]
    Length,
    #[error("what is stored is damaged")]
    Inside,
    #[error(transparent)]
    Line(#[from] DamagedLine),
    #[error(transparent)]
    Response(#[from] DamagedResponse),
}

impl Unreadable {
    /// For the label `reason`.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Seal(SealError::UnknownKey(_)) | Self::NoSeal(_) => "key",
            Self::Seal(SealError::Unverified) => "seal",
            Self::Seal(SealError::Failed(_)) => "failed",
            #[cfg(not(feature = "zstd"))]
            Self::NoCompression => "version",
            // Another program has other limits.
            Self::Unknown | Self::TooLarge(_) => "version",
            _ => "damaged",
        }
    }

    /// Whether another process, or this one at another time, may read it.
    pub(crate) fn is_of_the_process(&self) -> bool {
        matches!(self.reason(), "key" | "failed" | "version")
    }

    /// The answer where it is a record.
    pub(crate) fn problem(&self) -> Problem {
        self.problem_or(Problem::record_unreadable)
    }

    /// The answer: what is said of it, unless another process may read it.
    pub(crate) fn problem_or(&self, said: fn() -> Problem) -> Problem {
        match self.is_of_the_process() {
            true => Problem::store_unavailable(),
            false => said(),
        }
    }
}
