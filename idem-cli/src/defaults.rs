//! What the surroundings say where the command line says nothing: the environment, `.env` and `diesel.toml`, as the
//! `diesel` command reads them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::args::Backend;
use crate::error::Error;

/// A variable of the environment, else of the nearest `.env` upwards. An empty one counts as none.
fn variable(name: &str) -> Result<Option<String>, Error> {
    if let Ok(value) = env::var(name) {
        return Ok(Some(value).filter(|value| !value.is_empty()));
    }
    let file = match dotenvy::dotenv_iter() {
        Ok(file) => file,
        Err(error) if error.not_found() => return Ok(None),
        Err(error) => return Err(Error::Env(error)),
    };
    let mut found = None;
    for pair in file {
        let (other, value) = pair.map_err(Error::Env)?;
        // The first one counts.
        if other == name && found.is_none() {
            found = Some(value);
        }
    }
    Ok(found.filter(|value| !value.is_empty()))
}

/// The database that is given, or that DATABASE_URL names.
pub(crate) fn database_url(given: Option<String>) -> Result<String, Error> {
    if let Some(url) = given {
        return Ok(url);
    }
    let none = "no database: say --database-url, or set DATABASE_URL";
    variable("DATABASE_URL")?.ok_or_else(|| Error::Usage(none.to_owned()))
}

/// The backend that is given, or that of DATABASE_URL.
pub(crate) fn backend(given: Option<Backend>) -> Result<Backend, Error> {
    if let Some(backend) = given {
        return Ok(backend);
    }
    let none = "no backend: say --backend postgres, mysql or sqlite, or set DATABASE_URL";
    match variable("DATABASE_URL")? {
        Some(url) => backend_of(&url),
        None => Err(Error::Usage(none.to_owned())),
    }
}

/// As diesel tells them apart: what has no scheme is a file.
pub(crate) fn backend_of(url: &str) -> Result<Backend, Error> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => Ok(Backend::Postgres),
        Some("mysql") => Ok(Backend::Mysql),
        Some("sqlite" | "file") => Ok(Backend::Sqlite),
        _ if !url.contains("://") => Ok(Backend::Sqlite),
        // The rest of it may be a password.
        scheme => Err(Error::Usage(format!(
            "no backend for a database URL that begins with {:?}: there are postgres, mysql and sqlite",
            scheme.unwrap_or_default()
        ))),
    }
}

#[derive(Default, Deserialize)]
struct Config {
    migrations_directory: Option<Directory>,
}

#[derive(Deserialize)]
struct Directory {
    dir: Option<PathBuf>,
}

/// The directory of migrations that is given, or that the surroundings name.
pub(crate) fn migrations(given: Option<PathBuf>) -> Result<PathBuf, Error> {
    if let Some(dir) = given {
        return Ok(dir);
    }
    if let Some(dir) = variable("MIGRATION_DIRECTORY")? {
        return Ok(dir.into());
    }
    let configured = match config_file()? {
        Some(path) => configured(&path)?,
        None => None,
    };
    Ok(configured.unwrap_or_else(|| "migrations".into()))
}

/// Relative to the file that says it.
fn configured(path: &Path) -> Result<Option<PathBuf>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    let config: Config = toml::from_str(&text).map_err(|source| Error::Config {
        path: path.to_owned(),
        source,
    })?;
    let dir = config
        .migrations_directory
        .and_then(|directory| directory.dir);
    Ok(dir.map(|dir| path.parent().unwrap_or(Path::new("")).join(dir)))
}

/// The nearest `diesel.toml` upwards, or the one that DIESEL_CONFIG_FILE names.
fn config_file() -> Result<Option<PathBuf>, Error> {
    if let Some(path) = variable("DIESEL_CONFIG_FILE")? {
        return Ok(Some(path.into()));
    }
    let name = Path::new("diesel.toml");
    if name.is_file() {
        return Ok(Some(name.to_owned()));
    }
    let here = env::current_dir().map_err(|source| Error::File {
        path: ".".into(),
        source,
    })?;
    let above = here.ancestors().skip(1).map(|dir| dir.join(name));
    Ok(above.into_iter().find(|path| path.is_file()))
}
