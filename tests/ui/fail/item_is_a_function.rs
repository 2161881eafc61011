use idem_runtime::idempotent;

#[idempotent]
struct NotAFunction;

#[idempotent]
mod not_a_function {}

trait NoBody {
    #[idempotent]
    fn declared(&self);
}

impl NoBody for NotAFunction {
    fn declared(&self) {}
}

fn main() {
    NotAFunction.declared();
}
