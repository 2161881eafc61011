//! Which features are built: all of them, but for those whose library is not here and cannot be had.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::Outcome;
use crate::binaries::offer_mysql_client;
use crate::process::{build, cargo, metadata};

/// The one that wants a library of the system's.
pub(crate) const MYSQL_BLOCKING: &str = "mysql-blocking";

static IS_COMPLETE: LazyLock<bool> = LazyLock::new(|| {
    let is_there = offer_mysql_client();
    if !is_there {
        println!(
            "xtask: no libmariadb or libmysqlclient found: the feature `{MYSQL_BLOCKING}` is NOT built, and blocking \
             handlers on MySQL are NOT tested. Install it:  sudo apt-get install -y libmariadb-dev pkg-config  \
             (or set MYSQLCLIENT_LIB_DIR and MYSQLCLIENT_VERSION)"
        );
    }
    is_there
});

/// Whether these features of one package can be built here.
pub(crate) fn can_be_built(features: &str) -> bool {
    !features.split(',').any(|feature| feature == MYSQL_BLOCKING) || *IS_COMPLETE
}

/// What cargo is told so that it builds all that can be built here, of these packages or of all of the workspace.
pub(crate) fn flags(packages: Option<&[&str]>) -> Outcome<Vec<String>> {
    if *IS_COMPLETE {
        return Ok(vec!["--all-features".to_owned()]);
    }
    let features = all_but_one(&metadata(&["--no-deps"])?, packages);
    Ok(vec!["--features".to_owned(), features.join(",")])
}

/// Builds the test application with all that it can have here.
pub(crate) fn test_application() -> Outcome<Command> {
    let mut command = build("idem-tests", "idem-testapp");
    command.args(flags(Some(&["idem-tests"]))?);
    Ok(command)
}

/// Runs one of the files in `tests/tests`, with all that it can have here.
pub(crate) fn tests(binary: &str) -> Outcome<Command> {
    let mut command = cargo(["test", "-p", "idem-tests", "--test", binary]);
    command.args(flags(Some(&["idem-tests"]))?);
    Ok(command)
}

fn all_but_one(metadata: &Value, packages: Option<&[&str]>) -> Vec<String> {
    let members = metadata["packages"].as_array();
    let mut features = Vec::new();
    for member in members.map_or(&[][..], Vec::as_slice) {
        let name = member["name"].as_str().unwrap_or_default();
        if packages.is_some_and(|packages| !packages.contains(&name)) {
            continue;
        }
        let names = member["features"]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys());
        let names = names.filter(|feature| *feature != MYSQL_BLOCKING);
        features.extend(names.map(|feature| format!("{name}/{feature}")));
    }
    features
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_features_but_the_one() {
        let metadata = json!({ "packages": [
            { "name": "a", "features": { "default": [], "mysql": [], "mysql-blocking": ["mysql"] } },
            { "name": "b", "features": { "mysql-blocking": [], "more": [] } },
            { "name": "c", "features": {} },
        ] });
        assert_eq!(
            all_but_one(&metadata, None),
            ["a/default", "a/mysql", "b/more"]
        );
        assert_eq!(all_but_one(&metadata, Some(&["b", "c"])), ["b/more"]);
    }
}
