//! The command line of `idem check`. Nothing here acts on it.

use std::path::PathBuf;
use std::time::Duration;

/// What to check, with which requests, against what.
///
/// Texts of headers and of the URL are read behind clap, which would print a wrong one in full.
#[derive(Debug, clap::Args)]
pub(crate) struct Asked {
    /// The endpoint, `http://..` or `https://..`.
    pub(crate) url: String,
    /// `draft`: what the IETF draft of the Idempotency-Key header says. `strict`: the whole contract of
    /// idem-runtime. Else the file (TOML) that says how a server differs from one of them, and documents it.
    #[arg(long, value_name = "PROFILE", default_value = "strict")]
    pub(crate) profile: String,
    /// The method of the requests.
    #[arg(long, default_value = "POST")]
    pub(crate) method: String,
    /// A header of every request, `name: value`, or `@FILE` with one in each line; any number of them. What it says is
    /// never printed. Others on this machine can read what stands on a command line, and not a file that is yours.
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// A header that makes the same request another client's, such as its `Authorization`; instead of the
    /// `--header` of that name. Any number of them, or `@FILE`.
    #[arg(long, value_name = "HEADER")]
    pub(crate) other_header: Vec<String>,
    /// The body of a request that succeeds: the text itself, `@FILE`, or `-` for standard input.
    #[arg(long, value_name = "BODY", allow_hyphen_values = true)]
    pub(crate) body: Option<String>,
    /// Another body that succeeds as well.
    #[arg(long, value_name = "BODY")]
    pub(crate) other_body: Option<String>,
    /// A body that the server takes some seconds for, and that succeeds.
    #[arg(long, value_name = "BODY")]
    pub(crate) slow_body: Option<String>,
    /// A body that the server answers with a 5xx.
    #[arg(long, value_name = "BODY")]
    pub(crate) failing_body: Option<String>,
    /// The media type of the bodies.
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    pub(crate) content_type: String,
    /// Where the server says in JSON how many effects there are. Nobody else may cause some meanwhile.
    #[arg(long, value_name = "URL")]
    pub(crate) count: Option<String>,
    /// Where in that JSON (RFC 6901): a number, or what has as many entries.
    #[arg(
        long,
        value_name = "POINTER",
        default_value = "",
        hide_default_value = true,
        requires = "count"
    )]
    pub(crate) count_pointer: String,
    /// How long one answer may take.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Checks that have to be made in full, or `all`: where one is skipped, or only answers are seen, the server could
    /// not be checked.
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub(crate) require: Vec<String>,
    /// Write the outcomes into this file too, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Show where two answers differ, which may be somebody's data.
    #[arg(long)]
    pub(crate) show_bodies: bool,
    /// Do not ask. Without a terminal this is the only way.
    #[arg(long)]
    pub(crate) yes: bool,
}
