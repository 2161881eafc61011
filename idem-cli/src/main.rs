//! The `idem` command: reads the command line, has the work done, and ends with the exit code that says how it went.
//!
//! Nothing here touches a file or a table.

mod args;
mod audit;
mod catalog;
mod change;
mod check;
mod confirm;
mod database;
mod defaults;
mod doctor;
mod error;
mod generate;
mod keys;
mod migration;
mod outbox;
mod output;
mod prune;
mod signals;
mod verdict;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::args::{Args, Backend, Command, Keys, Migration, OnDatabase, Outbox, Target};
use crate::catalog::Catalog;
use crate::error::Error;

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(stderr(), "idem: {error}");
            error.code()
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Error> {
    let command = match command {
        Command::Migration(Migration::Generate(wanted)) => return migration::generate(wanted),
        Command::Check(asked) => return runtime()?.block_on(check::check(*asked)),
        Command::Database(command) => command,
    };
    let url = defaults::database_url(target(&command).database_url.clone())?;
    runtime()?.block_on(async {
        match defaults::backend_of(&url)? {
            Backend::Postgres => work(&mut database::postgres(&url).await?, command).await,
            Backend::Mysql => work(&mut database::mysql(&url).await?, command).await,
            Backend::Sqlite => work(&mut database::sqlite(&url).await?, command).await,
        }
    })
}

fn runtime() -> Result<Runtime, Error> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(Error::Runtime)
}

fn target(command: &OnDatabase) -> &Target {
    match command {
        OnDatabase::Doctor(asked) => &asked.target,
        OnDatabase::Keys(Keys::List(asked)) => &asked.target,
        OnDatabase::Keys(Keys::Show(asked)) => &asked.target,
        OnDatabase::Keys(Keys::Release(asked)) => &asked.target,
        OnDatabase::Keys(Keys::Settle(asked)) => &asked.target,
        OnDatabase::Prune(asked) => &asked.target,
        OnDatabase::Outbox(Outbox::List(asked)) => &asked.target,
        OnDatabase::Outbox(Outbox::Retry(asked) | Outbox::Drop(asked)) => &asked.target,
    }
}

async fn work<C: Catalog>(conn: &mut C, command: OnDatabase) -> Result<ExitCode, Error> {
    match command {
        OnDatabase::Doctor(asked) => return doctor::examine(conn, &asked).await,
        OnDatabase::Keys(Keys::List(asked)) => keys::list(conn, &asked).await?,
        OnDatabase::Keys(Keys::Show(asked)) => keys::show(conn, &asked).await?,
        OnDatabase::Keys(Keys::Release(asked)) => verdict::release(conn, asked).await?,
        OnDatabase::Keys(Keys::Settle(asked)) => verdict::settle(conn, asked).await?,
        OnDatabase::Prune(asked) => prune::prune(conn, asked).await?,
        OnDatabase::Outbox(Outbox::List(asked)) => outbox::list(conn, &asked).await?,
        OnDatabase::Outbox(Outbox::Retry(asked)) => outbox::retry(conn, asked).await?,
        OnDatabase::Outbox(Outbox::Drop(asked)) => outbox::drop(conn, asked).await?,
    }
    Ok(ExitCode::SUCCESS)
}
