//! Connections: how many an operation needs at once, that its lease needs none of the pool's, and that the isolation of
//! their sessions does not matter.

use std::time::Duration;

use actix_web::test::{call_service, init_service};
use actix_web::web;
use idem_runtime::Idempotency;
use tokio::time::{sleep, timeout};

use super::{Kind, Postgres, Shared, Told, app, each, send, statuses};
use crate::open::{Answer, attempt, identified, marks};

each! {
    one_connection_is_enough,
    a_lease_is_outlived_while_the_pool_is_used_up,
}

async fn pools<K: Kind>(database: &idem_tests::Database) -> [Shared<K>; 2] {
    [K::bb8(database, 1).await, K::deadpool(database, 1)]
}

async fn one_connection_is_enough<K: Kind>() {
    let database = K::database().await;
    for (index, pool) in pools::<K>(&database).await.into_iter().enumerate() {
        let told = web::Data::<Told>::default();
        let again = || attempt("/steps/small", &format!("k{index}"));
        let settings = identified(Idempotency::builder(pool));
        let asked = send(settings, &told, vec![again(), again()]);
        let answers = timeout(Duration::from_secs(4), asked).await;
        let answers = answers.expect("sooner than the pool's time-out");
        assert_eq!(statuses(&answers), [201, 201], "{}", answers[0].body);
        assert!(answers[1].replayed());
    }
    assert_eq!(marks(&database, "small").await, 2);
    database.discard().await;
}

/// Both pools make the connection on which leases are renewed outside of their number.
async fn a_lease_is_outlived_while_the_pool_is_used_up<K: Kind>() {
    let database = K::database().await;
    for (index, pool) in pools::<K>(&database).await.into_iter().enumerate() {
        let told = web::Data::<Told>::default();
        let settings = identified(Idempotency::builder(pool.clone()));
        let app = init_service(app(&settings.build().unwrap(), &told)).await;
        let ask = async || {
            let request = attempt("/long", &format!("k{index}")).to_request();
            Answer::of(call_service(&app, request).await).await
        };
        let beside = async {
            while told.runs() == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            use idem_runtime::pool::ConnectionPool;
            let taken = pool.lend().await.unwrap();
            sleep(Duration::from_millis(1500)).await;
            drop(taken);
            ask().await
        };
        let (first, duplicate) = futures_util::join!(ask(), beside);
        assert_eq!(duplicate.status.as_u16(), 409);
        assert_eq!(duplicate.code(), "idempotency-in-flight");
        assert_eq!(first.status.as_u16(), 201, "{}", first.body);
        assert_eq!((told.runs(), database.pending().await), (1, 0));
    }
    database.discard().await;
}

/// Each statement is about one row, and yet under such a level PostgreSQL refuses some of those that run side by side.
#[actix_web::test]
async fn the_databases_own_isolation_cancelled_handlers() {
    for level in ["repeatable read", "serializable"] {
        let database = Postgres::database().await;
        let name = database.text("SELECT current_database()").await.unwrap();
        let set = format!("ALTER DATABASE {name} SET default_transaction_isolation = '{level}'");
        database.execute(&set).await;
        let told = web::Data::<Told>::default();
        let pool = Postgres::bb8(&database, 3).await;
        let settings = identified(Idempotency::builder(pool)).pool_timeout(Duration::from_secs(60));
        let app = init_service(app(&settings.build().unwrap(), &told)).await;
        let burst = (0..60).map(async |key| {
            let request = attempt("/steps/small", &format!("k{key}")).to_request();
            Answer::of(call_service(&app, request).await).await
        });
        let answers = futures_util::future::join_all(burst).await;
        for answer in &answers {
            assert_eq!(answer.status.as_u16(), 201, "{level}: {}", answer.body);
        }
        assert_eq!(marks(&database, "small").await, 60, "{level}");
        assert_eq!(
            (database.records().await, database.pending().await),
            (60, 0)
        );
        database.discard().await;
    }
}
