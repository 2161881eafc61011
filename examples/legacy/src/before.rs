//! The application: orders over `r2d2` and `web::block`. `DATABASE_URL` names a PostgreSQL database, `PORT` a port.

use std::env;
use std::error::Error;

use actix_web::web::{Data, Json, block};
use actix_web::{App, HttpResponse, HttpServer, get, post};
use diesel::prelude::*;
use diesel::r2d2::ConnectionManager;
use legacy::{Answer, Customer, NewOrder, Pool, migrate, place, placed};

#[post("/orders")]
async fn create(order: Json<NewOrder>, who: Customer, pool: Data<Pool>) -> Answer {
    let order = block(move || place(&mut *pool.get()?, &who, &order)).await??;
    Ok(HttpResponse::Created().json(order))
}

#[get("/orders")]
async fn list(who: Customer, pool: Data<Pool>) -> Answer {
    let orders = block(move || placed(&mut *pool.get()?, &who)).await??;
    Ok(HttpResponse::Ok().json(orders))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = env::var("DATABASE_URL")?;
    let port = env::var("PORT").ok();
    let port = port.map_or(Ok(8080), |port| port.parse::<u16>())?;
    migrate(&url)?;
    let pool = Pool::builder()
        .max_size(8)
        .build(ConnectionManager::<PgConnection>::new(url))?;
    let server = HttpServer::new(move || {
        App::new()
            .app_data(Data::new(pool.clone()))
            .service(create)
            .service(list)
    })
    .bind(("127.0.0.1", port))?;
    for address in server.addrs() {
        println!("http://{address}/orders");
    }
    server.run().await?;
    Ok(())
}
