//! What tests ask of the process itself. No key protects these.

use std::sync::atomic::Ordering;

use actix_web::{HttpResponse, Responder, error, get, post, web};
use serde::Deserialize;
use serde_json::json;

use crate::leased::provider;
use crate::tools::Tools;
use crate::{effects, fatal};

#[derive(Deserialize)]
struct Labelled {
    label: String,
}

#[derive(Deserialize)]
struct Gate {
    name: String,
    #[serde(default)]
    count: usize,
}

#[derive(Deserialize)]
struct Arm {
    at: u32,
}

#[derive(Deserialize)]
struct Mood {
    refuse: bool,
}

#[get("/effects")]
async fn count(
    query: web::Query<Labelled>,
    tools: web::Data<Tools>,
) -> actix_web::Result<impl Responder> {
    let committed = effects::committed(&tools.url, &query.label).await;
    let committed =
        committed.map_err(|failure| error::ErrorServiceUnavailable(failure.to_string()))?;
    let calls = provider::calls(&tools.url, &query.label).await;
    let calls = calls.map_err(|failure| error::ErrorServiceUnavailable(failure.to_string()))?;
    let entered = tools.entered(&query.label);
    Ok(web::Json(
        json!({ "committed": committed, "entered": entered, "calls": calls }),
    ))
}

#[get("/entered")]
async fn entries(query: web::Query<Labelled>, tools: web::Data<Tools>) -> impl Responder {
    tools.entered(&query.label).to_string()
}

#[get("/gate")]
async fn reached(query: web::Query<Gate>, tools: web::Data<Tools>) -> impl Responder {
    tools.gates.reached(&query.name, query.count).await;
    HttpResponse::NoContent()
}

#[post("/gate")]
async fn open(query: web::Query<Gate>, tools: web::Data<Tools>) -> impl Responder {
    tools.gates.open(&query.name);
    HttpResponse::NoContent()
}

#[post("/arm")]
async fn arm(query: web::Query<Arm>) -> impl Responder {
    fatal::arm(query.at);
    HttpResponse::NoContent()
}

#[post("/fussy")]
async fn mood(query: web::Query<Mood>, tools: web::Data<Tools>) -> impl Responder {
    tools.is_fussy.store(query.refuse, Ordering::SeqCst);
    HttpResponse::NoContent()
}

/// How many expired records were deleted.
#[post("/prune")]
async fn prune(tools: web::Data<Tools>) -> actix_web::Result<impl Responder> {
    let pruned = effects::prune(&tools.url).await;
    let pruned = pruned.map_err(|failure| error::ErrorServiceUnavailable(failure.to_string()))?;
    Ok(pruned.to_string())
}

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(count)
        .service(entries)
        .service(reached)
        .service(open)
        .service(arm)
        .service(prune)
        .service(mood);
}
