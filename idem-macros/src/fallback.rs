//! An item that cannot be protected comes back beside the error, so that the editor goes on working on it.
//!
//! Made so that the error is the only message: what stands elsewhere about the handler must still compile.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ItemFn, Visibility};

use crate::attributes::Attributes;

/// An item that is not a function, untouched.
pub(crate) fn item(error: &syn::Error, item: &TokenStream) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #item)
}

// Input:
//
//     #[post("/orders")]
//     pub async fn create_order(order: Json<NewOrder>) -> Result<Order, OrderError> { BODY }
//
// Output:
//
//     compile_error! { … }
//     #[post("/orders")]
//     pub async fn create_order() -> HttpResponse {
//         #[allow(dead_code)]
//         async fn create_order(order: Json<NewOrder>) -> Result<Order, OrderError> { BODY }
//         unimplemented!()
//     }
//
// The outer function is one that a route accepts, whether the route macro stands above or below us, or none does.
pub(crate) fn function(error: &syn::Error, mut function: ItemFn) -> TokenStream {
    let span = Span::mixed_site();
    let error = error.to_compile_error();
    let Attributes { outer, inner } = Attributes::split(&function.attrs);
    // The compiler has words of its own for these two.
    function.sig.constness = None;
    function.sig.variadic = None;
    function.attrs = inner;

    // Only an associated function can have it, and an associated function cannot be a route.
    if function.sig.receiver().is_some() {
        return quote!(#error #function);
    }
    let visibility = std::mem::replace(&mut function.vis, Visibility::Inherited);
    let name = &function.sig.ident;
    quote_spanned! {span=>
        #error
        #(#outer)*
        #visibility async fn #name() -> ::idem_runtime::private::HttpResponse {
            #[allow(dead_code)]
            #function
            ::core::unimplemented!()
        }
    }
}
