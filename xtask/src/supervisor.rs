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

/// The same for a server that is to be killed: whatever ends it, it is started again. Who it is stands in a file, and is
/// found anew each time, since it is another process each time.
const REVIVER: &str = r#"
data=$1; signal=$2; pid=$3; shift 3
trap '' INT TERM HUP
exec 3<&0
(
    cat <&3 >/dev/null
    : >"$data.over"
    while [ -d "$data" ]; do
        kill -"$signal" "$(head -n 1 "$data/$pid")"
        sleep 0.2
    done
) 2>/dev/null &
"$@" 3<&-
while [ -e "$data.ready" ] && [ ! -e "$data.over" ]; do
    sleep 0.1
    "$@" 3<&-
done
rm -rf "$data"
"#;

/// How long a server lives.
#[derive(Clone, Copy)]
pub(crate) enum Life {
    /// Until it ends, or we do; then this signal ends it. A shell has a program ignore INT and QUIT that does not handle
    /// them.
    Once(&'static str),
    /// It is started again whatever ends it, until we end; then this signal ends it. The first line of this file among
    /// its data says who it is. `data.ready` beside them says that an end is one that somebody wanted.
    Revived {
        signal: &'static str,
        pid_file: &'static str,
    },
}

/// Starts the program as the place's user; its words go into the place's log. `data` goes when the server does.
pub(crate) fn supervise(
    place: &Place,
    data: &Path,
    life: Life,
    program: &Path,
    arguments: &[OsString],
) -> Outcome<Child> {
    let log = fs::File::create(place.log())?;
    let mut command = place.command(Path::new("/bin/sh"));
    match life {
        Life::Once(signal) => command.args(["-c", SUPERVISOR, "sh"]).arg(data).arg(signal),
        Life::Revived { signal, pid_file } => command
            .args(["-c", REVIVER, "sh"])
            .arg(data)
            .args([signal, pid_file]),
    };
    let child = command
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .map_err(|error| format!("cannot start /bin/sh: {error}"))?;
    Ok(child)
}
