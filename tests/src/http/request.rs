//! A request as bytes.

use serde_json::Value;

/// A request; header lines are sent in the order in which they were given.
#[derive(Clone, Debug)]
pub struct Request {
    method: &'static str,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    None,
    Fixed(Vec<u8>),
    Chunked(Vec<Vec<u8>>),
}

impl Request {
    /// A POST; `path` may have a query.
    pub fn post(path: &str) -> Self {
        Self::with_method("POST", path)
    }

    /// A GET.
    pub fn get(path: &str) -> Self {
        Self::with_method("GET", path)
    }

    /// Any method.
    pub fn with_method(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.into(),
            headers: Vec::new(),
            body: Body::None,
        }
    }

    /// `Authorization: Bearer ACCOUNT:ANYTHING`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// The key, exactly as it stands on the line.
    #[must_use]
    pub fn key(self, key: impl AsRef<[u8]>) -> Self {
        self.header("Idempotency-Key", key)
    }

    /// One more header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    /// A JSON body with its media type.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.typed("application/json", value.to_string())
    }

    /// A body with its media type.
    #[must_use]
    pub fn typed(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", media_type).body(body)
    }

    /// A body of known length.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Fixed(body.into());
        self
    }

    /// A body in chunks.
    #[must_use]
    pub fn chunked<C: Into<Vec<u8>>>(mut self, chunks: impl IntoIterator<Item = C>) -> Self {
        self.body = Body::Chunked(chunks.into_iter().map(Into::into).collect());
        self
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// What goes on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut wire =
            format!("{} {} HTTP/1.1\r\nHost: test\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            line(&mut wire, name, value);
        }
        match &self.body {
            Body::None if self.method == "POST" => line(&mut wire, "Content-Length", b"0"),
            Body::None => {}
            Body::Fixed(body) => line(
                &mut wire,
                "Content-Length",
                body.len().to_string().as_bytes(),
            ),
            Body::Chunked(_) => line(&mut wire, "Transfer-Encoding", b"chunked"),
        }
        wire.extend(b"\r\n");
        match &self.body {
            Body::None => {}
            Body::Fixed(body) => wire.extend(body),
            Body::Chunked(chunks) => {
                for chunk in chunks {
                    wire.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    wire.extend(chunk);
                    wire.extend(b"\r\n");
                }
                wire.extend(b"0\r\n\r\n");
            }
        }
        wire
    }
}

fn line(wire: &mut Vec<u8>, name: &str, value: &[u8]) {
    wire.extend(name.as_bytes());
    wire.extend(b": ");
    wire.extend(value);
    wire.extend(b"\r\n");
}
