//! The two forms of lldpctl's JSON.
//!
//! `-f json0` writes lists of objects throughout: `"interface": [{"name": "swp1", "chassis": [{"name": [{"value":
//! "spine1"}]}]}]`. `-f json` shortens them: a list of one entry becomes the entry alone, an object that has only a `value`
//! becomes the value, and an object with a `name` becomes a member of that name. So `interface` is `{"swp1": ...}` for one
//! neighbour and `[{"swp1": ...}, {"swp2": ...}]` for several, and the chassis is `{"spine1": {"id": ...}}`, or `{"id":
//! ...}` if the neighbour does not give its name.

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// An object, or a list of one.
#[derive(Default)]
pub(super) struct One<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneVisitor<T> {
            type Value = One<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object, or a list of one")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<One<T>, A::Error> {
                T::deserialize(de::value::MapAccessDeserializer::new(map)).map(One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<One<T>, A::Error> {
                let only = list.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(One(only)),
                    Some(_) => Err(de::Error::invalid_length(2, &self)),
                }
            }
        }
        deserializer.deserialize_any(OneVisitor(PhantomData))
    }
}

/// A text, alone or as the `value` of an object, or of a list of one; `None` if it is anything else.
#[derive(Default)]
pub(super) struct Text {
    pub text: Option<String>,
    /// The text of the object's `id`, if it has one.
    pub id: Option<String>,
}

impl From<Option<String>> for Text {
    fn from(text: Option<String>) -> Text {
        Text { text, id: None }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or an object with a `value`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Some(text.to_owned()).into())
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Text, E> {
                Ok(Text::default())
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
                Ok(Text::default())
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Text, E> {
                Ok(Text::default())
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Text, E> {
                Ok(Text::default())
            }

            fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let (mut text, mut id) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match &key[..] {
                        "value" => text = map.next_value::<Text>()?.text,
                        "id" => id = map.next_value::<Text>()?.text,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Text { text, id })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
                let first = list.next_element::<Text>()?.unwrap_or_default();
                let mut is_only = true;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    is_only = false;
                }
                Ok(if is_only { first } else { Text::default() })
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}
