//! HTTP/1.1 as it is on the wire: nothing is tidied on its way in or out, and a request may be cut short.

mod connection;
mod request;
mod response;

pub use connection::Connection;
pub use request::Request;
pub use response::Response;
