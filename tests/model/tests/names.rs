//! Every action of a model that is not the world's stands for a function of the code, under its name.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::path::Path;

use idem_model::{lease, outbox, transaction};

fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for letter in camel.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[test]
fn actions_and_functions_have_the_same_names() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../idem-runtime/src");
    let actions = [transaction::Act::CODE, lease::Act::CODE, outbox::Act::CODE];
    for (action, function, file) in actions.into_iter().flatten() {
        assert_eq!(&snake(action), function);
        let text = fs::read_to_string(sources.join(file)).expect(file);
        let is_there = [format!("fn {function}("), format!("fn {function}<")]
            .iter()
            .any(|start| text.contains(start));
        assert!(is_there, "{file} has no `fn {function}`");
    }
}
