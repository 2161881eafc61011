//! Receipts: a message that goes out when an order is made, and who takes it. Where it goes is said in `outlet.rs`.

use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema::receipts;

/// What the messages are about, and their subject in NATS.
pub(crate) const TOPIC: &str = "orders.receipt";

/// The payload of a message, and a row of `receipts`.
#[derive(Serialize, Deserialize, Insertable, ToSchema)]
#[diesel(table_name = receipts)]
pub(crate) struct Receipt {
    pub(crate) account: String,
    pub(crate) order_id: i64,
    pub(crate) total_cents: i64,
}

/// A receipt in an answer.
#[derive(Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = receipts)]
pub(crate) struct ReceiptView {
    order_id: i64,
    total_cents: i64,
}

/// The handlers of receipts, for one type of connection; [`order_handlers`](crate::orders) queue them.
macro_rules! receipt_handlers {
    ($connection:ty) => {
        /// Takes a receipt, as another service would. It may come more than once, always with the same id, which is the
        /// key of the request.
        ///
        /// The scope is `endpoint`: who signs has no account, and nobody else comes as far. A receipt is remembered for
        /// longer than a relay goes on trying, a day or so, and not for longer than the key of the order, which makes the
        /// id: when that is used again, another order has it.
        #[utoipa::path(
            tag = "receipts",
            request_body = Receipt,
            // The signature, in its headers, is as Standard Webhooks has it.
            security(()),
            responses((status = 204, description = "It is here."), (status = 401, response = Refused)),
        )]
        #[post("/receipts")]
        #[idempotent(scope = "endpoint", retain = "48h")]
        pub(crate) async fn take_receipt(
            receipt: Signed<Receipt>,
            conn: &mut $connection,
        ) -> Result<HttpResponse, ApiError> {
            diesel::insert_into(receipts::table)
                .values(receipt.into_inner())
                .execute(conn)
                .await?;
            Ok(HttpResponse::NoContent().finish())
        }

        #[utoipa::path(tag = "receipts", responses(
            (status = 200, description = "The newest hundred receipts.", body = [ReceiptView]),
            (status = 401, response = Refused),
        ))]
        #[get("/receipts")]
        pub(crate) async fn list_receipts(
            user: AuthUser,
            pool: web::Data<Pool<$connection>>,
        ) -> Result<HttpResponse, ApiError> {
            let receipts = receipts::table
                .filter(receipts::account.eq(&user.account))
                .order(receipts::id.desc())
                .limit(100)
                .select(ReceiptView::as_select())
                .load(&mut pool.get().await?)
                .await?;
            Ok(HttpResponse::Ok().json(receipts))
        }
    };
}

pub(crate) use receipt_handlers;
