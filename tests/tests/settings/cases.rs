//! The cases, stamped per connection type.

macro_rules! stamp {
    ($name:ident $backend:ident $connection:ty, $config:expr, $endless:expr) => {
        pub(crate) mod $name {
            use std::sync::atomic::AtomicU32;
            use std::time::Duration;

            use actix_web::http::StatusCode;
            use actix_web::test::{TestRequest, call_service, init_service};
            use actix_web::{App, web};
            use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8, deadpool};
            use idem_runtime::{BuildError, Builder, Idempotency, policies};
            use idem_tests::{Backend, Database};

            use crate::open::{self, Answer, attempt, identified, marks};

            crate::handlers::stamp!($connection);
            use handlers::Connection;

            pub(crate) fn manager(database: &Database) -> AsyncDieselConnectionManager<Connection> {
                let config = $config;
                AsyncDieselConnectionManager::new_with_config(open::address(database), config)
            }

            pub(crate) async fn builder(database: &Database, size: u32) -> Builder<Connection> {
                let pool = bb8::Pool::builder().max_size(size);
                let pool = pool.build(manager(database)).await.unwrap();
                identified(Idempotency::builder(pool))
            }

            /// One request to an application of these settings.
            pub(crate) async fn send(
                builder: Builder<Connection>,
                requests: Vec<TestRequest>,
            ) -> Vec<Answer> {
                let app = App::new()
                    .app_data(web::Data::new(builder.build().unwrap()))
                    .app_data(web::Data::new(AtomicU32::new(0)))
                    .configure(handlers::routes);
                let app = init_service(app).await;
                let mut answers = Vec::new();
                for request in requests {
                    let response = call_service(&app, request.to_request()).await;
                    answers.push(Answer::of(response).await);
                }
                answers
            }

            #[actix_web::test]
            async fn a_transaction_in_the_handler_is_a_savepoint_of_ours() {
                let database = open::database(Backend::$backend).await;
                let failing = || attempt("/nested", "f").set_payload("fail");
                let answers = send(
                    builder(&database, 1).await,
                    vec![
                        failing(),
                        failing(),
                        attempt("/nested", "k"),
                        attempt("/nested", "k"),
                    ],
                )
                .await;
                let statuses: Vec<_> = answers
                    .iter()
                    .map(|answer| answer.status.as_u16())
                    .collect();
                assert_eq!(statuses, [422, 422, 201, 201]);
                assert!(answers[1].replayed() && answers[3].replayed());
                for (label, expected) in [("outer", 1), ("inner", 0), ("kept", 1)] {
                    assert_eq!(marks(&database, label).await, expected, "{label}");
                }
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_transaction_that_the_handler_left_open_is_rolled_back_with_ours() {
                let database = open::database(Backend::$backend).await;
                let answers = send(
                    builder(&database, 1).await,
                    vec![attempt("/careless", "k"), attempt("/plain", "l")],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
                assert_eq!(answers[0].code(), "handler-failed");
                assert_eq!(answers[1].status, StatusCode::CREATED);
                assert_eq!(marks(&database, "careless").await, 0);
                assert_eq!(database.records().await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_handler_that_asks_for_it_is_run_again_and_leaves_one_effect() {
                let database = open::database(Backend::$backend).await;
                let answers = send(
                    builder(&database, 1).await,
                    vec![attempt("/conflict", "k"), attempt("/conflict", "k")],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::CREATED);
                assert_eq!(answers[0].body, "third");
                assert!(answers[1].replayed());
                assert_eq!(marks(&database, "conflict").await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn without_retries_the_client_is_told_to_try_again() {
                let database = open::database(Backend::$backend).await;
                let answers = send(
                    builder(&database, 1).await,
                    vec![
                        attempt("/conflict-once", "k"),
                        attempt("/conflict-once", "k"),
                    ],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
                assert_eq!(answers[0].code(), "handler-failed");
                assert_eq!(answers[1].status, StatusCode::CREATED);
                assert!(!answers[1].replayed());
                assert_eq!(marks(&database, "conflict").await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn an_error_keeps_no_effect_whatever_its_status() {
                let database = open::database(Backend::$backend).await;
                let again = || attempt("/accepted", "k");
                let answers = send(builder(&database, 1).await, vec![again(), again()]).await;
                for answer in &answers {
                    assert_eq!(answer.status, StatusCode::ACCEPTED);
                    assert_eq!(answer.body, "later");
                }
                assert!(!answers[0].replayed() && answers[1].replayed());
                assert_eq!(marks(&database, "accepted").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_derived_key_is_the_operations_own() {
                let database = open::database(Backend::$backend).await;
                let other = attempt("/derived", "k").insert_header(("x-account", "other"));
                let keyless = || TestRequest::post().uri("/derived");
                let answers = send(
                    builder(&database, 1).await,
                    vec![
                        attempt("/derived", "k"),
                        attempt("/derived", "\"k\""),
                        attempt("/derived", "l"),
                        other,
                        keyless(),
                        keyless(),
                    ],
                )
                .await;
                assert_eq!(answers[0].body, answers[1].body);
                assert!(answers[1].replayed());
                assert_ne!(answers[0].body, answers[2].body);
                assert_ne!(answers[0].body, answers[3].body);
                assert_eq!(answers[4].body, "no key");
                assert_eq!(marks(&database, "derived").await, 5);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_scope_of_the_applications_own() {
                let database = open::database(Backend::$backend).await;
                let of = |tenant| attempt("/tenant", "k").insert_header(("x-tenant", tenant));
                let answers = send(
                    builder(&database, 1).await,
                    vec![of("a"), of("a"), of("b"), attempt("/tenant", "k"), of("")],
                )
                .await;
                assert!(!answers[0].replayed() && answers[1].replayed() && !answers[2].replayed());
                for answer in &answers[3..] {
                    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
                    assert_eq!(answer.code(), "idempotency-scope-unresolved");
                }
                assert_eq!(marks(&database, "tenant").await, 2);
                database.discard().await;
            }

            #[actix_web::test]
            async fn names_of_headers_and_problems_are_the_applications() {
                let database = open::database(Backend::$backend).await;
                let settings = builder(&database, 1)
                    .await
                    .key_header("X-Request-Key")
                    .replayed_header("X-Replayed")
                    .problem_base("https://api.example/problems/")
                    .strict_keys(true);
                let keyed = |key: &str| {
                    let request = TestRequest::post().uri("/plain");
                    request
                        .insert_header(("x-account", "acme"))
                        .insert_header(("x-request-key", key.to_owned()))
                };
                let answers = send(
                    settings,
                    vec![
                        keyed("\"k\""),
                        keyed("\"k\""),
                        keyed("k"),
                        attempt("/plain", "\"k\""),
                    ],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::CREATED);
                assert_eq!(answers[1].headers.get("x-replayed").unwrap(), "true");
                assert_eq!(answers[2].code(), "idempotency-key-invalid");
                assert_eq!(answers[3].code(), "idempotency-key-missing");
                let kind = "https://api.example/problems/idempotency-key-missing";
                assert!(answers[3].body.contains(kind), "{}", answers[3].body);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_new_secret_keeps_yesterdays_records() {
                let database = open::database(Backend::$backend).await;
                let plain = || attempt("/plain", "k").set_payload("body");
                let other = || attempt("/plain", "k").set_payload("other");
                let without = builder(&database, 1).await;
                assert!(!send(without, vec![plain()]).await[0].replayed());
                let first = builder(&database, 1).await.fingerprint_secret(1, "one");
                let keyed = || attempt("/plain", "l").set_payload("body");
                let answers = send(first, vec![plain(), other(), keyed()]).await;
                assert!(answers[0].replayed());
                assert_eq!(answers[1].code(), "idempotency-key-reused");
                let second = builder(&database, 1)
                    .await
                    .fingerprint_secret(2, "two")
                    .retired_fingerprint_secret(1, "one");
                let answers = send(second, vec![plain(), keyed(), other()]).await;
                assert!(answers[0].replayed() && answers[1].replayed());
                assert_eq!(answers[2].code(), "idempotency-key-reused");
                // Whoever does not have the secret cannot tell, but another process may.
                let lost = builder(&database, 1).await.fingerprint_secret(2, "two");
                let answer = &send(lost, vec![keyed()]).await[0];
                assert_eq!(answer.code(), "idempotency-store-unavailable");
                assert_eq!(marks(&database, "plain").await, 2);
                database.discard().await;
            }

            #[actix_web::test]
            async fn small_and_large_records() {
                let database = open::database(Backend::$backend).await;
                for size in ["0", "1", "3000", "200000"] {
                    let settings = builder(&database, 1).await;
                    let again = || attempt("/large", size).set_payload(size);
                    let answers = send(settings, vec![again(), again()]).await;
                    assert_eq!(answers[0].status, StatusCode::CREATED, "{size}");
                    assert!(answers[1].replayed(), "{size}");
                    assert_eq!(answers[0].body, answers[1].body, "{size}");
                    database.expire_all().await;
                    let settings = builder(&database, 1).await;
                    let answers = send(settings, vec![again(), again()]).await;
                    assert!(!answers[0].replayed() && answers[1].replayed(), "{size}");
                    assert_eq!(answers[0].body, answers[1].body, "{size}");
                }
                assert_eq!(marks(&database, "large").await, 8);
                assert_eq!(database.records().await, 4);
                database.discard().await;
            }

            #[actix_web::test]
            async fn an_error_is_remembered_over_an_expired_record() {
                let database = open::database(Backend::$backend).await;
                let failing = || attempt("/nested", "k").set_payload("fail");
                for _ in 0..2 {
                    let settings = builder(&database, 1).await;
                    let answers = send(settings, vec![failing(), failing()]).await;
                    assert!(!answers[0].replayed() && answers[1].replayed());
                    assert_eq!(answers[1].status, StatusCode::UNPROCESSABLE_ENTITY);
                    database.expire_all().await;
                }
                assert_eq!(marks(&database, "outer").await, 0);
                assert_eq!(database.records().await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn the_same_with_deadpool() {
                let database = open::database(Backend::$backend).await;
                let pool = deadpool::Pool::builder(manager(&database))
                    .max_size(1)
                    .build()
                    .unwrap();
                let settings = identified(Idempotency::builder(pool));
                let answers = send(
                    settings,
                    vec![
                        attempt("/plain", "k"),
                        attempt("/plain", "k"),
                        attempt("/forever", "f"),
                        attempt("/careless", "c"),
                        attempt("/plain", "l"),
                    ],
                )
                .await;
                let statuses: Vec<_> = answers
                    .iter()
                    .map(|answer| answer.status.as_u16())
                    .collect();
                assert_eq!(statuses, [201, 201, 504, 500, 201]);
                assert!(answers[1].replayed());
                assert_eq!(marks(&database, "plain").await, 2);
                assert_eq!(marks(&database, "forever").await, 0);
                assert_eq!(database.open_transactions().await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_statement_that_does_not_end_is_stopped_or_waited_for() {
                let database = open::database(Backend::$backend).await;
                let endless = $endless;
                let answers = send(
                    builder(&database, 1).await,
                    vec![
                        attempt("/forever", "k").set_payload(endless),
                        attempt("/forever", "k").set_payload("SELECT 1"),
                        attempt("/plain", "l"),
                    ],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::GATEWAY_TIMEOUT);
                assert_eq!(answers[0].code(), "handler-failed");
                assert_eq!(
                    answers[1].status,
                    StatusCode::CREATED,
                    "{}",
                    answers[1].body
                );
                assert_eq!(answers[2].status, StatusCode::CREATED);
                assert_eq!(marks(&database, "forever").await, 1);
                database.discard().await;
            }

            /// On SQLite it panics there, and the statement may have its turn after our ROLLBACK.
            #[actix_web::test]
            async fn a_statement_that_the_handler_dropped_leaves_nothing() {
                open::ignore_panics_of_dropped_statements();
                let database = open::database(Backend::$backend).await;
                let dropping = (0..2000).map(|n| attempt("/dropped", &format!("k{n}")));
                let requests = dropping.chain([attempt("/plain", "l")]).collect();
                let mut answers = send(builder(&database, 1).await, requests).await;
                assert_eq!(answers.pop().unwrap().status, StatusCode::CREATED);
                assert!(answers.iter().all(|answer| answer.status.as_u16() == 500));
                assert_eq!(marks(&database, "dropped").await, 0);
                assert_eq!(database.records().await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn a_statement_that_begins_at_the_deadline_is_kept_with_its_record_or_not_at_all()
            {
                open::ignore_panics_of_dropped_statements();
                let database = open::database(Backend::$backend).await;
                let requests = (0..60)
                    .map(|n| attempt("/late", &format!("k{n}")))
                    .collect();
                let answers = send(builder(&database, 1).await, requests).await;
                let in_time = answers
                    .iter()
                    .filter(|answer| answer.status == StatusCode::CREATED);
                let in_time = i64::try_from(in_time.count()).unwrap();
                assert_eq!(marks(&database, "late").await, in_time);
                assert_eq!(database.records().await, in_time);
                database.discard().await;
            }

            /// Nobody may say "refused" who cannot say "not recorded": the client would take a new key.
            #[actix_web::test]
            async fn an_extractors_refusal_stands_only_where_the_look_found_nothing() {
                let database = open::database(Backend::$backend).await;
                let pool = bb8::Pool::builder().max_size(1);
                let pool = pool.build(manager(&database)).await.unwrap();
                let settings = || {
                    let settings = identified(Idempotency::builder(pool.clone()));
                    settings.pool_timeout(Duration::from_millis(100))
                };
                let refused = || attempt("/json", "k").set_payload("{");
                assert_eq!(
                    send(settings(), vec![refused()]).await[0].status,
                    StatusCode::BAD_REQUEST
                );
                let taken = pool.get().await.unwrap();
                let answer = &send(settings(), vec![refused()]).await[0];
                assert_eq!(answer.code(), "idempotency-store-unavailable");
                drop(taken);
                assert_eq!(
                    send(settings(), vec![refused()]).await[0].status,
                    StatusCode::BAD_REQUEST
                );
                database.discard().await;
            }

            #[actix_web::test]
            async fn duplicates_do_not_wait_for_the_pool_one_after_another() {
                let database = open::database(Backend::$backend).await;
                let pool = bb8::Pool::builder().max_size(1);
                let pool = pool.build(manager(&database)).await.unwrap();
                let settings = identified(Idempotency::builder(pool.clone()));
                let settings = settings
                    .pool_timeout(Duration::from_secs(1))
                    .build()
                    .unwrap();
                let app = App::new()
                    .app_data(web::Data::new(settings))
                    .configure(handlers::routes);
                let app = init_service(app).await;
                let taken = pool.get().await.unwrap();
                let start = std::time::Instant::now();
                let duplicates =
                    (0..6).map(|_| call_service(&app, attempt("/plain", "k").to_request()));
                for response in futures_util::future::join_all(duplicates).await {
                    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
                }
                assert!(
                    start.elapsed() < Duration::from_secs(3),
                    "{:?}",
                    start.elapsed()
                );
                drop(taken);
                database.discard().await;
            }

            #[actix_web::test]
            async fn what_is_misconfigured_is_not_entered() {
                let database = open::database(Backend::$backend).await;
                let get = TestRequest::get()
                    .uri("/unseen")
                    .insert_header(("idempotency-key", "k"))
                    .insert_header(("x-account", "acme"));
                let answers = send(
                    builder(&database, 1).await,
                    vec![get, attempt("/unseen", "k")],
                )
                .await;
                assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
                assert_eq!(answers[0].code(), "idempotency-misconfigured");
                assert_eq!(answers[1].status, StatusCode::OK);
                let app = init_service(App::new().configure(handlers::routes)).await;
                let response = call_service(&app, attempt("/plain", "k").to_request()).await;
                assert_eq!(
                    Answer::of(response).await.code(),
                    "idempotency-misconfigured"
                );
                assert_eq!(marks(&database, "plain").await, 0);
                assert_eq!(marks(&database, "unseen").await, 1);
                database.discard().await;
            }

            #[actix_web::test]
            async fn past_the_bound_of_operations_is_503() {
                let database = open::database(Backend::$backend).await;
                let settings = builder(&database, 1).await.max_operations(0);
                let answers = send(settings, vec![attempt("/plain", "k")]).await;
                assert_eq!(answers[0].status, StatusCode::SERVICE_UNAVAILABLE);
                assert_eq!(answers[0].code(), "idempotency-store-unavailable");
                assert!(answers[0].headers.contains_key("retry-after"));
                assert_eq!(marks(&database, "plain").await, 0);
                database.discard().await;
            }

            #[actix_web::test]
            async fn expired_records_are_pruned_in_batches_and_live_ones_are_not() {
                use diesel_async::AsyncConnection;
                let database = open::database(Backend::$backend).await;
                let keys = |from: u32, to: u32| {
                    let keyed = |n: u32| attempt("/plain", &format!("k{n}"));
                    (from..to).map(keyed).collect::<Vec<_>>()
                };
                send(builder(&database, 1).await, keys(0, 5)).await;
                database.expire_all().await;
                send(builder(&database, 1).await, keys(5, 8)).await;
                let mut connection = Connection::establish(&open::address(&database))
                    .await
                    .unwrap();
                assert_eq!(idem_runtime::prune(&mut connection, 1).await.unwrap(), 1);
                let mut pruner = idem_runtime::Pruner::new();
                let mut batches = Vec::new();
                for _ in 0..3 {
                    batches.push(pruner.batch(&mut connection, 3).await.unwrap());
                }
                assert_eq!(batches, [3, 1, 0]);
                let answers = send(builder(&database, 1).await, keys(5, 8)).await;
                assert!(answers.iter().all(Answer::replayed));
                database.discard().await;
            }

            #[actix_web::test]
            async fn build_refuses_what_cannot_work_and_names_it() {
                let database = open::database(Backend::$backend).await;
                let pool = bb8::Pool::builder()
                    .build(manager(&database))
                    .await
                    .unwrap();
                let unresolved = Idempotency::builder(pool.clone()).build().unwrap_err();
                let BuildError::ScopeWithoutResolver { handler, scope } = unresolved else {
                    panic!("{unresolved}");
                };
                assert_eq!(scope, "account");
                assert!(handler.contains("handlers::"), "{handler}");
                let named = Idempotency::builder(pool.clone()).status_path("/operations");
                let named = named.account_with(|_| None);
                let named = named.build().unwrap_err().to_string();
                assert!(
                    named.contains("handlers::tenant needs the scope \"tenant\""),
                    "{named}"
                );
                let settings = || identified(Idempotency::builder(pool.clone()));
                let secrets = [
                    settings().fingerprint_secret(0, "zero"),
                    settings().fingerprint_secret(1, ""),
                    settings()
                        .fingerprint_secret(1, "a")
                        .retired_fingerprint_secret(1, "b"),
                ];
                for secret in secrets {
                    assert!(matches!(secret.build(), Err(BuildError::Secret(_))));
                }
                let header = settings().key_header("no header").build();
                assert!(matches!(header, Err(BuildError::HeaderName(_))));
                database.discard().await;
            }

            #[test]
            fn the_policies_are_listed() {
                let suffix = concat!("settings::", stringify!($name), "::handlers::conflict");
                let listed = policies();
                let policy = listed
                    .iter()
                    .find(|policy| policy.handler.ends_with(suffix))
                    .unwrap();
                assert_eq!(policy.retries, 2);
                assert_eq!(policy.retain, Duration::from_secs(24 * 60 * 60));
                assert_eq!(policy.timeout, Duration::from_secs(30));
                assert_eq!(
                    (policy.body_limit, policy.response_limit),
                    (2 << 20, 1 << 20)
                );
            }
        }
    };
}

pub(crate) use stamp;
