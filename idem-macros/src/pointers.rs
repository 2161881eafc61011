//! Where a value stands in a JSON text, as a JSON pointer (RFC 6901).
//!
//! Never knows what is done there.

use crate::value::Value;

pub(crate) fn read(value: &Value) -> syn::Result<Vec<String>> {
    let mut pointers = Vec::new();
    for text in value.texts()? {
        let pointer = text.value();
        let refuse = |why: String| syn::Error::new(text.span(), why);
        if let Err(why) = check(&pointer) {
            return Err(refuse(format!("`redact` has \"{pointer}\", which {why}")));
        }
        if pointers.contains(&pointer) {
            return Err(refuse(format!(
                "`redact` has \"{pointer}\" twice: keep one of the two"
            )));
        }
        pointers.push(pointer);
    }
    Ok(pointers)
}

/// Section 3. The message goes on after the pointer.
fn check(pointer: &str) -> Result<(), &'static str> {
    let Some(names) = pointer.strip_prefix('/') else {
        return Err(match pointer {
            "" => "is the whole body: write where a value in it stands, such as \"/card/number\"",
            _ => "is no JSON pointer: begin with a slash, as in \"/card/number\"",
        });
    };
    if names.split('/').any(|name| matches!(name, "*" | "-")) {
        return Err(
            "leads to no element of an array: write where the whole array stands, such as \"/cards\"",
        );
    }
    let mut behind_tildes = names.split('~').skip(1);
    match behind_tildes.all(|rest| rest.starts_with(['0', '1'])) {
        true => Ok(()),
        false => Err("has a `~` for itself: write `~0` for it, and `~1` for a slash in a name"),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_pointer_is_names_behind_slashes() {
        for pointer in ["/a", "/card/number", "/", "/a/0", "/a~1b/~0", "//"] {
            assert_eq!(check(pointer), Ok(()), "{pointer}");
        }
        for wrong in [
            "",
            "a",
            "card.number",
            "$.card",
            "#/a",
            "/a~",
            "/~2",
            "/cards/*/number",
            "/a/-",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
