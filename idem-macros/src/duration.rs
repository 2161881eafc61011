//! How long something lasts, as a person writes it.
//!
//! Stricter than `humantime`: nothing that two readers could take for different lengths.

use std::time::Duration;

use humantime::DurationError;

use crate::value::Value;

const DAY: u64 = 24 * 60 * 60;
/// Ten years, with as many leap days as ten years can have.
const LONGEST: Duration = Duration::from_secs(3653 * DAY);
const UNITS: &str = "ms, s, m, h, d or w";

pub(crate) fn read(value: &Value) -> syn::Result<Duration> {
    parse(&value.text()?).map_err(|why| value.refuse(why))
}

/// The duration, or what is wrong with it. The message goes on after the option's name.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let mut sum = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(malformed());
    }
    while !rest.is_empty() {
        let (number, behind) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, behind) = split(behind.trim_start(), char::is_alphabetic);
        rest = behind.trim_start();
        let unit_forgotten = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit());
        if !number.contains(|c: char| c.is_ascii_digit()) || (unit.is_empty() && !unit_forgotten) {
            return Err(malformed());
        }
        let part = part(number, unit)?;
        sum = sum.checked_add(part).ok_or_else(too_long)?;
    }
    if sum.is_zero() {
        Err("cannot be zero: write at least \"1ms\"".to_owned())
    } else if sum > LONGEST {
        Err(too_long())
    } else if !sum.subsec_nanos().is_multiple_of(1_000_000) {
        Err(too_fine())
    } else {
        Ok(sum)
    }
}

/// One number with its unit.
fn part(number: &str, unit: &str) -> Result<Duration, String> {
    let days = |each: u64| {
        let days = number.parse::<u64>().unwrap_or(1).saturating_mul(each);
        let days = days.clamp(1, LONGEST.as_secs() / DAY);
        format!("count in days, such as \"{days}d\"")
    };
    match unit {
        "" if number.bytes().all(|digit| digit == b'0') => return Ok(Duration::ZERO),
        "" => {
            return Err(format!(
                "has a number without a unit: write \"{number}s\", or another of the units {UNITS}"
            ));
        }
        "M" => {
            return Err(format!(
                "has the unit `M`, which reads like minutes but means months: \
                 write \"{number}m\" for minutes; for months, {}",
                days(30)
            ));
        }
        "month" | "months" => {
            return Err(format!(
                "counts in months, whose lengths vary: {}",
                days(30)
            ));
        }
        "y" | "yr" | "yrs" | "year" | "years" => {
            return Err(format!(
                "counts in years, whose lengths vary: {}",
                days(365)
            ));
        }
        _ => {}
    }
    humantime::parse_duration(&format!("{number}{unit}")).map_err(|error| match error {
        DurationError::UnknownUnit { .. } => {
            format!("has the unknown unit `{unit}`: write one of {UNITS}")
        }
        DurationError::NumberOverflow if number.contains('.') => too_fine(),
        DurationError::NumberOverflow => too_long(),
        _ => malformed(),
    })
}

fn malformed() -> String {
    "is not a duration: write numbers with their units, such as \"24h\" or \"1h 30m\"".to_owned()
}

fn too_long() -> String {
    let days = LONGEST.as_secs() / DAY;
    format!("is longer than ten years: write at most \"{days}d\"")
}

fn too_fine() -> String {
    "is finer than a millisecond: write whole milliseconds, such as \"1ms\"".to_owned()
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn a_number_with_its_unit_is_a_duration() {
        let seconds = |text: &str| parse(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("30s"), Ok(30));
        assert_eq!(seconds(" 24 h "), Ok(86_400));
        assert_eq!(seconds("1h 30m"), Ok(5_400));
        assert_eq!(seconds("1h30min"), Ok(5_400));
        assert_eq!(seconds("1.5h"), Ok(5_400));
        assert_eq!(seconds("2 weeks"), Ok(1_209_600));
        assert_eq!(seconds("3653d"), Ok(3653 * 86_400));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("2000us"), Ok(Duration::from_millis(2)));
    }

    #[test]
    fn every_refusal_says_what_to_write() {
        let refusals = [
            "",
            "h",
            "-5s",
            "1,5h",
            "30",
            "1h 30",
            "1 2h",
            "0",
            "0s",
            "0ms 0h",
            "5M",
            "1month",
            "2 months",
            "1y",
            "2 years",
            "3654d",
            "600w",
            "99999999999999999999h",
            "1500us",
            "0.5ns",
            "5 fortnights",
            "24H",
            "1..5h",
            "1h-",
            "18446744073709551615s 1000000000ns",
        ];
        let messages: Vec<_> = refusals
            .iter()
            .map(|text| format!("{text:?} {}", parse(text).err().unwrap_or_default()))
            .collect();
        insta::with_settings!({omit_expression => true}, {
            insta::assert_snapshot!("durations", messages.join("\n"));
        });
    }
}
