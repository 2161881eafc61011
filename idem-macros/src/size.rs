//! How many bytes something may have, as a person writes it.
//!
//! Stricter than `bytesize`: a number always has its unit.

use bytesize::ByteSize;

use crate::value::Value;

/// More cannot be held in memory beside the responses of other requests.
const LARGEST: u32 = 1 << 30;

pub(crate) fn read(value: &Value) -> syn::Result<u32> {
    parse(&value.text()?).map_err(|why| value.refuse(why))
}

/// The number of bytes, or what is wrong with it. The message goes on after the option's name.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let number_only = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if number_only && text.parse::<f64>().is_ok_and(|number| number > 0.0) {
        return Err(format!(
            "has a number without a unit: write \"{text}B\" for bytes, or \"{text}KiB\" or \"{text}MiB\""
        ));
    }
    let size = text.parse::<ByteSize>().map_err(|_| {
        "is not a size: write a number and a unit, such as \"64KiB\" or \"2MiB\"".to_owned()
    })?;
    match u32::try_from(size.as_u64()) {
        Ok(0) => Err("cannot be zero: write at least \"1B\"".to_owned()),
        Ok(bytes) if bytes <= LARGEST => Ok(bytes),
        _ => Err("is larger than a body may be: write at most \"1GiB\"".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_number_with_its_unit_is_a_size() {
        assert_eq!(parse("1B"), Ok(1));
        assert_eq!(parse("64KiB"), Ok(65_536));
        assert_eq!(parse(" 64 KB "), Ok(64_000));
        assert_eq!(parse("1.5MiB"), Ok(1_572_864));
        assert_eq!(parse("1GiB"), Ok(1 << 30));
    }

    #[test]
    fn every_refusal_says_what_to_write() {
        let refusals = [
            "",
            "MiB",
            "2048",
            "0",
            "0B",
            "0.1B",
            "1025MiB",
            "2GiB",
            "99999999999999999999TB",
            "-1MiB",
            "2 000 KiB",
            "2MiBs",
            "two MiB",
            "1.2.3MiB",
        ];
        let messages: Vec<_> = refusals
            .iter()
            .map(|text| format!("{text:?} {}", parse(text).err().unwrap_or_default()))
            .collect();
        insta::with_settings!({omit_expression => true}, {
            insta::assert_snapshot!("sizes", messages.join("\n"));
        });
    }
}
