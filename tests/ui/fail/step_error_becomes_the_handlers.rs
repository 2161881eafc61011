use actix_web::{HttpResponse, ResponseError};
use idem_runtime::{Steps, idempotent};

#[derive(Debug)]
struct OrderError;

impl std::fmt::Display for OrderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl ResponseError for OrderError {}

async fn charge(_key: &str) -> Result<u32, OrderError> {
    Ok(1)
}

#[idempotent(mode = "lease")]
async fn handler(steps: Steps) -> Result<HttpResponse, OrderError> {
    let _receipt = steps.call("charge", async |key| charge(&key).await).await?;
    Ok(HttpResponse::Created().finish())
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
