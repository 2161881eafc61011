//! Writing into one operation. It adds, and takes nothing away.

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{Components, Content, Ref, RefOr, Required, Response};

use crate::describe::Terms;
use crate::openapi::answers::answers;
use crate::openapi::{Contract, words};
use crate::policy::{IdempotencyPolicy, InFlight, KeyRule, Store};
use crate::problem::{MEDIA_TYPE, Problem};

const EXTENSION: &str = "x-idempotency";
const SCHEMA: &str = "IdempotencyProblem";

/// One handler's contract, on its way into its operation.
pub(crate) struct Writer<'a> {
    contract: &'a Contract,
    policy: &'static IdempotencyPolicy,
    components: &'a mut Components,
}

/// The value of `x-idempotency`.
#[derive(Serialize)]
struct Extension<'a> {
    key_header: &'a str,
    replayed_header: &'a str,
    #[serde(flatten)]
    terms: Terms,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        contract: &'a Contract,
        policy: &'static IdempotencyPolicy,
        components: &'a mut Components,
    ) -> Self {
        Self {
            contract,
            policy,
            components,
        }
    }

    /// `shared` are the parameters of all operations at the path.
    pub(crate) fn write(&mut self, operation: &mut Operation, shared: &[RefOr<Parameter>]) {
        let extensions = operation.extensions.get_or_insert_default();
        if extensions.contains_key(EXTENSION) {
            return;
        }
        extensions.merge(
            ExtensionsBuilder::new()
                .add(EXTENSION, self.extension())
                .build(),
        );
        let text = words::of_operation(self.contract, self.policy);
        let description = operation.description.get_or_insert_default();
        *description = joined(description, &text);
        self.name_the_key(operation, shared);
        // Before ours are there: they are never recorded.
        self.mark_replays(operation);
        self.accept(operation);
        for answer in answers(self.contract, self.policy) {
            self.answer(operation, &answer);
        }
    }

    fn extension(&self) -> Value {
        let extension = Extension {
            key_header: &self.contract.key_header,
            replayed_header: &self.contract.replayed_header,
            terms: Terms::of(self.policy),
        };
        serde_json::to_value(extension).unwrap_or_default()
    }

    fn name_the_key(&self, operation: &mut Operation, shared: &[RefOr<Parameter>]) {
        let name = &*self.contract.key_header;
        let parameters = operation.parameters.get_or_insert_default();
        let is_there = parameters.iter().chain(shared).any(|parameter| {
            let parameter = match parameter {
                RefOr::T(parameter) => Some(parameter),
                RefOr::Ref(reference) => self.parameter(reference),
            };
            parameter.is_some_and(|parameter| {
                parameter.parameter_in == ParameterIn::Header
                    && parameter.name.eq_ignore_ascii_case(name)
            })
        });
        if is_there {
            return;
        }
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(match self.policy.key {
                KeyRule::Required => Required::True,
                KeyRule::Optional => Required::False,
            })
            .description(Some(words::of_key(self.contract, self.policy)))
            .schema(Some(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .min_length(Some(1)),
            ));
        parameters.push(parameter.build().into());
    }

    fn parameter(&self, reference: &Ref) -> Option<&Parameter> {
        let name = (reference.ref_location).strip_prefix("#/components/parameters/")?;
        match self.components.parameters.get(name)? {
            RefOr::T(parameter) => Some(parameter),
            RefOr::Ref(_) => None,
        }
    }

    fn mark_replays(&self, operation: &mut Operation) {
        let statuses: Vec<_> = operation.responses.responses.keys().cloned().collect();
        for status in statuses {
            if is_recorded(self.policy.store, &status)
                && let Some(response) = self.own(operation, &status)
            {
                let header = header(Type::Boolean, words::OF_REPLAYED);
                add(response, &self.contract.replayed_header, header);
            }
        }
    }

    fn accept(&self, operation: &mut Operation) {
        if self.policy.in_flight == InFlight::Accept
            && let Some(response) = self.own(operation, "202")
        {
            response.description = joined(&response.description, words::OF_ACCEPTED);
            add(
                response,
                "Location",
                header(Type::String, words::OF_LOCATION),
            );
            let retry_after = header(Type::Integer, words::OF_RETRY_AFTER);
            add(response, "Retry-After", retry_after);
        }
    }

    fn answer(&mut self, operation: &mut Operation, problem: &Problem) {
        let schema = self.schema();
        let details = problem.details(&self.contract.problem_base);
        let Some(response) = self.own(operation, &details.status.to_string()) else {
            return;
        };
        let line = format!("`{}`: {}", details.code, details.detail);
        response.description = joined(&response.description, &line);
        if details.retry_after.is_some() {
            let retry_after = header(Type::Integer, words::OF_RETRY_AFTER);
            add(response, "Retry-After", retry_after);
        }
        let content = response
            .content
            .entry(MEDIA_TYPE.to_owned())
            .or_insert_with(|| Content::new(Some(schema)).into());
        if let RefOr::T(content) = content
            && content.example.is_none()
        {
            let example = ExampleBuilder::new()
                .summary(details.title)
                .value(serde_json::to_value(&details).ok());
            let examples = &mut content.examples;
            examples
                .entry(details.code.to_owned())
                .or_insert_with(|| example.build().into());
        }
    }

    /// The operation's own response for this status. One that stands for a range of them, or that others have as well, is
    /// taken over as it is.
    fn own<'o>(&self, operation: &'o mut Operation, status: &str) -> Option<&'o mut Response> {
        let responses = &mut operation.responses.responses;
        let range = status.get(..1).map(|first| format!("{first}XX"));
        let found = responses
            .get(status)
            .or_else(|| responses.get(&range?))
            .or_else(|| responses.get("default"));
        let own = match found {
            None => Response::new(""),
            Some(RefOr::T(response)) => response.clone(),
            Some(RefOr::Ref(reference)) => self.response(reference)?.clone(),
        };
        responses.insert(status.to_owned(), RefOr::T(own));
        match responses.get_mut(status)? {
            RefOr::T(response) => Some(response),
            RefOr::Ref(_) => None,
        }
    }

    fn response(&self, reference: &Ref) -> Option<&Response> {
        let name = (reference.ref_location).strip_prefix("#/components/responses/")?;
        match self.components.responses.get(name)? {
            RefOr::T(response) => Some(response),
            RefOr::Ref(_) => None,
        }
    }

    /// Ours under its name, unless the application has another one there.
    fn schema(&mut self) -> RefOr<Schema> {
        let ours: RefOr<Schema> = problem().into();
        let schemas = &mut self.components.schemas;
        let there = schemas.entry(SCHEMA.to_owned());
        match *there.or_insert_with(|| ours.clone()) == ours {
            true => Ref::from_schema_name(SCHEMA).into(),
            false => ours,
        }
    }
}

/// RFC 9457, section 3.1, and our extension members.
fn problem() -> Schema {
    let text = |description: &str| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(description))
    };
    let uri = SchemaFormat::Custom("uri-reference".to_owned());
    ObjectBuilder::new()
        .description(Some(
            "Why a request was not answered by the operation itself (RFC 9457).",
        ))
        .property("type", text("Names the kind of problem.").format(Some(uri)))
        .required("type")
        .property("title", text("The kind of problem in words."))
        .required("title")
        .property("status", ObjectBuilder::new().schema_type(Type::Integer))
        .required("status")
        .property("detail", text("This problem in words."))
        .required("detail")
        .property("code", text("Names the kind of problem, for programs."))
        .required("code")
        .property(
            "retryable",
            ObjectBuilder::new()
                .schema_type(Type::Boolean)
                .description(Some(
                    "Whether the same request may be sent again with the same key.",
                )),
        )
        .required("retryable")
        .property(
            "retry_after",
            ObjectBuilder::new()
                .schema_type(Type::Integer)
                .description(Some("As the header Retry-After.")),
        )
        .build()
        .into()
}

/// Whether a response with this status, or with one of this range, may be recorded.
fn is_recorded(store: Store, status: &str) -> bool {
    match status.as_bytes() {
        [first @ b'1'..=b'5', b'X', b'X'] => {
            let first = u16::from(first - b'0') * 100;
            (first..first + 100).any(|status| store.records(status))
        }
        _ => status.parse().map_or(true, |status| store.records(status)),
    }
}

fn header(of: Type, description: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(of)))
        .description(Some(description))
        .build()
}

fn add(response: &mut Response, name: &str, header: Header) {
    let mut names = response.headers.keys();
    if !names.any(|there| there.eq_ignore_ascii_case(name)) {
        response.headers.insert(name.to_owned(), header.into());
    }
}

/// Two paragraphs of Markdown.
fn joined(first: &str, second: &str) -> String {
    match first.is_empty() {
        true => second.to_owned(),
        false => format!("{first}\n\n{second}"),
    }
}
