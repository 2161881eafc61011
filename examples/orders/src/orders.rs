//! Orders: making, cancelling and reading them. Nothing of idempotency but the attributes, and the key of an order's receipt.

use std::collections::BTreeMap;

use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::schema::{order_lines, orders};

/// The body of `POST /orders`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewOrder {
    items: Vec<NewItem>,
}

#[derive(Deserialize, ToSchema)]
struct NewItem {
    sku: String,
    quantity: i32,
}

impl NewOrder {
    /// How much of each product is wanted. In the order of the names, so that two orders that want the same
    /// products lock them in the same order and cannot deadlock.
    pub(crate) fn quantities(&self) -> Result<BTreeMap<&str, i32>, ApiError> {
        if self.items.is_empty() {
            return Err(ApiError::EmptyOrder);
        }
        let mut quantities = BTreeMap::new();
        for item in &self.items {
            let wanted = quantities.entry(item.sku.as_str()).or_insert(0_i32);
            *wanted = wanted.saturating_add(item.quantity);
            if item.quantity < 1 || *wanted > 1000 {
                return Err(ApiError::BadQuantity(item.sku.clone()));
            }
        }
        Ok(quantities)
    }
}

/// A row of `orders`.
#[derive(Queryable, Selectable)]
#[diesel(table_name = orders)]
pub(crate) struct Order {
    pub(crate) id: i64,
    pub(crate) total_cents: i64,
    pub(crate) paid_cents: i64,
    pub(crate) cancelled: bool,
    pub(crate) shipped: bool,
}

/// A row of `order_lines`, and its form in answers.
#[derive(Queryable, Selectable, Insertable, Serialize, ToSchema)]
#[diesel(table_name = order_lines)]
pub(crate) struct Line {
    #[serde(skip)]
    pub(crate) order_id: i64,
    pub(crate) sku: String,
    pub(crate) quantity: i32,
    pub(crate) price_cents: i64,
}

/// An order in an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct OrderView {
    id: i64,
    status: &'static str,
    total_cents: i64,
    paid_cents: i64,
    shipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Line>>,
}

impl OrderView {
    pub(crate) fn new(order: Order, items: Option<Vec<Line>>) -> Self {
        let status = if order.cancelled {
            "cancelled"
        } else if order.paid_cents == order.total_cents {
            "paid"
        } else {
            "open"
        };
        Self {
            id: order.id,
            status,
            total_cents: order.total_cents,
            paid_cents: order.paid_cents,
            shipped: order.shipped,
            items,
        }
    }
}

/// The handlers of orders, for one type of connection.
macro_rules! order_handlers {
    ($connection:ty) => {
        /// Takes the items out of stock, makes an order of them and queues its receipt, all or nothing.
        #[utoipa::path(tag = "orders", responses(
                    (status = 201, description = "The order.", body = OrderView),
                    (status = 401, response = Refused),
                    (status = 409, response = Refused),
                    (status = 422, response = Refused),
                ))]
        #[post("/orders")]
        #[idempotent(scope = "account", retain = "72h")]
        pub(crate) async fn create_order(
            user: AuthUser,
            order: web::Json<NewOrder>,
            key: IdempotencyKey,
            conn: &mut $connection,
        ) -> Result<HttpResponse, ApiError> {
            let mut taken = Vec::new();
            for (sku, quantity) in order.quantities()? {
                taken.push((sku, quantity, take_from_stock(sku, quantity, conn).await?));
            }
            let total: i64 = taken
                .iter()
                .map(|(_, quantity, price)| i64::from(*quantity) * price)
                .sum();

            let order: Order = diesel::insert_into(orders::table)
                .values((
                    orders::account.eq(&user.account),
                    orders::total_cents.eq(total),
                ))
                .returning(Order::as_returning())
                .get_result(conn)
                .await?;
            let mut lines = Vec::new();
            for (sku, quantity, price_cents) in taken {
                let line = Line {
                    order_id: order.id,
                    sku: sku.to_owned(),
                    quantity,
                    price_cents,
                };
                diesel::insert_into(order_lines::table)
                    .values(&line)
                    .execute(conn)
                    .await?;
                lines.push(line);
            }
            let receipt = Receipt {
                account: user.account,
                order_id: order.id,
                total_cents: total,
            };
            // Sent once this is committed, and not at all if it is not.
            outbox::enqueue(conn, &key, TOPIC, &receipt).await?;
            Ok(HttpResponse::Created()
                .insert_header((header::LOCATION, format!("/orders/{}", order.id)))
                .json(OrderView::new(order, Some(lines))))
        }

        /// The price of one piece. What an earlier item took goes back by itself if a later one is refused:
        /// an `Err` from the handler rolls its transaction back.
        async fn take_from_stock(
            sku: &str,
            quantity: i32,
            conn: &mut $connection,
        ) -> Result<i64, ApiError> {
            let price = diesel::update(
                products::table
                    .find(sku)
                    .filter(products::stock.ge(quantity)),
            )
            .set(products::stock.eq(products::stock - quantity))
            .returning(products::price_cents)
            .get_result(conn)
            .await
            .optional()?;
            if let Some(price) = price {
                return Ok(price);
            }
            let known = products::table
                .find(sku)
                .select(products::sku)
                .first::<String>(conn)
                .await
                .optional()?;
            Err(match known {
                Some(sku) => ApiError::OutOfStock(sku),
                None => ApiError::UnknownProduct(sku.to_owned()),
            })
        }

        /// Cancels an order that is neither paid for nor on its way, and puts its items back into stock.
        #[utoipa::path(tag = "orders", responses(
                    (status = 200, description = "The order.", body = OrderView),
                    (status = 401, response = Refused),
                    (status = 404, response = Refused),
                    (status = 409, response = Refused),
                ))]
        #[post("/orders/{id}/cancel")]
        #[idempotent(scope = "account", retain = "24h")]
        pub(crate) async fn cancel_order(
            user: AuthUser,
            id: web::Path<i64>,
            conn: &mut $connection,
        ) -> Result<HttpResponse, ApiError> {
            let open = orders::table
                .find(*id)
                .filter(orders::account.eq(&user.account))
                .filter(orders::cancelled.eq(false))
                .filter(orders::shipped.eq(false))
                .filter(orders::paid_cents.eq(0));
            let cancelled = diesel::update(open)
                .set(orders::cancelled.eq(true))
                .returning(Order::as_returning())
                .get_result(conn)
                .await
                .optional()?;
            let Some(order) = cancelled else {
                let order = find_order(&user, *id, conn).await?;
                return Err(if order.cancelled {
                    ApiError::Cancelled
                } else if order.shipped {
                    ApiError::AlreadyShipped
                } else {
                    ApiError::AlreadyPaid
                });
            };
            let lines = lines_of(&order, conn).await?;
            for line in &lines {
                diesel::update(products::table.find(&line.sku))
                    .set(products::stock.eq(products::stock + line.quantity))
                    .execute(conn)
                    .await?;
            }
            Ok(HttpResponse::Ok().json(OrderView::new(order, Some(lines))))
        }

        /// Reading needs no key, and takes a connection as in any application.
        #[utoipa::path(tag = "orders", responses(
                    (status = 200, description = "The newest hundred orders.", body = [OrderView]),
                    (status = 401, response = Refused),
                ))]
        #[get("/orders")]
        pub(crate) async fn list_orders(
            user: AuthUser,
            pool: web::Data<Pool<$connection>>,
        ) -> Result<HttpResponse, ApiError> {
            let mut conn = pool.get().await?;
            let orders = orders::table
                .filter(orders::account.eq(&user.account))
                .order(orders::id.desc())
                .limit(100)
                .select(Order::as_select())
                .load(&mut conn)
                .await?;
            let orders: Vec<_> = orders
                .into_iter()
                .map(|order| OrderView::new(order, None))
                .collect();
            Ok(HttpResponse::Ok().json(orders))
        }

        #[utoipa::path(tag = "orders", responses(
                    (status = 200, description = "The order.", body = OrderView),
                    (status = 401, response = Refused),
                    (status = 404, response = Refused),
                ))]
        #[get("/orders/{id}")]
        pub(crate) async fn get_order(
            user: AuthUser,
            id: web::Path<i64>,
            pool: web::Data<Pool<$connection>>,
        ) -> Result<HttpResponse, ApiError> {
            let mut conn = pool.get().await?;
            let order = find_order(&user, *id, &mut conn).await?;
            let lines = lines_of(&order, &mut conn).await?;
            Ok(HttpResponse::Ok().json(OrderView::new(order, Some(lines))))
        }

        /// An order of this account; somebody else's is as absent as one that does not exist.
        pub(crate) async fn find_order(
            user: &AuthUser,
            id: i64,
            conn: &mut $connection,
        ) -> Result<Order, ApiError> {
            orders::table
                .find(id)
                .filter(orders::account.eq(&user.account))
                .select(Order::as_select())
                .first(conn)
                .await
                .optional()?
                .ok_or(ApiError::NotFound)
        }

        async fn lines_of(order: &Order, conn: &mut $connection) -> Result<Vec<Line>, ApiError> {
            Ok(order_lines::table
                .filter(order_lines::order_id.eq(order.id))
                .order(order_lines::sku)
                .select(Line::as_select())
                .load(conn)
                .await?)
        }
    };
}

pub(crate) use order_handlers;
