//! Endpoints in transaction mode, with handlers that are `async`.

macro_rules! stamp {
    ($name:ident $backend:ident $connection:ty, $config:expr) => {
        mod $name {
            use actix_web::dev::Service;
            use actix_web::error::{ErrorInternalServerError, ErrorServiceUnavailable};
            use actix_web::http::header::{ETAG, HeaderName, HeaderValue, LOCATION};
            use actix_web::test::{TestRequest, init_service};
            use actix_web::{App, HttpRequest, HttpResponse, post, web};
            use diesel_async::RunQueryDsl;
            use diesel_async::pooled_connection::AsyncDieselConnectionManager;
            use diesel_async::pooled_connection::bb8::Pool;
            use idem_runtime::testing::{Proof, Report, Rule, Verdict};
            use idem_runtime::{Idempotency, idempotent};
            use idem_tests::{Backend, Database};

            use crate::open::{self, identified, marks};
            use crate::proofs::{MARK, Order, assert_proven, created, proof};

            const NUMBER: HeaderName = HeaderName::from_static("x-number");

            async fn order(
                order: &Order,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                let mark = diesel::sql_query(MARK).execute(conn).await;
                mark.map_err(ErrorInternalServerError)?;
                Ok(created(order))
            }

            #[post("/orders")]
            #[idempotent]
            async fn plain(
                wanted: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                order(&wanted, conn).await
            }

            #[post("/optional")]
            #[idempotent(key = "optional")]
            async fn optional(
                wanted: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                order(&wanted, conn).await
            }

            #[post("/waiting")]
            #[idempotent(in_flight = "wait 20s")]
            async fn waiting(
                wanted: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                order(&wanted, conn).await
            }

            #[post("/global")]
            #[idempotent(scope = "global")]
            async fn global(
                wanted: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                order(&wanted, conn).await
            }

            /// Tells a number that is in no record.
            #[post("/redacting")]
            #[idempotent(redact = ["/order", "/absent"])]
            async fn redacting(
                wanted: web::Json<Order>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                let mut ordered = order(&wanted, conn).await?;
                let tag = HeaderValue::from_static("\"of the whole\"");
                ordered.headers_mut().insert(ETAG, tag);
                Ok(ordered)
            }

            /// Fails behind its work where the request says so.
            #[post("/failing")]
            #[idempotent]
            async fn failing(
                wanted: web::Json<Order>,
                request: HttpRequest,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                let ordered = order(&wanted, conn).await?;
                match request.headers().get("x-fail").map(|how| how.as_bytes()) {
                    Some(b"panic") => panic!("as the request says"),
                    Some(_) => Err(ErrorServiceUnavailable("as the request says")),
                    None => Ok(ordered),
                }
            }

            /// Takes another connection while it has one.
            #[post("/greedy")]
            #[idempotent]
            async fn greedy(
                wanted: web::Json<Order>,
                pool: web::Data<Pool<$connection>>,
                conn: &mut $connection,
            ) -> actix_web::Result<HttpResponse> {
                let _other = pool.get().await.map_err(ErrorInternalServerError)?;
                order(&wanted, conn).await
            }

            /// Does it once for each mark that is there.
            #[post("/tidy")]
            #[idempotent]
            async fn tidy(conn: &mut $connection) -> actix_web::Result<HttpResponse> {
                let tidied = diesel::sql_query("DELETE FROM marks WHERE label = 'untidy'");
                match tidied.execute(conn).await {
                    Ok(0) => Ok(HttpResponse::Conflict().finish()),
                    Ok(_) => Ok(HttpResponse::NoContent().finish()),
                    Err(error) => Err(ErrorInternalServerError(error)),
                }
            }

            async fn report(database: &Database, connections: u32, proof: Proof<'_>) -> Report {
                let url = open::address(database);
                let manager =
                    AsyncDieselConnectionManager::<$connection>::new_with_config(url, $config);
                let pool = Pool::builder().max_size(connections);
                let pool = pool.build(manager).await.unwrap();
                let idempotency = identified(Idempotency::builder(pool.clone()));
                let app = App::new()
                    .app_data(web::Data::new(idempotency.build().unwrap()))
                    .app_data(web::Data::new(pool))
                    .service(plain)
                    .service(optional)
                    .service(waiting)
                    .service(global)
                    .service(redacting)
                    .service(failing)
                    .service(greedy)
                    .service(tidy);
                proof.check(&init_service(app).await).await
            }

            #[actix_web::test]
            async fn an_endpoint_is_proven_with_a_pool_of_four_and_of_one() {
                for connections in [4, 1] {
                    let database = open::database(Backend::$backend).await;
                    let proof = proof(&database, "/orders");
                    let report = report(&database, connections, proof).await;
                    assert_proven(&report);
                    database.discard().await;
                }
            }

            #[actix_web::test]
            async fn an_endpoint_is_proven_as_it_declares_itself() {
                for path in ["/optional", "/waiting", "/redacting"] {
                    let database = open::database(Backend::$backend).await;
                    let report = report(&database, 2, proof(&database, path)).await;
                    assert_proven(&report);
                    database.discard().await;
                }
            }

            #[actix_web::test]
            async fn what_fails_by_itself_leaves_nothing_either() {
                for how in ["panic", "503"] {
                    let database = open::database(Backend::$backend).await;
                    let proof = proof(&database, "/failing")
                        .failing(move |request| request.insert_header(("x-fail", how)));
                    let report = report(&database, 1, proof).await;
                    assert_proven(&report);
                    database.discard().await;
                }
            }

            #[actix_web::test]
            async fn what_does_not_fail_proves_nothing_of_failures() {
                let database = open::database(Backend::$backend).await;
                let proof = proof(&database, "/orders").failing(|request| request);
                let report = report(&database, 1, proof).await;
                assert_eq!(report.broken(), []);
                assert_eq!(report.unproven(), [Rule::Failure], "{report}");
                database.discard().await;
            }

            #[actix_web::test]
            async fn one_scope_for_all_is_seen_unless_it_is_meant() {
                let database = open::database(Backend::$backend).await;
                let seen = report(&database, 1, proof(&database, "/global")).await;
                assert_eq!(seen.broken(), [Rule::OtherAccount], "{seen}");
                let meant = proof(&database, "/global").skip(Rule::OtherAccount, "on purpose");
                let meant = report(&database, 1, meant).await;
                assert!(meant.is_proven(), "{meant}");
                let skipped = Verdict::Skipped("on purpose".to_owned());
                assert_eq!(meant.verdict(Rule::OtherAccount), Some(&skipped));
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_handler_that_waits_for_its_own_connection_is_not_carried_out() {
                let database = open::database(Backend::$backend).await;
                let proof = proof(&database, "/greedy").patience(std::time::Duration::from_secs(1));
                let report = report(&database, 1, proof).await;
                assert_eq!(report.broken(), [Rule::FirstRequest], "{report}");
                assert!(
                    report.to_string().contains("no answer within 1s"),
                    "{report}"
                );
                database.discard().await;
            }

            #[actix_web::test]
            async fn headers_have_the_names_that_the_application_says() {
                let database = open::database(Backend::$backend).await;
                let url = open::address(&database);
                let manager =
                    AsyncDieselConnectionManager::<$connection>::new_with_config(url, $config);
                let pool = Pool::builder().max_size(1).build(manager).await.unwrap();
                let idempotency = identified(Idempotency::builder(pool))
                    .key_header("X-Request-Key")
                    .replayed_header("X-Replayed");
                let app = App::new()
                    .app_data(web::Data::new(idempotency.build().unwrap()))
                    .service(plain)
                    .wrap_fn(|request, service| {
                        let called = service.call(request);
                        async {
                            let mut response = called.await?;
                            let number = uuid::Uuid::new_v4().to_string();
                            let number = HeaderValue::from_str(&number).unwrap();
                            response.headers_mut().insert(NUMBER, number);
                            Ok(response)
                        }
                    });
                let app = init_service(app).await;
                let of_these_names = || {
                    proof(&database, "/orders")
                        .key_header(HeaderName::from_static("x-request-key"))
                        .replayed_header(HeaderName::from_static("x-replayed"))
                };
                assert_proven(&of_these_names().volatile_header(NUMBER).check(&app).await);
                let numbered = of_these_names().check(&app).await;
                assert_proven(&numbered);
                let said = "not compared: `x-number`";
                assert!(numbered.to_string().contains(said), "{numbered}");
                let unmarked = of_these_names()
                    .volatile_header(NUMBER)
                    .volatile_header(HeaderName::from_static("x-replayed"))
                    .replayed_header(HeaderName::from_static("idempotent-replayed"));
                let unmarked = unmarked.check(&app).await;
                assert!(unmarked.broken().contains(&Rule::Marker), "{unmarked}");
                let nameless = proof(&database, "/orders").check(&app).await;
                assert_eq!(nameless.broken(), [Rule::FirstRequest], "{nameless}");
                database.discard().await;
            }

            #[actix_web::test]
            async fn what_a_middleware_sets_anew_is_seen_where_it_is_the_answers_own() {
                let database = open::database(Backend::$backend).await;
                let url = open::address(&database);
                let manager =
                    AsyncDieselConnectionManager::<$connection>::new_with_config(url, $config);
                let pool = Pool::builder().max_size(1).build(manager).await.unwrap();
                let idempotency = identified(Idempotency::builder(pool)).build().unwrap();
                let app = App::new()
                    .app_data(web::Data::new(idempotency))
                    .service(plain)
                    .wrap_fn(|request, service| {
                        let called = service.call(request);
                        async {
                            let mut response = called.await?;
                            if response.status().is_success() {
                                let place = format!("/orders/{}", uuid::Uuid::new_v4());
                                let place = HeaderValue::from_str(&place).unwrap();
                                response.headers_mut().insert(LOCATION, place);
                            }
                            Ok(response)
                        }
                    });
                let app = init_service(app).await;
                let report = proof(&database, "/orders").check(&app).await;
                assert_eq!(report.broken(), [Rule::Retry], "{report}");
                database.discard().await;
            }

            #[actix_web::test]
            async fn what_can_be_done_once_is_prepared_for_each_operation() {
                let database = open::database(Backend::$backend).await;
                let proof = Proof::prepared(async || {
                    let untidy = "INSERT INTO marks VALUES ('untidy')";
                    Database::execute(&database, untidy).await;
                    || {
                        let request = TestRequest::post().uri("/tidy");
                        request.insert_header(("x-account", "acme"))
                    }
                })
                .other_body(|request| request.set_payload("other"))
                .effects(async || marks(&database, "untidy").await)
                .skip(Rule::OtherAccount, "there is nothing left to tidy");
                let report = report(&database, 1, proof).await;
                assert!(report.is_proven(), "{report}");
                database.discard().await;
            }
        }
    };
}

pub(crate) use stamp;
