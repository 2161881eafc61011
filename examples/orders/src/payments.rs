//! Payments of an order. Nothing of idempotency but the attribute.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /orders/{id}/payments`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewPayment {
    pub(crate) amount_cents: i64,
}

/// A payment in an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct PaymentView {
    pub(crate) id: i64,
    pub(crate) order_id: i64,
    pub(crate) amount_cents: i64,
    pub(crate) left_to_pay_cents: i64,
}

/// The handlers of payments, for one type of connection; [`order_handlers`](crate::orders) stand beside them.
macro_rules! payment_handlers {
    ($connection:ty) => {
        /// Books a payment. Money is remembered longer than an order: a client may come back after a holiday.
        #[utoipa::path(tag = "payments", responses(
                            (status = 201, description = "The payment.", body = PaymentView),
                            (status = 401, response = Refused),
                            (status = 404, response = Refused),
                            (status = 409, response = Refused),
                            (status = 422, response = Refused),
                        ))]
        #[post("/orders/{id}/payments")]
        #[idempotent(scope = "account", retain = "7d")]
        pub(crate) async fn pay_order(
            user: AuthUser,
            id: web::Path<i64>,
            payment: web::Json<NewPayment>,
            conn: &mut $connection,
        ) -> Result<HttpResponse, ApiError> {
            let amount = payment.amount_cents;
            if amount < 1 {
                return Err(ApiError::BadAmount);
            }
            // Checking and booking are one statement: of two payments with different keys only those that
            // the order has room for go through.
            let payable = orders::table
                .find(*id)
                .filter(orders::account.eq(&user.account))
                .filter(orders::cancelled.eq(false))
                .filter((orders::total_cents - orders::paid_cents).ge(amount));
            let booked = diesel::update(payable)
                .set(orders::paid_cents.eq(orders::paid_cents + amount))
                .returning(Order::as_returning())
                .get_result(conn)
                .await
                .optional()?;
            let Some(order) = booked else {
                let order = find_order(&user, *id, conn).await?;
                return Err(if order.cancelled {
                    ApiError::Cancelled
                } else {
                    ApiError::TooMuch(order.total_cents - order.paid_cents)
                });
            };
            let payment = diesel::insert_into(payments::table)
                .values((
                    payments::order_id.eq(order.id),
                    payments::amount_cents.eq(amount),
                ))
                .returning(payments::id)
                .get_result(conn)
                .await?;
            Ok(HttpResponse::Created().json(PaymentView {
                id: payment,
                order_id: order.id,
                amount_cents: amount,
                left_to_pay_cents: order.total_cents - order.paid_cents,
            }))
        }
    };
}

pub(crate) use payment_handlers;
