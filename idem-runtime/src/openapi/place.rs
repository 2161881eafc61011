//! Where a handler's operation is in a document, or why nobody can say.
//!
//! Looks only.

use std::fmt;

use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

use crate::describe::Terms;
use crate::described::Described;
use crate::policy::IdempotencyPolicy;

/// A method that a key goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    const ALL: [Self; 4] = [Self::Post, Self::Put, Self::Patch, Self::Delete];

    fn name(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    fn of(self, item: &PathItem) -> Option<&Operation> {
        match self {
            Self::Post => item.post.as_ref(),
            Self::Put => item.put.as_ref(),
            Self::Patch => item.patch.as_ref(),
            Self::Delete => item.delete.as_ref(),
        }
    }

    pub(crate) fn of_mut(self, item: &mut PathItem) -> Option<&mut Operation> {
        match self {
            Self::Post => item.post.as_mut(),
            Self::Put => item.put.as_mut(),
            Self::Patch => item.patch.as_mut(),
            Self::Delete => item.delete.as_mut(),
        }
    }
}

/// One operation in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) method: Method,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.name(), self.path)
    }
}

/// A protected handler that has no operation of its own in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmatched {
    /// The handler's path in the program.
    pub handler: &'static str,
    /// Why there is none.
    pub reason: Reason,
}

/// Why a handler has no operation of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no `#[utoipa::path]` on the function.
    Undescribed,
    /// No operation of the document is the one that `#[utoipa::path]` describes.
    Missing {
        /// What it describes: methods and route.
        endpoints: Vec<String>,
        /// Its operation id.
        operation_id: String,
    },
    /// Several operations are like it, or it is like that of a handler that declares something else.
    Ambiguous {
        /// The operation id that they share.
        operation_id: String,
        /// What shares it: endpoints, or handlers.
        among: Vec<String>,
    },
}

impl Unmatched {
    pub(crate) fn new(policy: &IdempotencyPolicy, reason: Reason) -> Self {
        Self {
            handler: policy.handler,
            reason,
        }
    }
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.handler)?;
        match &self.reason {
            Reason::Undescribed => f.write_str("has no `#[utoipa::path(..)]`"),
            Reason::Missing {
                endpoints,
                operation_id,
            } => write!(
                f,
                "is described as `{operation_id}`, {}, and the document has no such operation: add it to `paths(..)`",
                endpoints.join(", ")
            ),
            Reason::Ambiguous {
                operation_id,
                among,
            } => write!(
                f,
                "shares the operation id `{operation_id}` with others ({}): give each its own",
                among.join(", ")
            ),
        }
    }
}

impl std::error::Error for Unmatched {}

/// What becomes of one handler: its operations, one for each of its methods, or why there are none.
pub(crate) type Matched = (&'static IdempotencyPolicy, Result<Vec<Place>, Reason>);

pub(crate) fn find(policies: &[&'static IdempotencyPolicy], document: &OpenApi) -> Vec<Matched> {
    let candidates: Vec<_> = policies
        .iter()
        .map(|policy| Candidate::new(policy, document))
        .collect();
    let matched = candidates
        .iter()
        .map(|candidate| (candidate.policy, candidate.judge(&candidates)));
    matched.collect()
}

struct Candidate {
    policy: &'static IdempotencyPolicy,
    terms: Terms,
    described: Option<Described>,
    places: Vec<Place>,
}

impl Candidate {
    fn new(policy: &'static IdempotencyPolicy, document: &OpenApi) -> Self {
        let described = Described::of(policy);
        Self {
            policy,
            terms: Terms::of(policy),
            places: described
                .as_ref()
                .map(|described| like(described, document))
                .unwrap_or_default(),
            described,
        }
    }

    fn judge(&self, all: &[Self]) -> Result<Vec<Place>, Reason> {
        let described = self.described.as_ref().ok_or(Reason::Undescribed)?;
        let operation_id = described.id.clone().unwrap_or_default();
        let Some(first) = self.places.first() else {
            return Err(Reason::Missing {
                endpoints: described.endpoints(),
                operation_id,
            });
        };
        let mut among = Vec::new();
        if self.places.iter().any(|place| place.path != first.path) {
            among.extend(self.places.iter().map(Place::to_string));
        }
        // Handlers that declare the same do no harm: one that is made for each type of connection.
        let others = all.iter().filter(|other| {
            other.terms != self.terms
                && other.places.iter().any(|place| self.places.contains(place))
        });
        among.extend(others.map(|other| other.policy.handler.to_owned()));
        match among.is_empty() {
            true => Ok(self.places.clone()),
            false => Err(Reason::Ambiguous {
                operation_id,
                among,
            }),
        }
    }
}

/// The operations with the same id, method and route, whatever they are nested under.
fn like(described: &Described, document: &OpenApi) -> Vec<Place> {
    let mut places = Vec::new();
    for (path, item) in &document.paths.paths {
        for method in Method::ALL {
            let is_served = described.methods.contains(&method.name());
            let operation = method.of(item).filter(|_| is_served);
            if operation.is_some_and(|operation| operation.operation_id == described.id)
                && is_under(path, &described.path)
            {
                let path = path.clone();
                places.push(Place { path, method });
            }
        }
    }
    places
}

/// Whether a path is this route, or a prefix and then this route.
fn is_under(path: &str, route: &str) -> bool {
    let is_whole = route.is_empty() || route.starts_with('/');
    path == route || is_whole && path.ends_with(route)
}

#[cfg(test)]
mod tests {
    use super::is_under;

    #[test]
    fn a_route_is_found_as_it_is_and_behind_a_prefix() {
        assert!(is_under("/orders", "/orders"));
        assert!(is_under("/api/v1/orders", "/orders"));
        assert!(is_under("/orders", ""));
        assert!(!is_under("/reorders", "/orders"));
        assert!(!is_under("/reorders", "orders"));
        assert!(!is_under("/orders/{id}", "/orders"));
    }
}
