use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

struct Service;

impl Service {
    #[idempotent]
    async fn handler(&self, _conn: &mut AsyncPgConnection) -> HttpResponse {
        HttpResponse::Ok().finish()
    }
}

fn main() {
    let _ = Service::handler;
}
