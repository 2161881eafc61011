//! Where a handler is served, as far as the program says so: what `#[utoipa::path]` on the same function says.
//!
//! Pure values; this is what is known of `utoipa` without the feature `openapi`.

use crate::policy::IdempotencyPolicy;

/// The operation that `#[utoipa::path]` describes on a handler.
#[derive(Debug, Clone)]
pub struct Described {
    /// The name of the type that describes it, in full.
    pub(crate) by: &'static str,
    /// In capitals.
    pub(crate) methods: Vec<&'static str>,
    /// The route, without what it is nested under.
    pub(crate) path: String,
    #[cfg(feature = "openapi")]
    pub(crate) id: Option<String>,
}

impl Described {
    /// What is said of the handler itself. Its module may have the description of another module's function of the
    /// same name, by way of a `use other::*`.
    pub(crate) fn of(policy: &IdempotencyPolicy) -> Option<Self> {
        let described = policy.operation?();
        let (module, function) = policy.handler.rsplit_once("::")?;
        let is_of = described.by.strip_prefix(module) == Some(&format!("::__path_{function}"));
        is_of.then_some(described)
    }

    /// Method and route, one for each method.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        let methods = self.methods.iter();
        methods
            .map(|method| format!("{method} {}", self.path))
            .collect()
    }
}

/// Without the feature `openapi` nobody knows.
#[cfg(not(feature = "openapi"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __operation {
    ($path:ident) => {
        ::core::option::Option::None
    };
}

/// The operation that `#[utoipa::path]` describes on a function, which is its type `__path_NAME` beside the function.
///
/// Whether there is one is for the compiler to find: the attribute may stand above ours and be gone. In the inner block the
/// name is first looked for in the module; only where the module has none is it the alias of the outer block.
#[cfg(feature = "openapi")]
#[doc(hidden)]
#[macro_export]
macro_rules! __operation {
    ($path:ident) => {{
        #[allow(non_camel_case_types, dead_code)]
        type $path = $crate::private::Undescribed;
        {
            #[allow(unused_imports, clippy::wildcard_imports)]
            use self::*;
            ::core::option::Option::Some($crate::private::described::<$path>)
        }
    }};
}
