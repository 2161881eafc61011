//! Taking an order: claim the key, work, record; with the shop's defect at the place where somebody would make it.

use std::error::Error;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use actix_web::{HttpRequest, HttpResponse, get, post, web};
use serde_json::json;

use super::journal::{Answer, Entry, Journal};
use super::reply::{self, Reply};
use super::request::{Operation, Order};
use super::{Defect, Shop};

/// How long a claim is trusted by a shop that takes claims over.
const LEASE: Duration = Duration::from_secs(1);

/// What a call of somebody else takes. A shop that does not hold the key leaves room for another one meanwhile.
pub(super) const CALL: Duration = Duration::from_millis(150);

#[get("/orders")]
pub(super) async fn list_orders(shop: web::Data<Shop>) -> actix_web::Result<HttpResponse> {
    let items = on_journal(&shop.journal, Journal::items).await?;
    let items = items
        .iter()
        .map(|(id, item)| json!({"order": id, "item": item}));
    Ok(HttpResponse::Ok().json(items.collect::<Vec<_>>()))
}

#[post("/orders")]
pub(super) async fn create_order(
    request: HttpRequest,
    payload: web::Payload,
    shop: web::Data<Shop>,
) -> actix_web::Result<HttpResponse> {
    let body = match shop.defect {
        Defect::EarlyClaim => body_behind_claim(&request, payload, &shop).await?,
        _ => Ok(payload.to_bytes().await?),
    };
    let body = match body {
        Ok(body) => body,
        Err(refusal) => return Ok(refusal.response()),
    };
    let operation = match Operation::of(&request, &body, shop.defect) {
        Ok(operation) => operation,
        Err(refusal) => return Ok(refusal.response()),
    };
    let work = work(shop.get_ref().clone(), operation, body);
    if shop.defect == Defect::Abandoned {
        return work.await;
    }
    // Dropped with its connection, the work would leave its claim behind.
    let work = actix_web::rt::spawn(work);
    work.await.map_err(ErrorInternalServerError)?
}

/// The defect: if the body breaks off, nobody gives the key back.
async fn body_behind_claim(
    request: &HttpRequest,
    payload: web::Payload,
    shop: &Shop,
) -> actix_web::Result<Result<web::Bytes, Reply>> {
    let upload = match Operation::upload(request, shop.defect) {
        Ok(upload) => upload,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let claimed = upload.clone();
    let owner = on_journal(&shop.journal, move |journal| journal.claim(&claimed)).await?;
    let Some(owner) = owner else {
        return Ok(Err(reply::in_flight()));
    };
    let body = payload.to_bytes().await?;
    give_up(shop, upload, Some(owner)).await?;
    Ok(Ok(body))
}

async fn work(
    shop: Shop,
    operation: Operation,
    body: web::Bytes,
) -> actix_web::Result<HttpResponse> {
    let owner = match claim(&shop, &operation).await? {
        Ok(owner) => owner,
        Err(answer) => return Ok(answer.response()),
    };
    let Ok(order) = serde_json::from_slice::<Order>(&body) else {
        give_up(&shop, operation, owner).await?;
        return Ok(reply::unreadable().response());
    };
    tokio::time::sleep(shop.call + Duration::from_millis(order.sleep_ms)).await;
    if order.fail {
        let reply = reply::failed();
        let answer = reply.response();
        match shop.defect {
            Defect::FailureRemembered => {
                on_journal(&shop.journal, move |journal| {
                    journal.remember(&operation, &reply)
                })
                .await?;
            }
            _ => give_up(&shop, operation, owner).await?,
        }
        return Ok(answer);
    }
    let reply = on_journal(&shop.journal, move |journal| {
        let answer = |id| {
            let now = match shop.defect {
                Defect::Alike => reply::nothing(),
                _ => reply::created(id, &order),
            };
            let later = match shop.defect {
                Defect::Reserialized => now.clone().reserialized(),
                _ => now.clone(),
            };
            Answer { now, later }
        };
        let holder = match shop.defect {
            Defect::StaleTakeOver => None,
            _ => owner.as_deref(),
        };
        journal.take_order(&operation, &order, holder, answer)
    });
    Ok(reply.await?.response())
}

/// The key is ours, with the token that says so if there is one; or the answer.
async fn claim(
    shop: &Shop,
    operation: &Operation,
) -> actix_web::Result<Result<Option<String>, Reply>> {
    let (defect, operation) = (shop.defect, operation.clone());
    on_journal(&shop.journal, move |journal| {
        if defect != Defect::CheckThenAct
            && let Some(owner) = journal.claim(&operation)?
        {
            return Ok(Ok(Some(owner)));
        }
        let Some(entry) = journal.look(&operation)? else {
            return match defect {
                Defect::CheckThenAct => Ok(Ok(None)),
                // Given up between the two: whoever asks again finds it free.
                _ => Ok(Err(reply::in_flight())),
            };
        };
        if defect == Defect::StaleTakeOver
            && entry.fingerprint == operation.fingerprint
            && let Some(owner) = journal.take_over(&operation, &entry.owner, LEASE)?
        {
            return Ok(Ok(Some(owner)));
        }
        Ok(Err(judge(&operation, entry, defect)))
    })
    .await
}

fn judge(operation: &Operation, entry: Entry, defect: Defect) -> Reply {
    match entry.reply {
        _ if entry.fingerprint != operation.fingerprint => match defect {
            Defect::MismatchAsConflict => reply::conflict(),
            _ => reply::mismatch(),
        },
        Some(reply) if defect == Defect::Unmarked => reply,
        Some(reply) => reply.replayed(),
        None => reply::in_flight(),
    }
}

async fn give_up(
    shop: &Shop,
    operation: Operation,
    owner: Option<String>,
) -> actix_web::Result<()> {
    let Some(owner) = owner else { return Ok(()) };
    on_journal(&shop.journal, move |journal| {
        journal.forget(&operation, &owner)
    })
    .await
}

async fn on_journal<T: Send + 'static>(
    journal: &Journal,
    work: impl FnOnce(&Journal) -> Result<T, Box<dyn Error + Send + Sync>> + Send + 'static,
) -> actix_web::Result<T> {
    let journal = journal.clone();
    let done = web::block(move || work(&journal)).await?;
    done.map_err(ErrorInternalServerError)
}
