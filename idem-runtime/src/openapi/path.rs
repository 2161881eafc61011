//! What `utoipa` says of one operation, as [`Described`].

use utoipa::Path;
use utoipa::openapi::HttpMethod;
use utoipa::openapi::path::Operation;

use crate::described::Described;

/// What a path says, under the name of its type.
#[must_use]
pub fn described<P: Path>() -> Described {
    Described {
        by: std::any::type_name::<P>(),
        methods: P::methods().iter().map(name).collect(),
        path: P::path(),
        id: P::operation().operation_id,
    }
}

fn name(method: &HttpMethod) -> &'static str {
    match method {
        HttpMethod::Get => "GET",
        HttpMethod::Post => "POST",
        HttpMethod::Put => "PUT",
        HttpMethod::Delete => "DELETE",
        HttpMethod::Options => "OPTIONS",
        HttpMethod::Head => "HEAD",
        HttpMethod::Patch => "PATCH",
        HttpMethod::Trace => "TRACE",
    }
}

/// In place of the path of a function without `#[utoipa::path]`.
#[derive(Debug)]
pub struct Undescribed;

impl Path for Undescribed {
    fn methods() -> Vec<HttpMethod> {
        Vec::new()
    }

    fn path() -> String {
        String::new()
    }

    fn operation() -> Operation {
        Operation::new()
    }
}
