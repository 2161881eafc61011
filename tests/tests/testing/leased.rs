//! Endpoints in lease mode: with their work in a step, and with it outside of any.

use std::time::Duration;

use idem_runtime::testing::{Proof, Rule, Verdict};

/// The work was not done, or the step not remembered.
#[derive(Debug)]
pub(crate) struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl actix_web::ResponseError for Failed {}

impl From<diesel::result::Error> for Failed {
    fn from(_: diesel::result::Error) -> Self {
        Self
    }
}

impl From<idem_runtime::StepError> for Failed {
    fn from(_: idem_runtime::StepError) -> Self {
        Self
    }
}

/// With a run that outlives its lease of one second.
pub(crate) fn late(proof: Proof<'_>) -> Proof<'_> {
    proof.outliving(
        |request| request,
        async || tokio::time::sleep(Duration::from_millis(1100)).await,
    )
}

macro_rules! stamp {
    ($name:ident $backend:ident $connection:ty, $config:expr) => {
        mod $name {
            use std::sync::atomic::{AtomicI64, Ordering};
            use std::time::Duration;

            use actix_web::test::init_service;
            use actix_web::{App, HttpRequest, HttpResponse, post, web};
            use diesel_async::RunQueryDsl;
            use diesel_async::pooled_connection::AsyncDieselConnectionManager;
            use diesel_async::pooled_connection::bb8::Pool;
            use idem_runtime::testing::{Proof, Report, Rule};
            use idem_runtime::{Idempotency, Steps, idempotent};
            use idem_tests::{Backend, Database};

            use crate::leased::{Failed, late, proven_in_lease_mode};
            use crate::open::{self, identified};
            use crate::proofs::{MARK, Order, created, proof};

            /// Fails behind its step where the request says so.
            async fn order(
                order: &Order,
                steps: &Steps<$connection>,
                request: &HttpRequest,
            ) -> Result<HttpResponse, Failed> {
                let work = async |conn: &mut $connection| {
                    diesel::sql_query(MARK).execute(conn).await?;
                    Ok::<_, Failed>(())
                };
                steps.transaction("mark", work).await?;
                match request.headers().contains_key("x-fail") {
                    true => Err(Failed),
                    false => Ok(created(order)),
                }
            }

            #[post("/held")]
            #[idempotent(mode = "lease", lease = "1s", unresolved = "hold")]
            async fn held(
                wanted: web::Json<Order>,
                steps: Steps<$connection>,
                request: HttpRequest,
            ) -> Result<HttpResponse, Failed> {
                order(&wanted, &steps, &request).await
            }

            #[post("/rerun")]
            #[idempotent(mode = "lease", lease = "1s", unresolved = "rerun")]
            async fn rerun(
                wanted: web::Json<Order>,
                steps: Steps<$connection>,
                request: HttpRequest,
            ) -> Result<HttpResponse, Failed> {
                order(&wanted, &steps, &request).await
            }

            #[post("/accepting")]
            #[idempotent(
                mode = "lease",
                lease = "1s",
                unresolved = "rerun",
                in_flight = "accept"
            )]
            async fn accepting(
                wanted: web::Json<Order>,
                steps: Steps<$connection>,
                request: HttpRequest,
            ) -> Result<HttpResponse, Failed> {
                order(&wanted, &steps, &request).await
            }

            /// Its call is in no step, and has no derived key.
            #[post("/careless")]
            #[idempotent(mode = "lease", lease = "1s", unresolved = "rerun")]
            async fn careless(
                wanted: web::Json<Order>,
                calls: web::Data<AtomicI64>,
            ) -> HttpResponse {
                calls.fetch_add(1, Ordering::SeqCst);
                created(&wanted)
            }

            async fn report(
                database: &Database,
                connections: u32,
                calls: &web::Data<AtomicI64>,
                proof: Proof<'_>,
            ) -> Report {
                let url = open::address(database);
                let manager =
                    AsyncDieselConnectionManager::<$connection>::new_with_config(url, $config);
                let pool = Pool::builder().max_size(connections);
                let pool = pool.build(manager).await.unwrap();
                let idempotency = identified(Idempotency::builder(pool));
                let app = App::new()
                    .app_data(web::Data::new(idempotency.build().unwrap()))
                    .app_data(calls.clone())
                    .service(held)
                    .service(rerun)
                    .service(accepting)
                    .service(careless);
                proof.check(&init_service(app).await).await
            }

            #[actix_web::test]
            async fn an_endpoint_is_proven_as_it_declares_itself() {
                let calls = web::Data::default();
                for (path, connections) in [("/held", 4), ("/rerun", 4), ("/rerun", 1)] {
                    let database = open::database(Backend::$backend).await;
                    let proof = late(proof(&database, path))
                        .failing(|request| request.insert_header(("x-fail", "1")));
                    proven_in_lease_mode(&report(&database, connections, &calls, proof).await);
                    database.discard().await;
                }
            }

            #[actix_web::test]
            async fn who_accepts_duplicates_is_proven_too() {
                let calls = web::Data::default();
                let database = open::database(Backend::$backend).await;
                let proof = late(proof(&database, "/accepting"));
                proven_in_lease_mode(&report(&database, 4, &calls, proof).await);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_lease_that_has_not_run_out_proves_nothing_of_late_owners() {
                let calls = web::Data::default();
                for path in ["/held", "/rerun", "/accepting"] {
                    let database = open::database(Backend::$backend).await;
                    let proof = proof(&database, path).outliving(|request| request, async || {});
                    let hasty = report(&database, 4, &calls, proof).await;
                    assert_eq!(hasty.broken(), [], "{hasty}");
                    assert_eq!(hasty.unproven(), [Rule::LateOwner], "{hasty}");
                    assert!(hasty.to_string().contains("still trusted"), "{hasty}");
                    database.discard().await;
                }
            }

            /// Where the endpoint holds what is unresolved, that is an answer.
            #[actix_web::test]
            async fn a_late_owner_that_fails_is_told_from_one_that_is_held() {
                let calls = web::Data::default();
                for (path, broken) in [("/held", &[][..]), ("/rerun", &[Rule::LateOwner])] {
                    let database = open::database(Backend::$backend).await;
                    let proof = proof(&database, path).outliving(
                        |request| request.insert_header(("x-fail", "1")),
                        async || tokio::time::sleep(Duration::from_millis(1100)).await,
                    );
                    let report = report(&database, 4, &calls, proof).await;
                    assert_eq!(report.broken(), broken, "{report}");
                    assert_eq!(report.unproven(), [], "{report}");
                    database.discard().await;
                }
            }

            #[actix_web::test]
            async fn nothing_is_proven_of_late_owners_of_whom_nobody_has_said_anything() {
                let calls = web::Data::default();
                let database = open::database(Backend::$backend).await;
                let silent = report(&database, 4, &calls, proof(&database, "/held")).await;
                assert_eq!(silent.broken(), [], "{silent}");
                assert_eq!(silent.unproven(), [Rule::LateOwner], "{silent}");
                let left_out = proof(&database, "/held").skip(Rule::LateOwner, "on purpose");
                let left_out = report(&database, 4, &calls, left_out).await;
                assert!(left_out.is_proven(), "{left_out}");
                database.discard().await;
            }

            #[actix_web::test]
            async fn work_outside_of_a_step_is_seen_to_be_done_twice() {
                let calls = web::Data::new(AtomicI64::new(0));
                let database = open::database(Backend::$backend).await;
                let proof = late(proof(&database, "/careless"))
                    .effects(async || calls.get_ref().load(Ordering::SeqCst));
                let report = report(&database, 4, &calls, proof).await;
                let broken = [Rule::Failure, Rule::LateOwner];
                assert_eq!(report.broken(), broken, "{report}");
                database.discard().await;
            }
        }
    };
}

pub(crate) use stamp;

#[track_caller]
pub(crate) fn proven_in_lease_mode(report: &idem_runtime::testing::Report) {
    for &rule in Rule::ALL {
        assert_eq!(
            report.verdict(rule),
            Some(&Verdict::Proven),
            "{rule:?}: {report}"
        );
    }
}
