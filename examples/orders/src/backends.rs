//! The handlers, written once in `orders.rs`, `payments.rs`, `receipts.rs` and `shipments.rs`, made for each type of connection. No logic.
//!
//! diesel compiles a query for one backend, and diesel-async has no connection that is one of several. An
//! application that knows its database when it is compiled needs no macro: it names its connection's type in
//! the handlers and registers them.

macro_rules! backend {
    ($name:ident, $connection:ty) => {
        pub(crate) mod $name {
            use actix_web::http::header;
            use actix_web::{HttpResponse, get, post, web};
            use diesel::prelude::*;
            use diesel_async::RunQueryDsl;
            use diesel_async::pooled_connection::bb8::Pool;
            use idem_runtime::openapi::Contract;
            use idem_runtime::{Idempotency, IdempotencyKey, Steps, idempotent, outbox};
            use utoipa::{Modify, OpenApi};
            use utoipa_swagger_ui::SwaggerUi;

            use crate::auth::{AuthUser, Bearer};
            use crate::courier::Courier;
            use crate::errors::{ApiError, Refused, StartError};
            use crate::orders::{Line, NewOrder, Order, OrderView, order_handlers};
            use crate::payments::{NewPayment, PaymentView, payment_handlers};
            use crate::receipts::{Receipt, ReceiptView, TOPIC, receipt_handlers};
            use crate::schema::{order_lines, orders, payments, products, receipts};
            use crate::shipments::{BOOK, DISPATCH, NewShipment, ShipmentView, shipment_handlers};
            use crate::signed::{Secret, Signed};
            use crate::workers;

            order_handlers!($connection);
            payment_handlers!($connection);
            receipt_handlers!($connection);
            shipment_handlers!($connection);

            /// The document of these routes.
            #[derive(OpenApi)]
            #[openapi(
                paths(
                    create_order, cancel_order, list_orders, get_order, pay_order, take_receipt, list_receipts, ship_order
                ),
                components(responses(Refused)),
                modifiers(&Bearer),
                security(("bearer" = [])),
            )]
            pub(crate) struct Api;

            /// One `Idempotency` for the whole process, shared by the threads of the server. Its workers in the
            /// background start here.
            pub(crate) fn routes(
                pool: Pool<$connection>,
                courier: Courier,
                secret: Secret,
            ) -> Result<impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static, StartError> {
                let idempotency = Idempotency::<$connection>::builder(pool.clone())
                    .account::<AuthUser>()
                    .worker_interval(workers::INTERVAL)
                    .build()?;
                workers::start(&idempotency, &courier);
                let mut document = Api::openapi();
                Contract::of(&idempotency).modify(&mut document);
                let swagger = SwaggerUi::new("/docs/{_:.*}").url("/openapi.json", document);
                let idempotency = web::Data::new(idempotency);
                let pool = web::Data::new(pool);
                let courier = web::Data::new(courier);
                let secret = web::Data::new(secret);
                Ok(move |app: &mut web::ServiceConfig| {
                    app.app_data(idempotency.clone())
                        .app_data(pool.clone())
                        .app_data(courier.clone())
                        .app_data(secret.clone())
                        .service(create_order)
                        .service(cancel_order)
                        .service(list_orders)
                        .service(get_order)
                        .service(pay_order)
                        .service(take_receipt)
                        .service(list_receipts)
                        .service(ship_order)
                        .service(swagger.clone());
                })
            }
        }
    };
}

backend!(postgres, diesel_async::AsyncPgConnection);
backend!(sqlite, crate::db::AsyncSqliteConnection);

#[cfg(test)]
mod tests {
    use idem_runtime::openapi::unmatched;
    use utoipa::OpenApi;

    use super::*;

    #[test]
    fn every_protected_endpoint_is_in_the_document() {
        assert_eq!(unmatched(&postgres::Api::openapi()), []);
        assert_eq!(unmatched(&sqlite::Api::openapi()), []);
    }
}
