//! A direction as it is in Redis: a hash of JSON texts, the generations that the script compares, and seals.

use super::seal::{Kind, VERSION};
use crate::exchange::DirectionState;
use ::redis::{FromRedisValue, Value};
use linkmend_diagnose::excerpt;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is shown of a version that is none.
const VERSION_SHOWN_MOST: usize = 20;
/// The fields, in the order in which [`parts`] takes them.
pub(super) const FIELDS: [&str; 7] = [
    "version",
    "request",
    "request-generation",
    "request-seal",
    "acknowledgement",
    "acknowledgement-generation",
    "acknowledgement-seal",
];
/// The longest field. A request has some hundred bytes, an acknowledgement as many and the message of an error.
pub(super) const FIELD_BYTES_MOST: usize = 64 << 10;

/// What is there of a request, or of an acknowledgement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub text: Option<String>,
    pub generation: Option<String>,
    pub seal: Option<String>,
}

/// The two parts of a direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub version: String,
    pub request: Part,
    pub acknowledgement: Part,
}

/// The texts of a direction; `None` if the key is not there.
///
/// # Errors
/// Why the fields make no sense.
pub(super) fn parts(fields: &[Value]) -> Result<Option<Parts>, String> {
    let [version, fields @ ..] = fields else { return Err("it has no fields".to_owned()) };
    let [request, request_generation, request_seal, done, done_generation, done_seal] = fields else {
        return Err(format!("it has {} fields instead of {}", fields.len() + 1, FIELDS.len()));
    };
    if *version == Value::Nil && fields.iter().all(|field| *field == Value::Nil) {
        return Ok(None);
    }
    let part = |kind: Kind, json: &Value, generation: &Value, seal: &Value| -> Result<Part, String> {
        let name = kind.name();
        Ok(Part {
            text: text(name, json)?,
            generation: text(&format!("{name}-generation"), generation)?,
            seal: text(&format!("{name}-seal"), seal)?,
        })
    };
    Ok(Some(Parts {
        version: text("version", version)?.unwrap_or_else(|| "missing".to_owned()),
        request: part(Kind::Request, request, request_generation, request_seal)?,
        acknowledgement: part(Kind::Acknowledgement, done, done_generation, done_seal)?,
    }))
}

impl Parts {
    /// # Errors
    /// If it is another version than the one that this program knows.
    pub fn check_version(&self) -> Result<(), String> {
        if self.version == VERSION {
            return Ok(());
        }
        let version = excerpt(&self.version, VERSION_SHOWN_MOST);
        Err(format!("its version is {version}, but this program supports version {VERSION}"))
    }

    /// What they say.
    ///
    /// # Errors
    /// Why they make no sense.
    pub fn state(&self, generation_most: u64) -> Result<DirectionState, String> {
        let state = DirectionState {
            request: part("request", &self.request)?,
            acknowledgement: part("acknowledgement", &self.acknowledgement)?,
        };
        state.check(generation_most)?;
        agree("request-generation", state.request_generation(), &self.request)?;
        agree("acknowledgement-generation", state.acknowledgement_generation(), &self.acknowledgement)?;
        Ok(state)
    }
}

/// The generation and the JSON text of a part; both empty if there is none.
///
/// # Errors
/// If it is longer than what would be read.
pub(super) fn written(
    name: &str,
    generation: Option<u64>,
    part: Option<&impl Serialize>,
) -> Result<[String; 2], String> {
    let (Some(generation), Some(part)) = (generation, part) else {
        return Ok([String::new(), String::new()]);
    };
    let json =
        serde_json::to_string(part).map_err(|error| format!("cannot serialise its {name}: {error}"))?;
    if json.len() > FIELD_BYTES_MOST {
        return Err(too_long(name, json.len()));
    }
    Ok([generation.to_string(), json])
}

fn too_long(name: &str, bytes: usize) -> String {
    format!("its {name} has {bytes} bytes, but at most {FIELD_BYTES_MOST} are read")
}

fn text(name: &str, value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::BulkString(bytes) if bytes.len() > FIELD_BYTES_MOST => Err(too_long(name, bytes.len())),
        // What is too long is not even read.
        Value::Int(bytes) => Err(too_long(name, usize::try_from(*bytes).unwrap_or(usize::MAX))),
        value => Option::<String>::from_redis_value_ref(value)
            .map_err(|error| format!("its {name} is not text: {error}")),
    }
}

fn part<T: DeserializeOwned>(name: &str, part: &Part) -> Result<Option<T>, String> {
    let Some(text) = &part.text else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| format!("its {name} cannot be read: {error}"))
}

fn agree(name: &str, generation: Option<u64>, part: &Part) -> Result<(), String> {
    if part.generation != generation.map(|generation| generation.to_string()) {
        let written = part.generation.as_deref().unwrap_or("missing");
        return Err(format!("its {name} is {written}, which differs from the JSON beside it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Acknowledgement, Protection, Request};
    use linkmend_control::ProtectMode;
    use proptest::prelude::*;

    const GENERATION_MOST: u64 = 1 << 62;

    fn state(fields: &[Value]) -> Result<Option<DirectionState>, String> {
        let state = |parts: Parts| parts.check_version().and_then(|()| parts.state(GENERATION_MOST));
        parts(fields)?.map(state).transpose()
    }

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn what_is_written_reads_back() {
        let request =
            Request { generation: GENERATION_MOST, reason: "a test".to_owned(), ..Request::default() };
        let acknowledgement = Acknowledgement { generation: 3, ..Acknowledgement::default() };
        let [generation, json] = written("request", Some(GENERATION_MOST), Some(&request)).expect("short");
        let [done, done_json] = written("acknowledgement", Some(3), Some(&acknowledgement)).expect("short");
        let none = Value::Nil;
        let fields = [
            bulk(VERSION),
            bulk(&json),
            bulk(&generation),
            none.clone(),
            bulk(&done_json),
            bulk(&done),
            none,
        ];
        let whole = DirectionState { request: Some(request), acknowledgement: Some(acknowledgement) };
        assert_eq!(state(&fields), Ok(Some(whole.clone())));
        let mut half = fields.clone();
        half[4..].fill(Value::Nil);
        assert_eq!(state(&half), Ok(Some(DirectionState { acknowledgement: None, ..whole })));
        assert_eq!(state(&vec![Value::Nil; FIELDS.len()]), Ok(None));
    }

    #[test]
    fn what_no_agent_asks_for_is_refused() {
        let protection = Protection { mode: ProtectMode::Ordered, loss_rate: 1e-3, target: 1e-8, copies: 2 };
        let refused = |generation, protection| {
            let request = Request { generation, protection: Some(protection), ..Request::default() };
            let [number, json] = written("request", Some(generation), Some(&request)).expect("short");
            let mut fields = vec![Value::Nil; FIELDS.len()];
            fields[..3].clone_from_slice(&[bulk(VERSION), bulk(&json), bulk(&number)]);
            state(&fields).is_err()
        };
        assert!(!refused(1, protection));
        assert!(refused(u64::MAX, protection), "nothing could supersede it");
        assert!(refused(1, Protection { copies: 200, ..protection }));
        assert!(refused(1, Protection { copies: 0, ..protection }));
        assert!(refused(1, Protection { loss_rate: 2.0, ..protection }));
        assert!(refused(1, Protection { target: 0.0, ..protection }));
    }

    #[test]
    fn a_field_that_was_too_long_to_be_read_is_refused() {
        let mut fields = vec![Value::Nil; FIELDS.len()];
        (fields[0], fields[1]) = (bulk(VERSION), Value::Int(20 << 20));
        assert_eq!(
            parts(&fields),
            Err("its request has 20971520 bytes, but at most 65536 are read".to_owned())
        );
    }

    proptest! {
        #[test]
        fn any_answer_is_understood_or_refused(texts in proptest::collection::vec(proptest::option::of(".{0,20}"), 0..9)) {
            let fields: Vec<Value> =
                texts.iter().map(|text| text.as_deref().map_or(Value::Nil, bulk)).collect();
            prop_assert!(matches!(state(&fields), Ok(None) | Err(_)));
        }
    }
}
