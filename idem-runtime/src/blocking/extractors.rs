//! What a blocking handler takes: extractors that can go to its thread.

/// Something that can go to the thread of a blocking handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot go to the thread on which a blocking handler runs",
    label = "an extractor here is `{Self}`, which is not `Send`",
    note = "take what the handler needs of it instead, by value: `web::Path`, `web::Query`, `web::Header`, \
            `web::ReqData`, `web::Data`, or a small struct with a `FromRequest` of your own, which reads it \
            from the request (its headers, its extensions, the session) before the handler runs",
    note = "or write `async fn`, with a connection of diesel-async"
)]
pub trait Portable: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Portable for T {}

/// All of a handler's extractors together.
pub trait Extractors: Send + 'static {}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Portable),*> Extractors for ($($name,)*) {}
    };
}

tuples! {}
tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J K }
tuples! { A B C D E F G H I J K L }
