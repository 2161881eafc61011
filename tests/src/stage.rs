//! What one test gets: a database of its own and the test application to run against it; and the macro that stamps a
//! case per backend.

use std::path::PathBuf;

use crate::{App, Backend, Database, Launch, Proxy};

/// A database of this test's own and the program to run against it.
pub struct Stage {
    /// Dropped when the test succeeds, kept when it fails.
    pub database: Database,
    style: Style,
    testapp: PathBuf,
}

/// How the handlers of the test application are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `async fn`, on connections of diesel-async.
    Asynchronous,
    /// `fn`, on connections of diesel itself.
    Blocking,
}

impl Stage {
    /// `testapp` is `env!("CARGO_BIN_EXE_idem-testapp")`, which only an integration test can say.
    pub async fn fresh(backend: Backend, testapp: &str) -> Self {
        Self::in_style(Style::Asynchronous, backend, testapp).await
    }

    /// The same, with handlers in this style.
    pub async fn in_style(style: Style, backend: Backend, testapp: &str) -> Self {
        Self {
            database: Database::fresh(backend).await,
            style,
            testapp: testapp.into(),
        }
    }

    /// On all of these nodes, which are one cluster.
    pub async fn of_nodes(nodes: &[String], testapp: &str) -> Self {
        Self {
            database: Database::of_nodes(nodes).await,
            style: Style::Asynchronous,
            testapp: testapp.into(),
        }
    }

    /// The application at one of several nodes, running.
    pub async fn start_at(&self, node: usize) -> App {
        let url = self.database.url_at(node);
        self.app().database_url(url).start().await
    }

    /// Which database this is.
    pub fn backend(&self) -> Backend {
        self.database.backend()
    }

    /// How its handlers are written.
    pub fn style(&self) -> Style {
        self.style
    }

    /// The application, not yet running, to be given options.
    pub fn app(&self) -> Launch {
        let launch = Launch::of(&self.testapp, self.database.url());
        match self.style {
            Style::Asynchronous => launch,
            Style::Blocking => launch.argument("--style").argument("blocking"),
        }
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

/// Stamps each `async fn(&Stage)` as a test on every backend: `on_all! { same_key_twice, other_body }`. The handlers are
/// `async`; where it does not matter, [`in_both_styles!`](crate::in_both_styles).
#[macro_export]
macro_rules! on_all {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres Postgres Asynchronous $($case)+ }
        $crate::__stamp! { mysql Mysql Asynchronous $($case)+ }
        $crate::__stamp! { sqlite Sqlite Asynchronous $($case)+ }
    };
}

/// [`on_all!`] for what can only happen where the database is a server.
#[macro_export]
macro_rules! on_servers {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_server Postgres Asynchronous $($case)+ }
        $crate::__stamp! { mysql_server Mysql Asynchronous $($case)+ }
    };
}

/// [`on_all!`] for what can only happen on PostgreSQL.
#[macro_export]
macro_rules! on_postgres {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_only Postgres Asynchronous $($case)+ }
    };
}

/// [`on_all!`] for what can only happen on SQLite.
#[macro_export]
macro_rules! on_sqlite {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { sqlite_only Sqlite Asynchronous $($case)+ }
    };
}

/// Stamps each case on every backend, with handlers in every style.
#[macro_export]
macro_rules! in_both_styles {
    ($($case:ident),+ $(,)?) => {
        $crate::on_all! { $($case),+ }
        $crate::blocking! { $($case),+ }
    };
}

/// [`in_both_styles!`](crate::in_both_styles) for what can only happen on PostgreSQL.
#[macro_export]
macro_rules! in_both_styles_on_postgres {
    ($($case:ident),+ $(,)?) => {
        $crate::on_postgres! { $($case),+ }
        $crate::__stamp! { postgres_only_blocking Postgres Blocking $($case)+ }
    };
}

/// [`in_both_styles!`](crate::in_both_styles) for what can only happen where the database is a server.
#[macro_export]
macro_rules! in_both_styles_on_servers {
    ($($case:ident),+ $(,)?) => {
        $crate::on_servers! { $($case),+ }
        $crate::__stamp! { postgres_server_blocking Postgres Blocking $($case)+ }
        #[cfg(feature = "mysql-blocking")]
        $crate::__stamp! { mysql_server_blocking Mysql Blocking $($case)+ }
    };
}

/// [`in_both_styles!`](crate::in_both_styles) for what can only happen on SQLite.
#[macro_export]
macro_rules! in_both_styles_on_sqlite {
    ($($case:ident),+ $(,)?) => {
        $crate::on_sqlite! { $($case),+ }
        $crate::__stamp! { sqlite_only_blocking Sqlite Blocking $($case)+ }
    };
}

/// Stamps what cannot be so where handlers block, beside [`in_both_styles!`](crate::in_both_styles).
#[macro_export]
macro_rules! asynchronous {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_asynchronous Postgres Asynchronous $($case)+ }
        $crate::__stamp! { mysql_asynchronous Mysql Asynchronous $($case)+ }
        $crate::__stamp! { sqlite_asynchronous Sqlite Asynchronous $($case)+ }
    };
}

/// Stamps what is so only where handlers block: on MySQL with the feature that links its library.
#[macro_export]
macro_rules! blocking {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_blocking Postgres Blocking $($case)+ }
        #[cfg(feature = "mysql-blocking")]
        $crate::__stamp! { mysql_blocking Mysql Blocking $($case)+ }
        $crate::__stamp! { sqlite_blocking Sqlite Blocking $($case)+ }
    };
}

/// [`blocking!`] for what can only happen on PostgreSQL.
#[macro_export]
macro_rules! blocking_on_postgres {
    ($($case:ident),+ $(,)?) => {
        $crate::__stamp! { postgres_only_blocking Postgres Blocking $($case)+ }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp {
    ($module:ident $backend:ident $style:ident $($case:ident)+) => {
        mod $module {
            $(
                #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let program = ::core::env!("CARGO_BIN_EXE_idem-testapp");
                    let (style, backend) = ($crate::Style::$style, $crate::Backend::$backend);
                    let stage = $crate::Stage::in_style(style, backend, program).await;
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
