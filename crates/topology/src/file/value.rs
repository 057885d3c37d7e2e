//! YAML of formats that write the same in several ways: a value of any form, with lines.

use super::yaml::WithLine;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    /// A text, a number or a truth value, as text.
    Text(String),
    List(Vec<WithLine<Value>>),
    Map(Vec<(WithLine<String>, WithLine<Value>)>),
}

impl Value {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&WithLine<Value>> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(name, _)| name.value == key).map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a key.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.value.text()
    }

    /// The entries of a list; of everything else, none.
    pub fn entries(&self) -> &[WithLine<Value>] {
        match self {
            Value::List(entries) => entries,
            _ => &[],
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_none<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Text(value.to_string()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Text(value.to_string()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Text(value.to_string()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Text(value.to_string()))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    entries.push(entry);
                }
                Ok(Value::List(entries))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Value::Map(pairs))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}
