//! Shipments: a handler that calls somebody else, in lease mode, and who finds out what became of a call whose
//! process died. Nothing of idempotency but the attribute, the steps and the reconciler.

use actix_web::http::StatusCode;
use idem_runtime::{Reconciler, RecordedResponse, UnresolvedOperation, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::courier::Courier;

/// The body of `POST /orders/{id}/shipments`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewShipment {
    pub(crate) to: String,
}

/// A shipment in an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShipmentView {
    pub(crate) order_id: i64,
    pub(crate) parcel: String,
}

/// The names of the steps. They are stored with an operation: a step with another name is another step.
pub(crate) const DISPATCH: &str = "dispatch";
pub(crate) const BOOK: &str = "book";

/// The handler of shipments, for one type of connection; [`order_handlers`](crate::orders) stand beside it.
macro_rules! shipment_handlers {
    ($connection:ty) => {
        /// Sends an order on its way, once. What can be undone comes first, the call that cannot comes last.
        ///
        /// The lease is short so that this can be tried out: it is renewed while the handler runs, and two minutes,
        /// the default, are a better choice.
        #[utoipa::path(tag = "shipments", responses(
                            (status = 201, description = "The shipment.", body = ShipmentView),
                            (status = 401, response = Refused),
                            (status = 404, response = Refused),
                            (status = 409, response = Refused),
                            (status = 502, response = Refused),
                        ))]
        #[post("/orders/{id}/shipments")]
        #[idempotent(mode = "lease", lease = "3s", scope = "account", retain = "72h")]
        pub(crate) async fn ship_order(
            user: AuthUser,
            id: web::Path<i64>,
            shipment: web::Json<NewShipment>,
            courier: web::Data<Courier>,
            steps: Steps<$connection>,
        ) -> Result<HttpResponse, ApiError> {
            // Committed together with the word that this step is done.
            let order_id: i64 = steps
                .transaction(DISPATCH, async |conn| {
                    let ready = orders::table
                        .find(*id)
                        .filter(orders::account.eq(&user.account))
                        .filter(orders::cancelled.eq(false))
                        .filter(orders::shipped.eq(false));
                    let dispatched = diesel::update(ready)
                        .set(orders::shipped.eq(true))
                        .execute(conn)
                        .await?;
                    if dispatched == 1 {
                        return Ok(*id);
                    }
                    let order = find_order(&user, *id, conn).await?;
                    Err(if order.cancelled {
                        ApiError::Cancelled
                    } else {
                        ApiError::AlreadyShipped
                    })
                })
                .await?;
            // The key is the same in every run of this operation.
            let parcel: String = steps
                .call(BOOK, async |key| {
                    let booked = courier.book(&key, &shipment.to).await;
                    booked.map_err(ApiError::Courier)
                })
                .await?;
            Ok(HttpResponse::Created().json(ShipmentView { order_id, parcel }))
        }
    };
}

pub(crate) use shipment_handlers;

/// Asks the courier about shipments of which nobody here knows how they ended.
pub(crate) struct Dispatcher(pub(crate) Courier);

impl Reconciler for Dispatcher {
    async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
        // A call may still have been on its way when its process died.
        if operation.endpoint() != "POST /orders/{id}/shipments"
            || operation.unresolved_for() < Courier::LONGEST
        {
            return Verdict::Unknown;
        }
        match self.0.find(&operation.key().derive(BOOK)).await {
            Ok(Some(parcel)) => completed(operation, parcel),
            Ok(None) => Verdict::Released,
            Err(error) => {
                tracing::warn!(%error, "the courier cannot be asked");
                Verdict::Unknown
            }
        }
    }
}

/// The answer that the handler would have given.
fn completed(operation: &UnresolvedOperation, parcel: String) -> Verdict {
    let Some(Ok(order_id)) = operation.step(DISPATCH) else {
        return Verdict::Unknown;
    };
    match RecordedResponse::new(StatusCode::CREATED).json(&ShipmentView { order_id, parcel }) {
        Ok(response) => Verdict::Completed(response),
        Err(_) => Verdict::Unknown,
    }
}
