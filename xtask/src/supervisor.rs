//! A server process that ends when we do, in whatever way. Knows nothing of what it serves.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::Outcome;
use crate::place::Place;

/// Runs the server and cleans up after it. Our end of its standard input closes when we stop for whatever reason
/// (also SIGKILL), and that is its sign to kill the server.
const SUPERVISOR: &str = r#"
data=$1; signal=$2; shift 2
trap '' INT TERM HUP
exec 3<&0
"$@" 3<&- &
server=$!
(cat <&3 >/dev/null; kill -"$signal" "$server" 2>/dev/null) &
wait "$server"
rm -rf "$data"
"#;

/// Starts the program as the place's user; its words go into the place's log. `signal` ends it: a shell has a
/// program ignore INT and QUIT that does not handle them. `data` goes when the server does.
pub(crate) fn supervise(
    place: &Place,
    data: &Path,
    signal: &str,
    program: &Path,
    arguments: &[OsString],
) -> Outcome<Child> {
    let log = fs::File::create(place.log())?;
    let child = place
        .command(Path::new("/bin/sh"))
        .args(["-c", SUPERVISOR, "sh"])
        .arg(data)
        .arg(signal)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .map_err(|error| format!("cannot start /bin/sh: {error}"))?;
    Ok(child)
}
