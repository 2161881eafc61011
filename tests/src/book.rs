//! The code in the book compiles, and runs where it can.

macro_rules! chapters {
    ($($name:ident $file:literal;)*) => {$(
        #[doc = include_str!(concat!("../../book/src/", $file))]
        pub struct $name;
    )*};
}

chapters! {
    QuickStart "quick-start.md";
    Scope "scope.md";
    Retention "retention.md";
    Modes "modes.md";
    Outbox "outbox.md";
    Testing "testing.md";
    Operations "operations.md";
    Clients "clients.md";
    Checking "checking.md";
    Migration "migration.md";
}
