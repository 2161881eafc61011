//! Endpoints in transaction mode, with handlers that block.

macro_rules! stamp {
    ($name:ident $backend:ident $connection:ty, $customizer:expr) => {
        mod $name {
            use actix_web::error::ErrorInternalServerError;
            use actix_web::test::init_service;
            use actix_web::{App, HttpResponse, post, web};
            use diesel::RunQueryDsl;
            use diesel::r2d2::{ConnectionManager, Pool};
            use idem_runtime::{Idempotency, idempotent};
            use idem_tests::Backend;

            use crate::open::{self, identified};
            use crate::proofs::{MARK, Order, assert_proven, created, proof};

            #[post("/orders")]
            #[idempotent]
            fn plain(
                order: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                let mark = diesel::sql_query(MARK).execute(conn);
                mark.map_err(ErrorInternalServerError)?;
                Ok(created(&order))
            }

            #[actix_web::test]
            async fn an_endpoint_is_proven_with_a_pool_of_four_and_of_one() {
                for connections in [4, 1] {
                    let database = open::database(Backend::$backend).await;
                    let pool = Pool::builder()
                        .max_size(connections)
                        .connection_customizer($customizer);
                    let manager = ConnectionManager::<$connection>::new(open::address(&database));
                    let pool = pool.build(manager).unwrap();
                    let idempotency = identified(Idempotency::builder(pool)).build().unwrap();
                    let app = App::new()
                        .app_data(web::Data::new(idempotency))
                        .service(plain);
                    let app = init_service(app).await;
                    let report = proof(&database, "/orders").check(&app).await;
                    assert_proven(&report);
                    database.discard().await;
                }
            }
        }
    };
}

pub(crate) use stamp;
