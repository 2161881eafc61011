//! Where a server is, out of a URL. What is printed of one is neither its password nor its query.

use hyper::Uri;

use crate::error::Error;

#[derive(Clone)]
pub(super) struct Place {
    pub(super) is_secure: bool,
    pub(super) host: String,
    pub(super) port: u16,
    /// As the `Host` header says it.
    pub(super) authority: String,
    /// Path and query.
    pub(super) target: String,
    /// For people.
    pub(super) shown: String,
}

impl Place {
    pub(super) fn of(option: &str, url: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Usage(format!("{option}: {what}"));
        let uri: Uri = url.parse().map_err(|_| wrong("this is not a URL"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("a URL begins with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("this names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("say who you are in a --header, not in the URL"));
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(wrong("this names no host"));
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        let query = uri.query().map_or("", |_| "?..");
        Ok(Self {
            is_secure,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: authority
                .port_u16()
                .unwrap_or(if is_secure { 443 } else { 80 }),
            authority: authority.to_string(),
            target: uri
                .path_and_query()
                .map_or("/", |target| target.as_str())
                .to_owned(),
            shown: format!("{scheme}://{authority}{}{query}", uri.path()),
        })
    }

    /// The same with one more member of the query.
    pub(super) fn with_query(&self, member: &str) -> String {
        let joint = if self.target.contains('?') { '&' } else { '?' };
        format!("{}{joint}{member}", self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_password_nor_a_query_is_printed() {
        let place = Place::of("URL", "https://shop.example/orders?token=hunter2").unwrap();
        assert_eq!(place.shown, "https://shop.example/orders?..");
        assert_eq!((place.port, place.is_secure), (443, true));
        assert_eq!(place.with_query("a=1"), "/orders?token=hunter2&a=1");
        for url in [
            "http://me:hunter2@shop/",
            "ftp://hunter2",
            "hunter2",
            "http://",
        ] {
            let error = Place::of("URL", url).err().unwrap().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_address_of_ipv6_is_one() {
        let place = Place::of("URL", "http://[::1]:8080").unwrap();
        assert_eq!((place.host.as_str(), place.port), ("::1", 8080));
        assert_eq!(place.authority, "[::1]:8080");
        assert_eq!(place.with_query("a=1"), "/?a=1");
    }
}
