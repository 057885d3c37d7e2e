//! YAML with line numbers and limits. JSON is read as the YAML that it is, so that both have the same errors.

use super::{TopologyFault, TopologyFileError};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Options, Spanned, UserMessageFormatter};
use std::fmt;
use std::io::Read;
use std::marker::PhantomData;
use std::path::Path;

/// Largest file; ten million links as indented JSON take less.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// Largest number of values in a file: nine for each of ten million links, and room for what other formats carry
/// besides.
const MAX_VALUES: usize = 200_000_000;

/// A value and the line it begins on, from 1.
#[derive(Debug, Clone)]
pub(super) struct WithLine<T> {
    pub value: T,
    pub line: u32,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithLine<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The library's own wrapper is much larger, which would matter for millions of links.
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(WithLine { value, line: u32::try_from(referenced.line()).unwrap_or(u32::MAX) })
    }
}

/// A mapping in the order it was written.
#[derive(Debug)]
pub(super) struct Pairs<V>(pub Vec<(WithLine<String>, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
            type Value = Pairs<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

/// An integer. The caller checks its range, since the caller can say what the number belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeNumber(pub u64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeNumberVisitor;
        impl Visitor<'_> for WholeNumberVisitor {
            type Value = WholeNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<WholeNumber, E> {
                Ok(WholeNumber(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<WholeNumber, E> {
                u64::try_from(value).map(WholeNumber).map_err(|_| E::custom(format!("{value} is below 0")))
            }
        }
        deserializer.deserialize_any(WholeNumberVisitor)
    }
}

/// Reads a list of at most `most` entries; a longer one is refused before it fills the memory.
pub(super) fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    most: u64,
    what: &'static str,
) -> Result<Vec<T>, D::Error> {
    struct ListVisitor<T>(u64, &'static str, PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of {}", self.1)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() as u64 == self.0 {
                    let too_many = TopologyFault::TooMany { what: self.1, most: self.0 };
                    return Err(de::Error::custom(too_many));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_seq(ListVisitor(most, what, PhantomData))
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<Text, TopologyFileError> {
    let file = path.display().to_string();
    let io = |source| TopologyFileError::Io { file: file.clone(), source };
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|f| f.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(io)?;
    Text::new(bytes, file)
}

/// A file that has been read.
pub(super) struct Text {
    /// The file's name, as messages use it.
    pub file: String,
    pub text: String,
}

impl Text {
    pub fn new(bytes: Vec<u8>, file: String) -> Result<Text, TopologyFileError> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(TopologyFault::TooMany { what: "bytes", most: MAX_FILE_BYTES }.at(&file, None));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Text { file, text }),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
                Err(TopologyFault::form("this is not UTF-8 text").at(&file, u32::try_from(line).ok()))
            }
        }
    }
}

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_VALUES,
            max_nodes: MAX_VALUES,
            max_total_scalar_bytes: MAX_FILE_BYTES as usize,
        },
        duplicate_keys: duplicate_keys,
        with_snippet: false,
    }
}

/// Reads a document in which no key may be repeated.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de str, file: &str) -> Result<T, TopologyFileError> {
    serde_saphyr::from_str_with_options(text, options(DuplicateKeyPolicy::Error))
        .map_err(|error| refusal(&error, file))
}

/// Reads a document of another tool, which may repeat keys that Linkmend does not read.
pub(super) fn parse_foreign<'de, T: Deserialize<'de>>(
    text: &'de str,
    file: &str,
) -> Result<T, TopologyFileError> {
    serde_saphyr::from_str_with_options(text, options(DuplicateKeyPolicy::PassThrough))
        .map_err(|error| refusal(&error, file))
}

fn refusal(error: &serde_saphyr::Error, file: &str) -> TopologyFileError {
    let message = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    // The line already stands before the message, as everywhere in this crate.
    let reason = message.rfind(" at line ").map_or(&message[..], |end| &message[..end]);
    let line = error.location().map(|location| location.line()).filter(|&line| line > 0);
    TopologyFault::form(reason).at(file, line.and_then(|line| u32::try_from(line).ok()))
}

/// The first top-level key of a document that `choose` accepts; reads no further.
pub(super) fn first_key<K>(
    text: &str,
    file: &str,
    choose: impl FnMut(&str) -> Option<K>,
) -> Result<Option<K>, TopologyFileError> {
    struct KeyVisitor<'a, K, F> {
        choose: F,
        chosen: &'a mut Option<K>,
    }
    impl<'de, K, F: FnMut(&str) -> Option<K>> Visitor<'de> for KeyVisitor<'_, K, F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                *self.chosen = (self.choose)(&key);
                if self.chosen.is_some() {
                    // The only way to stop early; the caller finds the key and drops the error.
                    return Err(de::Error::custom("found"));
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut chosen = None;
    let visitor = KeyVisitor { choose, chosen: &mut chosen };
    let result = serde_saphyr::with_deserializer_from_str_with_options(
        text,
        options(DuplicateKeyPolicy::PassThrough),
        |deserializer| deserializer.deserialize_map(visitor),
    );
    match (chosen, result) {
        (Some(key), _) => Ok(Some(key)),
        (None, Ok(())) => Ok(None),
        (None, Err(error)) => Err(refusal(&error, file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Three {
        #[serde(deserialize_with = "three")]
        #[expect(dead_code, reason = "only the refusal matters")]
        list: Vec<u8>,
    }

    fn three<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        at_most(deserializer, 3, "numbers")
    }

    #[test]
    fn a_list_longer_than_its_limit_is_refused_by_name_and_line() {
        assert!(parse::<Three>("list: [1, 2, 3]", "f").is_ok());
        let error = parse::<Three>("list:\n- 1\n- 2\n- 3\n- 4\n", "f").unwrap_err().to_string();
        assert!(error.starts_with("f:") && error.ends_with(": there are more than 3 numbers"), "{error}");
    }
}
