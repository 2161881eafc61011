use actix_web::HttpResponse;
use idem_runtime::{StepError, Steps, idempotent};

struct Receipt;

#[idempotent(mode = "lease")]
async fn handler(steps: Steps) -> Result<HttpResponse, StepError> {
    let Receipt = steps.call("charge", async |_key| Ok::<_, StepError>(Receipt)).await?;
    Ok(HttpResponse::Created().finish())
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
