//! Asking before something is changed, here or elsewhere.

use std::io::{IsTerminal, Write, stderr, stdin};

use crate::args::Changing;
use crate::error::Error;
use crate::output::printable;

/// Goes on only if a person says so, or has said so on the command line.
pub(crate) fn confirm(changing: &Changing, question: &str) -> Result<(), Error> {
    ask(changing.yes, question)
}

/// The same where there is no database to change.
pub(crate) fn ask(is_said: bool, question: &str) -> Result<(), Error> {
    if is_said {
        return Ok(());
    }
    if !(stdin().is_terminal() && stderr().is_terminal()) {
        return Err(Error::Refused(
            "nothing was done: there is no terminal to ask on; say --yes".to_owned(),
        ));
    }
    let _ = write!(stderr(), "{} [y/N] ", printable(question));
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" | "yes" if read.is_ok() => Ok(()),
        _ => Err(Error::Refused("nothing was done".to_owned())),
    }
}
