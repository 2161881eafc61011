//! What a seal is bound to, so that sealed bytes are of no use in another row, or at another place of the same one.
//!
//! Pure values.

use sha2::digest::Update;

use crate::digest::part;

/// The operation that something is stored for.
///
/// The endpoint is in the fingerprint, as method and path of the request that it is compared with before anything is
/// replayed. The name of the route, which the row has for people, is not: a parameter that gets another name must not
/// make yesterday's records unreadable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) scope: &'a str,
    pub(crate) key: &'a str,
    /// As it stands in the row.
    pub(crate) fingerprint: &'a [u8],
}

/// What of an operation is sealed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    /// Headers and body of the response with this status.
    Response(u16),
    /// The request that is kept for a worker.
    Request,
    /// The result of the step with this name.
    Step(&'a str),
}

impl Context<'_> {
    /// Each part behind its length.
    pub(super) fn bytes(&self, of: Part<'_>) -> Vec<u8> {
        let mut bytes = Bytes(Vec::with_capacity(256));
        part(&mut bytes, b"idem seal 1");
        let number;
        let (kind, name): (&[u8], &[u8]) = match of {
            Part::Response(status) => {
                number = status.to_be_bytes();
                (b"response", &number)
            }
            Part::Request => (b"request", b""),
            Part::Step(name) => (b"step", name.as_bytes()),
        };
        for piece in [
            kind,
            name,
            self.scope.as_bytes(),
            self.key.as_bytes(),
            self.fingerprint,
        ] {
            part(&mut bytes, piece);
        }
        bytes.0
    }
}

/// Takes what a digest would.
struct Bytes(Vec<u8>);

impl Update for Bytes {
    fn update(&mut self, data: &[u8]) {
        self.0.extend_from_slice(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_things_of_any_two_operations_have_the_same_context() {
        let operations = [
            ("account:a", "k", &b"\x01fp"[..]),
            ("account:a", "k2", b"\x01fp"),
            ("account:ak", "", b"\x01fp"),
            ("account:", "ak", b"\x01fp"),
            ("account:b", "k", b"\x01fp"),
            ("account:a", "k", b"\x01fq"),
            ("account:a", "k\x01", b"fp"),
        ];
        let parts = [
            Part::Response(200),
            Part::Response(201),
            Part::Request,
            Part::Step(""),
            Part::Step("charge"),
            Part::Step("request"),
        ];
        let mut seen = std::collections::HashSet::new();
        for (scope, key, fingerprint) in operations {
            let context = Context {
                scope,
                key,
                fingerprint,
            };
            for of in parts {
                assert!(seen.insert(context.bytes(of)), "{context:?} {of:?}");
            }
        }
    }
}
