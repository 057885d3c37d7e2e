//! Values as they are written in each encoding, and the leaves of a tree that comes as one JSON value.

use super::message::{Decimal64, TypedValue, Value};
use super::path::{Step, without_module};
use serde_json::Value as Json;

/// Numbers beyond this are not exact as floating-point ones.
const EXACT_MOST: f64 = 9_007_199_254_740_992.0;
/// How deep trees are.
const DEPTH_MOST: usize = 32;

/// A value of a leaf.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Number(u64),
    Text(String),
    /// It is not a whole number from 0 to 2^64 - 1, nor a text; this is how it looks.
    Other(String),
}

impl Scalar {
    /// As a count. Numbers of 64 bits are texts in JSON (RFC 7951, section 6.1).
    pub fn number(&self) -> Option<u64> {
        match self {
            Scalar::Number(number) => Some(*number),
            Scalar::Text(text) => text.parse().ok().filter(|_| !text.starts_with('+')),
            Scalar::Other(_) => None,
        }
    }

    /// As a name, without that of its module.
    pub fn identity(&self) -> Option<&str> {
        match self {
            Scalar::Text(text) => Some(without_module(text)),
            _ => None,
        }
    }

    /// For people.
    pub fn shown(&self) -> String {
        match self {
            Scalar::Number(number) => number.to_string(),
            Scalar::Text(text) | Scalar::Other(text) => text.clone(),
        }
    }
}

/// The leaves that an update has at this path or beneath it, each handed to `each`.
///
/// # Errors
/// If it is JSON that cannot be read.
pub(super) fn leaves(
    path: &mut Vec<Step>,
    value: &TypedValue,
    each: &mut impl FnMut(&[Step], Scalar),
) -> Result<(), String> {
    let scalar = match value.value.as_ref() {
        None => return Ok(()),
        Some(Value::Json(bytes) | Value::JsonIetf(bytes)) => {
            let json = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            walk(path, &json, each);
            return Ok(());
        }
        Some(Value::Text(text) | Value::Ascii(text)) => Scalar::Text(text.clone()),
        Some(Value::Uint(number)) => Scalar::Number(*number),
        Some(Value::Int(number)) => {
            u64::try_from(*number).map_or_else(|_| Scalar::Other(number.to_string()), Scalar::Number)
        }
        Some(Value::Bool(flag)) => Scalar::Other(flag.to_string()),
        Some(Value::Float(number)) => real(f64::from(*number)),
        Some(Value::Double(number)) => real(*number),
        Some(Value::Decimal(decimal)) => whole(decimal),
    };
    each(path, scalar);
    Ok(())
}

fn walk(path: &mut Vec<Step>, json: &Json, each: &mut impl FnMut(&[Step], Scalar)) {
    if path.len() > DEPTH_MOST {
        return;
    }
    match json {
        Json::Object(members) => {
            for (name, member) in members {
                path.push(Step::new(name, None));
                walk(path, member, each);
                path.pop();
            }
        }
        // The entries of a list have their keys among their members.
        Json::Array(entries) => {
            let Some(list) = path.pop() else { return };
            for entry in entries.iter().filter(|entry| entry.is_object()) {
                path.push(Step::new(&list.name, key(entry).as_deref()));
                walk(path, entry, each);
                path.pop();
            }
            path.push(list);
        }
        Json::String(text) => each(path, Scalar::Text(text.clone())),
        Json::Number(number) => {
            let scalar = number.as_u64().map(Scalar::Number);
            each(
                path,
                scalar.or_else(|| number.as_f64().map(real)).unwrap_or(Scalar::Other(number.to_string())),
            );
        }
        Json::Bool(flag) => each(path, Scalar::Other(flag.to_string())),
        Json::Null => {}
    }
}

fn key(entry: &Json) -> Option<String> {
    let members = entry.as_object()?;
    let key = ["name", "id"].iter().find_map(|&key| {
        members.iter().find(|(name, _)| without_module(name) == key).map(|(_, value)| value)
    })?;
    match key {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn real(number: f64) -> Scalar {
    if number.fract() == 0.0 && (0.0..=EXACT_MOST).contains(&number) {
        Scalar::Number(number as u64)
    } else {
        Scalar::Other(number.to_string())
    }
}

fn whole(decimal: &Decimal64) -> Scalar {
    let divisor = 10_i64.checked_pow(decimal.precision).filter(|divisor| decimal.digits % divisor == 0);
    let number = divisor.and_then(|divisor| u64::try_from(decimal.digits / divisor).ok());
    let shown = || Scalar::Other(format!("{}e-{}", decimal.digits, decimal.precision));
    number.map_or_else(shown, Scalar::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(value: Value) -> Vec<(String, Scalar)> {
        let mut found = Vec::new();
        let typed = TypedValue { value: Some(value) };
        let read = leaves(&mut Vec::new(), &typed, &mut |path, scalar| {
            let step = |step: &Step| match &step.key {
                Some(key) => format!("{}[{key}]", step.name),
                None => step.name.clone(),
            };
            found.push((path.iter().map(step).collect::<Vec<_>>().join("/"), scalar));
        });
        read.map_or(vec![], |()| found)
    }

    #[test]
    fn a_count_is_a_count_in_every_encoding() {
        let decimal = |digits, precision| Value::Decimal(Decimal64 { digits, precision });
        for value in [
            Value::Uint(1_500),
            Value::Int(1_500),
            Value::Text("1500".to_owned()),
            Value::Ascii("1500".to_owned()),
            Value::Double(1_500.0),
            Value::Float(1_500.0),
            decimal(150_000, 2),
            Value::Json(b"1500".to_vec()),
            Value::JsonIetf(b"\"1500\"".to_vec()),
        ] {
            let found = of(value.clone());
            assert_eq!(found.len(), 1, "{value:?}");
            assert_eq!(found[0].1.number(), Some(1_500), "{value:?}");
        }
        let most = u64::MAX.to_string();
        assert_eq!(of(Value::JsonIetf(format!("\"{most}\"").into_bytes()))[0].1.number(), Some(u64::MAX));
        for value in [
            Value::Int(-1),
            Value::Double(1.5),
            Value::Double(f64::NAN),
            Value::Double(1e300),
            Value::Bool(true),
            decimal(-1, 0),
            decimal(15, 1),
            decimal(1, u32::MAX),
            Value::Text("+1".to_owned()),
            Value::Text("1e3".to_owned()),
            Value::JsonIetf(b"\"18446744073709551616\"".to_vec()),
        ] {
            assert_eq!(of(value.clone())[0].1.number(), None, "{value:?}");
        }
    }

    #[test]
    fn a_tree_has_its_leaves_with_the_keys_of_its_lists() {
        let json = br#"{"openconfig-interfaces:interface": [{"name": "eth0", "state": {"counters": {"in-pkts": "7"},
            "oper-status": "UP", "tags": ["a"], "mtu": null}}, {"name": "eth1", "phy": {"channel": [{"id": 2, "x": 1}]}}]}"#;
        let expected = [
            ("interface[eth0]/name", Scalar::Text("eth0".to_owned())),
            ("interface[eth0]/state/counters/in-pkts", Scalar::Text("7".to_owned())),
            ("interface[eth0]/state/oper-status", Scalar::Text("UP".to_owned())),
            ("interface[eth1]/name", Scalar::Text("eth1".to_owned())),
            ("interface[eth1]/phy/channel[2]/id", Scalar::Number(2)),
            ("interface[eth1]/phy/channel[2]/x", Scalar::Number(1)),
        ];
        let expected = expected.map(|(path, scalar)| (path.to_owned(), scalar));
        assert_eq!(of(Value::JsonIetf(json.to_vec())), expected);
    }

    #[test]
    fn json_that_is_none_is_an_error() {
        let typed = TypedValue { value: Some(Value::JsonIetf(b"{".to_vec())) };
        assert!(leaves(&mut Vec::new(), &typed, &mut |_, _| panic!("no leaf")).is_err());
        let deep = "[".repeat(10_000);
        let typed = TypedValue { value: Some(Value::Json(deep.into_bytes())) };
        assert!(leaves(&mut Vec::new(), &typed, &mut |_, _| panic!("no leaf")).is_err());
        let deep = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
        assert!(of(Value::Json(deep.into_bytes())).is_empty(), "deeper than any tree");
    }

    #[test]
    fn an_identity_has_no_module() {
        let text = Scalar::Text("openconfig-if-ethernet:SPEED_100GB".to_owned());
        assert_eq!(text.identity(), Some("SPEED_100GB"));
        assert_eq!(Scalar::Number(1).identity(), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = of(Value::JsonIetf(bytes));
        }
    }
}
