//! Snapshots of the expansion, with the input above it.

use super::{expand, messages, snapshot};

fn before_and_after(name: &str, source: &str) {
    let input = syn::parse_str(source).map(|file| prettyplease::unparse(&file));
    let output = expand(source).map(|file| {
        let text = prettyplease::unparse(&file);
        let (messages, _) = messages(file);
        assert!(messages.is_empty(), "refused: {messages:?}");
        text
    });
    snapshot(
        name,
        &format!(
            "// Input:\n{}\n// Output:\n{}",
            input.unwrap_or_else(|error| error.to_string()),
            output.unwrap_or_else(|error| error.to_string()),
        ),
    );
}

#[test]
fn defaults() {
    before_and_after(
        "defaults",
        "
        #[idempotent]
        async fn create_order(conn: &mut AsyncPgConnection) -> HttpResponse { body() }
        ",
    );
}

#[test]
fn all_options() {
    before_and_after(
        "all_options",
        r#"
        #[idempotent(
            scope = "tenant",
            retain = "7d",
            store = "success",
            in_flight = "wait 3s",
            key = "optional",
            expired_keys = "refuse",
            fingerprint = "raw",
            body_limit = "64KiB",
            response_limit = "128KiB",
            redact = ["/card/number", "/pins"],
            timeout = "10s",
            isolation = "serializable",
            retries = 3,
        )]
        async fn create_order(conn: &mut AsyncPgConnection) -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn the_other_words() {
    before_and_after(
        "the_other_words",
        r#"
        #[idempotent(mode = "transaction", scope = "endpoint", store = "all", in_flight = "reject", isolation = "read committed")]
        async fn create_order(conn: &mut AsyncPgConnection) -> HttpResponse { body() }
        "#,
    );
    before_and_after(
        "the_other_words_2",
        r#"
        #[idempotent(scope = "global", store = "final", key = "required", fingerprint = "json", isolation = "repeatable read")]
        async fn r#move(conn: &mut AsyncPgConnection) -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn route_above() {
    before_and_after(
        "route_above",
        r#"
        #[post("/orders", wrap = "Compress::default()")]
        #[idempotent(retain = "24h")]
        pub async fn create_order(order: web::Json<NewOrder>, conn: &mut AsyncPgConnection) -> Result<HttpResponse, OrderError> {
            body()
        }
        "#,
    );
}

#[test]
fn route_below() {
    before_and_after(
        "route_below",
        r#"
        #[idempotent(retain = "24h")]
        #[post("/orders", wrap = "Compress::default()")]
        pub async fn create_order(order: web::Json<NewOrder>, conn: &mut AsyncPgConnection) -> Result<HttpResponse, OrderError> {
            body()
        }
        "#,
    );
}

#[test]
fn blocking() {
    before_and_after(
        "blocking",
        r#"
        #[post("/orders")]
        #[idempotent(retain = "24h")]
        pub fn create_order(order: web::Json<NewOrder>, conn: &mut PgConnection) -> Result<HttpResponse, OrderError> {
            body()
        }
        "#,
    );
}

#[test]
fn other_attributes() {
    before_and_after(
        "other_attributes",
        r#"
        /// Creates an order.
        #[cfg(feature = "orders")]
        #[allow(dead_code)]
        #[idempotent]
        #[utoipa::path(post, path = "/orders")]
        #[routes]
        #[actix_web::post("/orders")]
        #[route("/orders", method = "PATCH", method = "PUT")]
        #[cfg_attr(feature = "trace", instrument(skip(conn)), post("/traced"), cfg_attr(test, must_use))]
        #[cfg_attr(true, doc = "documented")]
        #[tracing::instrument(skip(conn))]
        #[trace(name = "of a tracing crate, not the method")]
        #[expect(clippy::unused_async)]
        pub(crate) async fn create_order(conn: &mut AsyncPgConnection) -> HttpResponse {
            #![allow(unused)]
            body()
        }
        "#,
    );
}

#[test]
fn patterns_and_connection_in_the_middle() {
    before_and_after(
        "patterns_and_connection_in_the_middle",
        r#"
        #[idempotent]
        async fn create_order(
            web::Json((account, id)): web::Json<(u32, u32)>,
            mut query: web::Query<Filter>,
            #[allow(unused_mut)] mut conn: &mut (AsyncPgConnection),
            _: HttpRequest,
            __argument_0: web::Bytes,
        ) -> impl Responder {
            body()
        }
        "#,
    );
}

#[test]
fn twelve_extractors_are_one_tuple() {
    before_and_after(
        "twelve_extractors_are_one_tuple",
        r#"
        #[idempotent]
        async fn create_order(
            a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H, i: I, j: J, k: K, l: L, conn: &mut AsyncPgConnection,
        ) -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn thirteen_extractors_are_a_tuple_of_tuples() {
    before_and_after(
        "thirteen_extractors_are_a_tuple_of_tuples",
        r#"
        #[idempotent]
        async fn create_order(
            a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H, i: I, j: J, k: K, l: L, m: M, conn: &mut AsyncPgConnection,
        ) -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn lease_mode() {
    before_and_after(
        "lease_mode",
        r#"
        #[post("/orders")]
        #[idempotent(mode = "lease")]
        async fn create_order(order: web::Json<NewOrder>, steps: Steps) -> Result<HttpResponse, OrderError> {
            body()
        }
        "#,
    );
}

#[test]
fn all_options_in_lease_mode() {
    before_and_after(
        "all_options_in_lease_mode",
        r#"
        #[idempotent(
            mode = "lease",
            scope = "tenant",
            retain = "7d",
            store = "success",
            in_flight = "accept",
            key = "required",
            fingerprint = "raw",
            body_limit = "64KiB",
            response_limit = "128KiB",
            timeout = "10s",
            lease = "1m",
            unresolved = "rerun",
            resume = "background",
        )]
        async fn create_order() -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn the_other_words_in_lease_mode() {
    before_and_after(
        "the_other_words_in_lease_mode",
        r#"
        #[idempotent(mode = "lease", lease = "1s", in_flight = "wait 10s", unresolved = "hold", resume = "client")]
        async fn create_order() -> HttpResponse { body() }
        "#,
    );
}

#[test]
fn thirteen_extractors_in_lease_mode() {
    before_and_after(
        "thirteen_extractors_in_lease_mode",
        r#"
        #[idempotent(mode = "lease")]
        async fn create_order(
            a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H, i: I, j: J, k: K, l: L, web::Json(m): web::Json<M>,
        ) -> HttpResponse { body() }
        "#,
    );
}
