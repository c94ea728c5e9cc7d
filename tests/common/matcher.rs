//! Compares a result with what a case expects: a partial match with matchers as single-key objects.

use serde_json::{Map, Value, json};

/// Says where and how the value differs from the expectation; nothing when it matches.
pub fn differs(expected: &Value, actual: &Value) -> Option<String> {
    compare(expected, Some(actual), "$").err()
}

type Verdict = Result<(), String>;

fn check(holds: bool, at: &str, wanted: impl std::fmt::Display, actual: &Value) -> Verdict {
    if holds { Ok(()) } else { Err(format!("{at}: wanted {wanted}, got {actual}")) }
}

fn compare(expected: &Value, actual: Option<&Value>, at: &str) -> Verdict {
    if let Some(("$absent", _)) = matcher(expected) {
        return actual.map_or(Ok(()), |actual| Err(format!("{at}: wanted nothing, got {actual}")));
    }
    let actual = actual.ok_or_else(|| format!("{at}: is missing, wanted {expected}"))?;
    if let Some((name, pattern)) = matcher(expected) {
        return apply(name, pattern, actual, at);
    }
    if let Some(fields) = expected.as_object().filter(|fields| fields.len() > 1)
        && fields.keys().all(|key| MATCHERS.contains(&key.as_str()))
    {
        return fields.iter().try_for_each(|(name, pattern)| apply(name, pattern, actual, at));
    }
    match (expected, actual) {
        (Value::Object(fields), Value::Object(values)) => {
            fields.iter().try_for_each(|(key, field)| compare(field, values.get(key), &format!("{at}.{key}")))
        }
        (Value::Array(patterns), Value::Array(items)) => {
            check(patterns.len() == items.len(), at, format!("{} elements", patterns.len()), actual)?;
            patterns.iter().zip(items).enumerate().try_for_each(|(index, (pattern, item))| {
                compare(pattern, Some(item), &format!("{at}[{index}]"))
            })
        }
        _ => check(equal(expected, actual), at, expected, actual),
    }
}

const MATCHERS: [&str; 20] = [
    "$absent",
    "$any",
    "$approx",
    "$contains",
    "$exact",
    "$excludes",
    "$gt",
    "$gte",
    "$has",
    "$json",
    "$keys",
    "$lacks",
    "$len",
    "$ne",
    "$not",
    "$re",
    "$regex",
    "$ts",
    "$unordered",
    "$yaml",
];
/// How near is near enough, where a case does not say it with `$tol`.
const TOLERANCE: f64 = 1e-3;

/// The matcher an expectation is. Other single keys that start with `$` are data.
fn matcher(expected: &Value) -> Option<(&'static str, &Value)> {
    let fields = expected.as_object()?;
    if fields.len() == 2 && fields.contains_key("$tol") {
        // The whole object: the tolerance stands beside the value.
        return fields.contains_key("$approx").then_some(("$approx", expected));
    }
    let (key, pattern) = fields.iter().next().filter(|_| fields.len() == 1)?;
    MATCHERS.into_iter().find(|name| name == key).map(|name| (name, pattern))
}

fn apply(name: &str, pattern: &Value, actual: &Value, at: &str) -> Verdict {
    let wanted = format!("{name} {pattern}");
    match name {
        "$any" => Ok(()),
        "$approx" => {
            let tolerance = pattern.get("$tol").and_then(number).unwrap_or(TOLERANCE);
            let value = pattern.get("$approx").unwrap_or(pattern);
            let near = number(value).zip(number(actual)).is_some_and(|(a, b)| (a - b).abs() <= tolerance);
            check(near, at, wanted, actual)
        }
        "$gte" => check(number(pattern).zip(number(actual)).is_some_and(|(a, b)| b >= a), at, wanted, actual),
        "$not" => check(differs(pattern, actual).is_some(), at, wanted, actual),
        "$ts" => check(actual.as_str().is_some_and(is_timestamp), at, wanted, actual),
        "$keys" => {
            let keys =
                actual.as_object().map(|fields| fields.keys().map(|key| json!(key)).collect::<Vec<_>>());
            let same = keys.zip(pattern.as_array()).is_some_and(|(keys, patterns)| {
                keys.len() == patterns.len() && keys.iter().all(|key| patterns.contains(key))
            });
            check(same, at, wanted, actual)
        }
        "$has" | "$lacks" => {
            let (patterns, items) = arrays(pattern, actual, at)?;
            let found = |pattern: &Value| items.iter().any(|item| differs(pattern, item).is_none());
            let fits = match name {
                "$has" => patterns.iter().all(found),
                _ => !patterns.iter().any(found),
            };
            check(fits, at, wanted, actual)
        }
        "$excludes" => {
            let held = actual.as_str().zip(texts(pattern));
            let clean = held.is_some_and(|(text, parts)| !parts.iter().any(|part| text.contains(part)));
            check(clean, at, wanted, actual)
        }
        "$gt" => check(number(pattern).zip(number(actual)).is_some_and(|(a, b)| b > a), at, wanted, actual),
        "$len" => {
            let length = match actual {
                Value::Array(items) => Some(items.len()),
                Value::String(text) => Some(text.chars().count()),
                _ => None,
            };
            check(length.is_some_and(|length| equal(pattern, &json!(length))), at, wanted, actual)
        }
        "$ne" => check(!equal(pattern, actual), at, wanted, actual),
        "$exact" => check(equal(pattern, actual), at, wanted, actual),
        "$re" | "$regex" => {
            let regex = regex_lite::Regex::new(pattern.as_str().ok_or("a pattern is no text")?)
                .map_err(|error| format!("{at}: {error}"))?;
            check(actual.as_str().is_some_and(|text| regex.is_match(text)), at, wanted, actual)
        }
        "$contains" if actual.is_string() => {
            let held = actual.as_str().zip(texts(pattern));
            let all = held.is_some_and(|(text, parts)| parts.iter().all(|part| text.contains(part)));
            check(all, at, wanted, actual)
        }
        "$contains" => {
            let (patterns, items) = arrays(pattern, actual, at)?;
            let found = |pattern: &Value| items.iter().any(|item| differs(pattern, item).is_none());
            check(patterns.iter().all(found), at, wanted, actual)
        }
        "$unordered" => {
            let (patterns, items) = arrays(pattern, actual, at)?;
            let fits = patterns.len() == items.len() && assign(patterns, &mut items.iter().collect());
            check(fits, at, wanted, actual)
        }
        "$json" => {
            let held = actual.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            compare(pattern, held.as_ref(), &format!("{at} as JSON"))
        }
        "$yaml" => {
            let held = actual.as_str().and_then(yaml);
            compare(pattern, held.as_ref(), &format!("{at} as YAML"))
        }
        _ => Err(format!("{at}: unknown matcher {name}")),
    }
}

fn arrays<'a>(
    pattern: &'a Value,
    actual: &'a Value,
    at: &str,
) -> Result<(&'a Vec<Value>, &'a Vec<Value>), String> {
    pattern
        .as_array()
        .zip(actual.as_array())
        .ok_or_else(|| format!("{at}: wanted an array like {pattern}, got {actual}"))
}

/// A text, or a list of them.
fn texts(pattern: &Value) -> Option<Vec<&str>> {
    match pattern {
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        other => other.as_str().map(|text| vec![text]),
    }
}

/// RFC 3339 with an offset.
fn is_timestamp(text: &str) -> bool {
    let form = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?(Z|[+-]\d\d:\d\d)$";
    regex_lite::Regex::new(form).is_ok_and(|regex| regex.is_match(text))
}

/// Whether each pattern can have an item of its own.
fn assign(patterns: &[Value], items: &mut Vec<&Value>) -> bool {
    let Some((first, rest)) = patterns.split_first() else { return true };
    for index in 0..items.len() {
        if differs(first, items[index]).is_none() {
            let item = items.remove(index);
            if assign(rest, items) {
                return true;
            }
            items.insert(index, item);
        }
    }
    false
}

/// Deep equality without extra keys; numbers by value.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => decimal(&a.to_string()) == decimal(&b.to_string()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_number()?.to_string().parse().ok()
}

/// A number's sign, its digits without zeros around them, and the power of ten of the last digit.
fn decimal(text: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_start_matches('0').trim_end_matches('0');
    if kept.is_empty() {
        return (false, String::new(), 0);
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let power = exponent.parse::<i64>().unwrap_or_default() - fraction.len() as i64 + zeros as i64;
    (negative, kept.to_owned(), power)
}

/// The value of a YAML document in the core schema; numbers as they are written.
pub fn yaml(text: &str) -> Option<Value> {
    let mut loader = saphyr::YamlLoader::<saphyr::Yaml<'_>>::default();
    loader.early_parse(false);
    saphyr_parser::Parser::new_from_str(text).load(&mut loader, true).ok()?;
    yaml_value(loader.into_documents().first()?)
}

fn yaml_value(node: &saphyr::Yaml<'_>) -> Option<Value> {
    use saphyr::{Scalar, ScalarStyle, Yaml};
    Some(match node {
        Yaml::Representation(text, ScalarStyle::Plain, _) => match Scalar::parse_from_cow(text.clone()) {
            Scalar::Null => Value::Null,
            Scalar::Boolean(flag) => json!(flag),
            Scalar::String(text) => json!(text),
            _ => serde_json::from_str(text).ok()?,
        },
        Yaml::Representation(text, ..) => json!(text),
        Yaml::Sequence(items) => Value::Array(items.iter().map(yaml_value).collect::<Option<_>>()?),
        Yaml::Mapping(fields) => {
            let field = |(key, value)| Some((yaml_value(key)?.as_str()?.to_owned(), yaml_value(value)?));
            Value::Object(fields.iter().map(field).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}
