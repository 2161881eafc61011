//! The checkout page, at `/checkout/`: its files, which are part of the program, and what a browser is told about them. What the page
//! does is in `web/`.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use actix_web::{HttpResponse, web};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Its name below `/checkout/`, its media type and its text.
type File = (&'static str, &'static str, &'static str);

const FILES: [File; 6] = [
    ("", HTML, include_str!("../web/checkout.html")),
    (
        "checkout.css",
        "text/css; charset=utf-8",
        include_str!("../web/checkout.css"),
    ),
    ("checkout.js", SCRIPT, include_str!("../web/checkout.js")),
    ("basket.js", SCRIPT, include_str!("../web/basket.js")),
    (
        "idempotent-fetch.js",
        SCRIPT,
        include_str!("../web/idempotent-fetch.js"),
    ),
    ("icon.svg", "image/svg+xml", include_str!("../web/icon.svg")),
];

/// Files and requests of this origin, and nothing else: no script in the page, no frame around it, and no form that a browser
/// would send without the script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The page; `/` and `/checkout` lead there.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    for (name, media_type, text) in FILES {
        let file = move || async move {
            HttpResponse::Ok()
                .content_type(media_type)
                .insert_header((CONTENT_SECURITY_POLICY, POLICY))
                .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
                // The next version of the program may have others.
                .insert_header((CACHE_CONTROL, "no-cache"))
                .body(text)
        };
        app.route(&format!("/checkout/{name}"), web::get().to(file));
    }
    app.service(web::redirect("/", "/checkout/"))
        .service(web::redirect("/checkout", "/checkout/"));
}
