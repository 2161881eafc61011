//! The signature of a protected handler: what it may not have, and what each parameter is.
//!
//! Never looks at an attribute of ours; all that it is told of one is the mode.

use syn::visit::{self, Visit};
use syn::{
    FnArg, GenericParam, PatType, ReturnType, Safety, Signature, Type, TypeImplTrait, TypeReference,
};

use crate::choices::Mode;
use crate::problems::Problems;

/// The parameters, in the user's order.
pub(crate) struct Arguments {
    pub(crate) list: Vec<Argument>,
    /// What the one `&mut` parameter refers to; in lease mode there is none.
    pub(crate) connection: Option<Type>,
}

pub(crate) enum Argument {
    Extractor(Box<Type>),
    Connection,
}

impl Arguments {
    /// The parameters, with a note of each reference that the mode has no use for. Where nobody can tell the mode,
    /// nobody can tell that either.
    pub(crate) fn of(signature: &Signature, mode: Option<Mode>, problems: &mut Problems) -> Self {
        let mut list = Vec::new();
        let mut exclusive = Vec::new();
        let mut shared = Vec::new();
        for parameter in parameters(signature) {
            match reference(&parameter.ty) {
                None => list.push(Argument::Extractor(parameter.ty.clone())),
                Some(reference) if reference.mutability.is_some() => {
                    list.push(Argument::Connection);
                    exclusive.push(reference);
                }
                Some(reference) => shared.push(reference),
            }
        }
        match mode {
            Some(Mode::Transaction) => judge_connection(signature, &exclusive, &shared, problems),
            Some(Mode::Lease) => judge_no_connection(&exclusive, &shared, problems),
            None => {}
        }
        Self {
            list,
            connection: exclusive.first().map(|first| (*first.elem).clone()),
        }
    }
}

fn judge_connection(
    signature: &Signature,
    exclusive: &[&TypeReference],
    shared: &[&TypeReference],
    problems: &mut Problems,
) {
    let Some((connection, others)) = exclusive.split_first() else {
        problems.add(no_connection(signature, shared.first().copied()));
        return;
    };
    if let Some(lifetime) = &connection.lifetime
        && lifetime.ident != "_"
        && signature.generics.params.is_empty()
    {
        problems.at(
            lifetime,
            "the connection is lent for one run of the handler: write `&mut` without a lifetime",
        );
    }
    for other in others {
        problems.at(
            other,
            "a handler has one `&mut` parameter, the connection: take this by value, \
             through an extractor such as `web::Data<T>`",
        );
    }
    judge_shared(shared, problems);
}

fn no_connection(signature: &Signature, shared: Option<&TypeReference>) -> syn::Error {
    match shared {
        Some(reference) => syn::Error::new(
            reference.and_token.span,
            "the connection of the open transaction is taken as `&mut`: write `&mut` instead of `&`",
        ),
        None if signature.asyncness.is_none() => syn::Error::new(
            signature.paren_token.span.join(),
            "a protected handler works on the connection of the open transaction: \
             add a parameter for it, such as `conn: &mut PgConnection`; \
             or write `async fn`, with one such as `conn: &mut AsyncPgConnection`",
        ),
        None => syn::Error::new(
            signature.paren_token.span.join(),
            "a protected handler works on the connection of the open transaction: \
             add a parameter for it, such as `conn: &mut AsyncPgConnection`; \
             or, for a handler that calls the outside world, write `mode = \"lease\"`",
        ),
    }
}

fn judge_no_connection(
    exclusive: &[&TypeReference],
    shared: &[&TypeReference],
    problems: &mut Problems,
) {
    for reference in exclusive {
        problems.at(
            reference,
            "a handler in lease mode holds no connection while it runs: \
             take `steps: Steps` and write `steps.transaction(\"name\", async |conn| …)`",
        );
    }
    judge_shared(shared, problems);
}

fn judge_shared(shared: &[&TypeReference], problems: &mut Problems) {
    for reference in shared {
        problems.at(
            reference,
            "an extractor is taken by value: write its type without the `&`",
        );
    }
}

fn parameters(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(parameter),
        FnArg::Receiver(_) => None,
    })
}

/// The reference that a type is, also one that a `macro_rules!` macro has put into an invisible group.
fn reference(ty: &Type) -> Option<&TypeReference> {
    match ty {
        Type::Reference(reference) => Some(reference),
        Type::Group(group) => reference(&group.elem),
        Type::Paren(paren) => reference(&paren.elem),
        _ => None,
    }
}

/// Refuses what a protected handler of actix-web cannot be in any mode.
pub(crate) fn judge(signature: &Signature, mode: Option<Mode>, problems: &mut Problems) {
    if let Some(constness) = &signature.constness {
        problems.at(
            constness,
            "a handler talks to a database, which no constant can: write `async fn`",
        );
    } else if signature.asyncness.is_none() && mode == Some(Mode::Lease) {
        problems.at(
            signature.fn_token,
            "a handler in lease mode waits for its steps: write `async fn`; \
             or, for one that blocks and works on the database only, leave `mode` out and take `conn: &mut PgConnection`",
        );
    }
    if let Safety::Unsafe(token) = &signature.safety {
        problems.at(
            token,
            "actix-web calls only safe handlers: take `unsafe` off and put an `unsafe` block into the body",
        );
    }
    if let Some(abi) = &signature.abi {
        problems.at(
            abi,
            "actix-web calls only Rust functions: take the `extern` off",
        );
    }
    if let Some(variadic) = &signature.variadic {
        problems.at(
            variadic,
            "each parameter is one extractor: write them one by one",
        );
    }
    if let ReturnType::Default = signature.output {
        problems.at(
            &signature.ident,
            "a handler answers the request: give it a return type, such as `-> HttpResponse`",
        );
    }
    for input in &signature.inputs {
        judge_parameter(input, problems);
    }
    judge_generics(signature, mode, problems);
}

fn judge_parameter(input: &FnArg, problems: &mut Problems) {
    match input {
        FnArg::Receiver(receiver) => problems.at(
            receiver,
            "a handler is a free function: take `self` out, and pass shared state as `web::Data<T>`",
        ),
        FnArg::Typed(parameter) => {
            for attribute in &parameter.attrs {
                if attribute.path().is_ident("cfg") {
                    problems.at(
                        attribute,
                        "one parameter cannot be left out: put the `#[cfg]` on the whole function, \
                         and write one function for each configuration",
                    );
                }
            }
        }
    }
}

fn judge_generics(signature: &Signature, mode: Option<Mode>, problems: &mut Problems) {
    struct ImplTraits<'p>(&'p mut Problems);
    impl<'a> Visit<'a> for ImplTraits<'_> {
        fn visit_type_impl_trait(&mut self, ty: &'a TypeImplTrait) {
            self.0.at(
                ty,
                "a protected handler is one function with one policy: write a type that is not generic",
            );
        }
    }
    for parameter in parameters(signature) {
        visit::visit_type(&mut ImplTraits(problems), &parameter.ty);
    }

    let generics = &signature.generics.params;
    if generics
        .iter()
        .all(|generic| matches!(generic, GenericParam::Lifetime(_)))
    {
        // In lease mode the reference that a lifetime is for has been refused by itself.
        let borrows = parameters(signature).any(|parameter| reference(&parameter.ty).is_some());
        match mode {
            Some(Mode::Transaction) if !generics.is_empty() => problems.at(
                generics,
                "a handler borrows nothing but its connection, for one run: \
                 leave the lifetimes out and write `&mut`",
            ),
            Some(Mode::Lease) if !generics.is_empty() && !borrows => problems.at(
                generics,
                "a handler in lease mode borrows nothing: \
                 leave the lifetimes out and take each parameter by value",
            ),
            _ => {}
        }
    } else {
        problems.at(
            generics,
            "a protected handler is one function with one policy: write the types out, \
             or let a `macro_rules!` macro write the function once for each type",
        );
    }
}
