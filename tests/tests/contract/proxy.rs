//! The proxy that other cases look through knows when an answer is over.

use diesel::QueryResult;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_tests::{Backend, Cut, Proxy, Stage, on_servers};

on_servers! {
    cut_behind_many_answers,
    cut_behind_an_error,
    messages_of_the_longest_frame_and_beyond,
}

/// What one frame of MySQL's holds; whatever is as long has another one behind it.
const FRAME: usize = (1 << 24) - 1;

async fn cut_behind_many_answers(stage: &Stage) {
    let sleep = match stage.backend() {
        Backend::Mysql => "SELECT sleep(0.3)",
        _ => "SELECT pg_sleep(0.3)",
    };
    let batch = format!("SELECT 1, 2; SELECT number FROM done; {sleep}; {DONE}");
    assert_done(stage, &batch).await;
}

async fn cut_behind_an_error(stage: &Stage) {
    let proxy = table(stage).await;
    proxy.cut(Cut::After("SELECT 1".into()));
    let batch = format!("{DONE}; SELECT 1; SELECT number FROM nowhere; {DONE}");
    assert!(run(stage, &proxy, &batch).await.is_err());
    assert!(!proxy.is_cut_pending());
}

async fn messages_of_the_longest_frame_and_beyond(stage: &Stage) {
    for over in [0, 1] {
        stage.database.execute("DROP TABLE IF EXISTS done").await;
        // A row has four bytes in front, a query one.
        let rows = format!("SELECT repeat('x', {})", FRAME - 4 + over);
        let rest = format!("; {rows}; {DONE}");
        let filling = "x".repeat(FRAME - 1 - "SELECT length('')".len() - rest.len());
        assert_done(stage, &format!("SELECT length('{filling}'){rest}")).await;
    }
}

const DONE: &str = "INSERT INTO done VALUES (1)";

async fn table(stage: &Stage) -> Proxy {
    stage
        .database
        .execute("CREATE TABLE done (number BIGINT)")
        .await;
    Proxy::to(&stage.database).await
}

/// This batch marks its end twice: the second time it is cut off behind it, not before.
async fn assert_done(stage: &Stage, batch: &str) {
    let proxy = table(stage).await;
    run(stage, &proxy, batch).await.unwrap();
    let done = "SELECT count(*) FROM done";
    assert_eq!(stage.database.number(done).await, 1);
    proxy.cut(Cut::After(DONE.into()));
    assert!(run(stage, &proxy, batch).await.is_err(), "not cut");
    assert_eq!(stage.database.number(done).await, 2);
}

async fn run(stage: &Stage, proxy: &Proxy, batch: &str) -> QueryResult<()> {
    let url = proxy.url();
    match stage.backend() {
        Backend::Mysql => {
            let mut connection = AsyncMysqlConnection::establish(url).await.unwrap();
            connection.batch_execute(batch).await
        }
        _ => {
            let mut connection = AsyncPgConnection::establish(url).await.unwrap();
            connection.batch_execute(batch).await
        }
    }
}
