use actix_web::get;
use idem_runtime::idempotent;

#[idempotent(retian = "24h", store = "none")]
#[get("/")]
fn handler<T>(_body: T) {}

fn main() {
    let _ = actix_web::App::new().service(handler);
}
