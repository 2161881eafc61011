//! [`Handler`] → tokens: one item that ends in one call of the runtime.
//!
//! Cannot fail; everything that could go wrong has been refused before.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{ItemFn, ReturnType, Visibility};

use crate::choices::{
    BodyForm, ExpiredKeys, InFlight, Isolation, KeyRule, Resume, Scope, Store, Unresolved,
};
use crate::handler::{Handler, Lease, Policy};
use crate::signature::{Argument, Arguments};

/// The longest tuple that `actix_web::FromRequest` is implemented for in every 4.x release.
const LONGEST_TUPLE: usize = 12;

// Input:
//
//     #[post("/orders")]
//     #[instrument(skip(conn))]
//     pub async fn create_order(order: Json<NewOrder>, conn: &mut AsyncPgConnection) -> Result<Order, OrderError> {
//         BODY
//     }
//
// Output:
//
//     #[post("/orders")]
//     #[allow(clippy::future_not_send)]
//     pub async fn create_order(__incoming: Incoming) -> HttpResponse {
//         #[instrument(skip(conn))]
//         async fn create_order(order: Json<NewOrder>, conn: &mut AsyncPgConnection) -> Result<Order, OrderError> {
//             BODY
//         }
//         run(
//             __incoming,
//             {
//                 static __POLICY: IdempotencyPolicy = policy(Declared { … });
//                 submit! { Registration(&__POLICY) }
//                 &__POLICY
//             },
//             async |(__argument_0,): (Json<NewOrder>,), __connection: &mut AsyncPgConnection, __request: &HttpRequest|
//                 respond(create_order(__argument_0, __connection).await, __request),
//         )
//         .await
//     }
//
// In lease mode there is no connection, and the call is `run_leased(__incoming, …, async |…, __request| …).await`. For a
// function that is not `async` it is `run_blocking(__incoming, …, |…, __connection: &mut PgConnection, __request| …).await`,
// and the connection that is declared is `Blocking<PgConnection>`.
//
// The user's body is in a function of its own, beside the block with the static and the closure with our
// variables, so none of our names can be reached from it.
pub(crate) fn expand(handler: Handler) -> TokenStream {
    let Handler {
        attributes,
        function,
        arguments,
        policy,
    } = handler;
    let span = Span::mixed_site();
    let outer = &attributes.outer;
    let visibility = function.vis.clone();
    let name = function.sig.ident.clone();
    let connection = connection(&function, &arguments);
    let policy = declaration(&policy, &name, connection);
    let closure = closure(&function, &arguments);
    // A parameter that is no extractor, or no connection, is reported where the parameters are written.
    let at_parameters = span.located_at(function.sig.paren_token.span.join());
    let run = match (&arguments.connection, &function.sig.asyncness) {
        (Some(_), Some(_)) => quote_spanned!(at_parameters=> run),
        (Some(_), None) => quote_spanned!(at_parameters=> run_blocking),
        (None, _) => quote_spanned!(at_parameters=> run_leased),
    };
    let call = quote_spanned! {at_parameters=>
        ::idem_runtime::private::#run(__incoming, #policy, #closure).await
    };
    let inner = ItemFn {
        attrs: attributes.inner,
        vis: Visibility::Inherited,
        ..function
    };

    quote_spanned! {span=>
        #(#outer)*
        #[allow(clippy::future_not_send)]
        #visibility async fn #name(
            __incoming: ::idem_runtime::private::Incoming,
        ) -> ::idem_runtime::private::HttpResponse {
            #inner
            #call
        }
    }
}

// Input:
//
//     (Json((id, _)): Json<(u32, u32)>, conn: &mut AsyncPgConnection, order: Json<NewOrder>)
//
// Output:
//
//     async |
//         (__argument_0, __argument_1): (Json<(u32, u32)>, Json<NewOrder>),
//         __connection: &mut AsyncPgConnection,
//         __request: &HttpRequest,
//     | respond(create_order(__argument_0, __connection, __argument_1).await, __request)
//
// Input in lease mode:
//
//     (order: Json<NewOrder>, steps: Steps)
//
// Output:
//
//     async |(__argument_0, __argument_1): (Json<NewOrder>, Steps), __request: &HttpRequest|
//         respond(create_order(__argument_0, __argument_1).await, __request)
//
// For a function that is not `async` the closure is none either, and nothing is awaited.
fn closure(function: &ItemFn, arguments: &Arguments) -> TokenStream {
    let span = Span::mixed_site();
    let name = &function.sig.ident;
    let connection = arguments
        .connection
        .iter()
        .map(|connection| quote_spanned!(span=> __connection: &mut #connection));
    let mut extractors = Vec::new();
    let mut passed = Vec::new();
    for argument in &arguments.list {
        passed.push(match argument {
            Argument::Connection => Ident::new("__connection", span),
            Argument::Extractor(ty) => {
                let variable = format_ident!("__argument_{}", extractors.len(), span = span);
                extractors.push((variable.clone(), &**ty));
                variable
            }
        });
    }
    let (variables, types) = tuples(&extractors);
    // A return type that actix-web cannot answer with is reported where it is written.
    let at_output = match &function.sig.output {
        ReturnType::Type(_, ty) => span.located_at(ty.span()),
        ReturnType::Default => span,
    };
    let (asynchronous, awaited) = match function.sig.asyncness {
        Some(_) => (
            quote_spanned!(span=> async),
            quote_spanned!(at_output=> .await),
        ),
        None => Default::default(),
    };
    let respond = quote_spanned! {at_output=>
        ::idem_runtime::private::respond(#name(#(#passed),*) #awaited, __request)
    };

    quote_spanned! {span=>
        #asynchronous |
            #variables: #types,
            #(#connection,)*
            __request: &::idem_runtime::private::HttpRequest,
        | #respond
    }
}

/// The pattern and the type of all extractors together: a tuple, or, if there are many, a tuple of tuples.
fn tuples(extractors: &[(Ident, &syn::Type)]) -> (TokenStream, TokenStream) {
    let span = Span::mixed_site();
    let mut chunks = extractors.chunks(LONGEST_TUPLE).map(|chunk| {
        let (variables, types): (Vec<_>, Vec<_>) = chunk.iter().cloned().unzip();
        (
            quote_spanned!(span=> (#(#variables,)*)),
            quote_spanned!(span=> (#(#types,)*)),
        )
    });
    if extractors.len() <= LONGEST_TUPLE {
        let none = || (quote_spanned!(span=> ()), quote_spanned!(span=> ()));
        return chunks.next().unwrap_or_else(none);
    }
    let (variables, types): (Vec<_>, Vec<_>) = chunks.unzip();
    (
        quote_spanned!(span=> (#(#variables,)*)),
        quote_spanned!(span=> (#(#types,)*)),
    )
}

/// What the application's `Idempotency` lends: the connection itself, or for a blocking handler the one that is
/// around it.
fn connection(function: &ItemFn, arguments: &Arguments) -> Option<TokenStream> {
    let span = Span::mixed_site();
    arguments
        .connection
        .as_ref()
        .map(|connection| match function.sig.asyncness {
            Some(_) => quote_spanned!(span=> #connection),
            None => quote_spanned!(span=> ::idem_runtime::private::Blocking<#connection>),
        })
}

/// A block around the static, so that its name is seen by nothing else.
fn declaration(policy: &Policy, function: &Ident, connection: Option<TokenStream>) -> TokenStream {
    let span = Span::mixed_site();
    let handler = function.unraw().to_string();
    let connection =
        option(connection.map(|ty| quote_spanned!(span=> ::core::any::TypeId::of::<#ty>)));
    let scope = scope(&policy.scope);
    let retain_ms = milliseconds(policy.retain);
    let store = store(policy.store);
    let in_flight = in_flight(policy.in_flight);
    let key = key(policy.key);
    let expired_keys = expired_keys(policy.expired_keys);
    let fingerprint = fingerprint(policy.fingerprint);
    let body_limit = policy.body_limit as usize;
    let response_limit = policy.response_limit as usize;
    let redact = &policy.redact;
    let timeout_ms = milliseconds(policy.timeout);
    let isolation = option(policy.isolation.map(isolation));
    let retries = policy.retries;
    let lease = option(policy.lease.as_ref().map(lease));
    let operation = format_ident!("__path_{}", function);

    quote_spanned! {span=>
        {
            static __POLICY: ::idem_runtime::private::IdempotencyPolicy = ::idem_runtime::private::policy(
                ::idem_runtime::private::Declared {
                    handler: ::core::concat!(::core::module_path!(), "::", #handler),
                    scope: #scope,
                    retain_ms: #retain_ms,
                    store: #store,
                    in_flight: #in_flight,
                    key: #key,
                    expired_keys: #expired_keys,
                    fingerprint: #fingerprint,
                    body_limit: #body_limit,
                    response_limit: #response_limit,
                    redact: &[#(#redact),*],
                    timeout_ms: #timeout_ms,
                    isolation: #isolation,
                    retries: #retries,
                    lease: #lease,
                    connection: #connection,
                    operation: ::idem_runtime::private::operation!(#operation),
                },
            );
            ::idem_runtime::private::submit! { ::idem_runtime::private::Registration(&__POLICY) }
            &__POLICY
        }
    }
}

fn scope(scope: &Scope) -> TokenStream {
    let span = Span::mixed_site();
    match scope {
        Scope::Account => quote_spanned!(span=> ::idem_runtime::private::Scope::Account),
        Scope::Endpoint => quote_spanned!(span=> ::idem_runtime::private::Scope::Endpoint),
        Scope::Global => quote_spanned!(span=> ::idem_runtime::private::Scope::Global),
        Scope::Named(name) => quote_spanned!(span=> ::idem_runtime::private::Scope::Named(#name)),
    }
}

fn store(store: Store) -> TokenStream {
    let span = Span::mixed_site();
    match store {
        Store::Final => quote_spanned!(span=> ::idem_runtime::private::Store::Final),
        Store::Success => quote_spanned!(span=> ::idem_runtime::private::Store::Success),
        Store::All => quote_spanned!(span=> ::idem_runtime::private::Store::All),
    }
}

fn in_flight(in_flight: InFlight) -> TokenStream {
    let span = Span::mixed_site();
    match in_flight {
        InFlight::Reject => quote_spanned!(span=> ::idem_runtime::private::InFlight::Reject),
        InFlight::Wait(length) => {
            let length = milliseconds(length);
            quote_spanned! {span=>
                ::idem_runtime::private::InFlight::Wait(::core::time::Duration::from_millis(#length))
            }
        }
        InFlight::Accept => quote_spanned!(span=> ::idem_runtime::private::InFlight::Accept),
    }
}

fn key(key: KeyRule) -> TokenStream {
    let span = Span::mixed_site();
    match key {
        KeyRule::Required => quote_spanned!(span=> ::idem_runtime::private::KeyRule::Required),
        KeyRule::Optional => quote_spanned!(span=> ::idem_runtime::private::KeyRule::Optional),
    }
}

fn expired_keys(expired_keys: ExpiredKeys) -> TokenStream {
    let span = Span::mixed_site();
    match expired_keys {
        ExpiredKeys::Run => quote_spanned!(span=> ::idem_runtime::private::ExpiredKeys::Run),
        ExpiredKeys::Refuse => quote_spanned!(span=> ::idem_runtime::private::ExpiredKeys::Refuse),
    }
}

fn fingerprint(fingerprint: BodyForm) -> TokenStream {
    let span = Span::mixed_site();
    match fingerprint {
        BodyForm::Json => quote_spanned!(span=> ::idem_runtime::private::BodyForm::Json),
        BodyForm::Raw => quote_spanned!(span=> ::idem_runtime::private::BodyForm::Raw),
    }
}

fn isolation(isolation: Isolation) -> TokenStream {
    let span = Span::mixed_site();
    let level = match isolation {
        Isolation::ReadCommitted => quote_spanned!(span=> ReadCommitted),
        Isolation::RepeatableRead => quote_spanned!(span=> RepeatableRead),
        Isolation::Serializable => quote_spanned!(span=> Serializable),
    };
    quote_spanned!(span=> ::idem_runtime::private::Isolation::#level)
}

fn lease(lease: &Lease) -> TokenStream {
    let span = Span::mixed_site();
    let length_ms = milliseconds(lease.length);
    let unresolved = match lease.unresolved {
        Unresolved::Hold => quote_spanned!(span=> Hold),
        Unresolved::Rerun => quote_spanned!(span=> Rerun),
    };
    let resume = match lease.resume {
        Resume::Client => quote_spanned!(span=> Client),
        Resume::Background => quote_spanned!(span=> Background),
    };
    quote_spanned! {span=>
        ::idem_runtime::private::lease(
            #length_ms,
            ::idem_runtime::private::Unresolved::#unresolved,
            ::idem_runtime::private::Resume::#resume,
        )
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    let span = Span::mixed_site();
    match value {
        Some(value) => quote_spanned!(span=> ::core::option::Option::Some(#value)),
        None => quote_spanned!(span=> ::core::option::Option::None),
    }
}

/// At most ten times ten years, in which a `u64` is not even scratched.
fn milliseconds(length: std::time::Duration) -> u64 {
    length.as_secs() * 1000 + u64::from(length.subsec_millis())
}
