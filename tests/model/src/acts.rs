//! The actions of a model: those of the code carry the names of its functions, those of the world do not.

/// Declares the actions of a model, and the list of the functions that they stand for.
macro_rules! acts {
    (
        $(#[$about:meta])* $name:ident
        code { $($(#[$of_code:meta])* $code:ident = $function:literal in $file:literal,)* }
        world { $($(#[$of_world:meta])* $world:ident,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of_code])* $code,)*
            $($(#[$of_world])* $world,)*
        }

        impl $name {
            /// The functions of the code that the model's actions stand for, and where each is, below
            /// `idem-runtime/src`.
            pub const CODE: &'static [(&'static str, &'static str, &'static str)] =
                &[$((stringify!($code), $function, $file),)*];
        }
    };
}

pub(crate) use acts;
