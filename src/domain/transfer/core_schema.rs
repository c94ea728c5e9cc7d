//! What an unquoted YAML scalar is: the core schema of YAML 1.2, its numbers spelled as JSON spells them.

use std::borrow::Cow;

/// What a plain scalar means in the core schema: its kind, and its JSON (for a string, its text).
pub(super) fn resolve(text: &str) -> Result<(&'static str, Cow<'_, str>), &'static str> {
    let borrowed = |kind, text| Ok((kind, Cow::Borrowed(text)));
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return borrowed("null", "null"),
        "true" | "True" | "TRUE" => return borrowed("bool", "true"),
        "false" | "False" | "FALSE" => return borrowed("bool", "false"),
        _ => {}
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_digit(radix))
        {
            let number =
                u128::from_str_radix(digits, radix).map_err(|_| "a number is too large for its notation")?;
            return Ok(("int", Cow::Owned(number.to_string())));
        }
    }
    let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Err("JSON has no infinite number"),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Err("JSON has no such number"),
        _ => {}
    }
    Ok(match decimal(unsigned) {
        Some((kind, number)) if negative => (kind, Cow::Owned(format!("-{number}"))),
        Some((kind, number)) => (kind, number),
        None => ("str", Cow::Borrowed(text)),
    })
}

/// The JSON spelling of a decimal number without a sign: no leading zeros, a digit on both sides of the point.
fn decimal(text: &str) -> Option<(&'static str, Cow<'_, str>)> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let power = exponent.get(1..).unwrap_or_default();
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    if !digits(whole)
        || !digits(fraction)
        || (whole.is_empty() && fraction.is_empty())
        || !digits(power)
        || power.is_empty() != exponent.is_empty()
    {
        return None;
    }
    let kind = if mantissa.contains('.') || !exponent.is_empty() { "float" } else { "int" };
    let shown = match whole.trim_start_matches('0') {
        "" => "0",
        shown => shown,
    };
    if shown.len() == whole.len() && (!mantissa.contains('.') || !fraction.is_empty()) {
        return Some((kind, Cow::Borrowed(text)));
    }
    let point = if fraction.is_empty() { "" } else { "." };
    Some((kind, Cow::Owned(format!("{shown}{point}{fraction}{exponent}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_the_core_schema_are_no_strings() {
        for (text, kind, json) in [
            ("null", "null", "null"),
            ("~", "null", "null"),
            ("", "null", "null"),
            ("true", "bool", "true"),
            ("False", "bool", "false"),
        ] {
            assert_eq!(resolve(text), Ok((kind, Cow::Borrowed(json))), "{text}");
        }
    }

    #[test]
    fn what_older_yaml_read_otherwise_is_a_string() {
        for text in [
            "no",
            "on",
            "Yes",
            "y",
            "tRue",
            "nULL",
            "2025-01-01",
            "2025-01-01T00:00:00Z",
            "1:30:00",
            "1_000",
            "0b11",
            "1.2.3",
            "0o8",
            "0x",
            "-0x1",
            "+0o7",
            "1e",
            ".",
            "e5",
            "1e+",
            "+",
            "--1",
            "\u{663}",
            "+.nan",
            "=",
            "<<",
            "inf",
            "1 2",
        ] {
            assert_eq!(resolve(text), Ok(("str", Cow::Borrowed(text))));
        }
    }

    #[test]
    fn numbers_keep_their_digits_in_the_spelling_of_json() {
        for (text, kind, json) in [
            ("7", "int", "7"),
            ("007", "int", "7"),
            ("+7", "int", "7"),
            ("-07", "int", "-7"),
            ("-0", "int", "-0"),
            ("000", "int", "0"),
            ("0o14", "int", "12"),
            ("0x1f", "int", "31"),
            ("0xFFFFFFFFFFFFFFFFFFFF", "int", "1208925819614629174706175"),
            ("1.0", "float", "1.0"),
            (".5", "float", "0.5"),
            ("-.5", "float", "-0.5"),
            ("5.", "float", "5"),
            ("5.e3", "float", "5e3"),
            ("1e2", "float", "1e2"),
            ("+01.50E-7", "float", "1.50E-7"),
            ("123456789012345678901234567890.100", "float", "123456789012345678901234567890.100"),
        ] {
            let (found, number) = resolve(text).unwrap();
            assert_eq!((found, number.as_ref()), (kind, json), "{text}");
        }
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_refused() {
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN", "0xfffffffffffffffffffffffffffffffff"] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_no_string_is_json(text in r"[-+]?[0-9a-fox.eE+-]{0,8}") {
            if let Ok((kind, json)) = resolve(&text)
                && kind != "str"
            {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{text} {json}");
            }
        }
    }
}
