//! What one test gets: a database of its own and the test application to run against it; and the macro that stamps a
//! case per backend.

use std::path::PathBuf;

use crate::{App, Backend, Database, Launch, Proxy};

/// A database of this test's own and the program to run against it.
pub struct Stage {
    /// Dropped when the test succeeds, kept when it fails.
    pub database: Database,
    testapp: PathBuf,
}

impl Stage {
    /// `testapp` is `env!("CARGO_BIN_EXE_idem-testapp")`, which only an integration test can say.
    pub async fn fresh(backend: Backend, testapp: &str) -> Self {
        Self {
            database: Database::fresh(backend).await,
            testapp: testapp.into(),
        }
    }

    /// Which database this is.
    pub fn backend(&self) -> Backend {
        self.database.backend()
    }

    /// The application, not yet running, to be given options.
    pub fn app(&self) -> Launch {
        Launch::of(&self.testapp, self.database.url())
    }

    /// The application, running, with a pool of four and two workers.
    pub async fn start(&self) -> App {
        self.app().start().await
    }

    /// The application with a pool of one behind a proxy (PostgreSQL only).
    pub async fn start_behind_proxy(&self) -> (App, Proxy) {
        let proxy = Proxy::to(&self.database).await;
        let app = self.app().pool(1).database_url(proxy.url()).start().await;
        (app, proxy)
    }

    /// The test succeeded.
    pub async fn discard(self) {
        self.database.discard().await;
    }
}

/// Stamps each `async fn(&Stage)` as a test on every backend: `on_both! { same_key_twice, other_body }`.
#[macro_export]
macro_rules! on_both {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres Postgres $($case)+ }
        $crate::__stamp! { mysql Mysql $($case)+ }
        $crate::__stamp! { sqlite Sqlite $($case)+ }
    };
}

/// [`on_both!`] for what can only happen where the database is a server.
#[macro_export]
macro_rules! on_servers {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_server Postgres $($case)+ }
        $crate::__stamp! { mysql_server Mysql $($case)+ }
    };
}

/// [`on_both!`] for what can only happen on PostgreSQL.
#[macro_export]
macro_rules! on_postgres {
    ($($case:ident),+ $(,)?) => { $crate::__stamp! { postgres_only Postgres $($case)+ } };
}

/// [`on_both!`] for what can only happen on SQLite.
#[macro_export]
macro_rules! on_sqlite {
    ($($case:ident),+ $(,)?) => { $crate::__stamp! { sqlite_only Sqlite $($case)+ } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp {
    ($module:ident $backend:ident $($case:ident)+) => {
        mod $module {
            $(
                #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let program = ::core::env!("CARGO_BIN_EXE_idem-testapp");
                    let stage = $crate::Stage::fresh($crate::Backend::$backend, program).await;
                    let patience = ::core::time::Duration::from_secs(120);
                    if ::tokio::time::timeout(patience, super::$case(&stage)).await.is_err() {
                        ::core::panic!("still not over after {patience:?}");
                    }
                    stage.discard().await;
                }
            )+
        }
    };
}
