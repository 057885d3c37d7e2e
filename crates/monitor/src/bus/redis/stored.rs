//! A direction as it is in Redis: a hash of JSON texts, and the generations that the script compares.

use crate::exchange::DirectionState;
use ::redis::{FromRedisValue, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Increases when the meaning of the fields changes.
pub(super) const VERSION: &str = "1";
/// The fields, in the order in which [`state`] takes them.
pub(super) const FIELDS: [&str; 5] =
    ["version", "request", "request-generation", "acknowledgement", "acknowledgement-generation"];
/// The longest field. A request has some hundred bytes, an acknowledgement as many and the message of an error.
const FIELD_BYTES_MOST: usize = 64 << 10;

/// What is known of a direction; `None` if the key is not there.
///
/// # Errors
/// Why the fields make no sense.
pub(super) fn state(fields: &[Value]) -> Result<Option<DirectionState>, String> {
    let [version, request, request_generation, acknowledgement, acknowledgement_generation] = fields else {
        return Err(format!("it has {} fields instead of {}", fields.len(), FIELDS.len()));
    };
    if fields.iter().all(|field| *field == Value::Nil) {
        return Ok(None);
    }
    match text("version", version)? {
        Some(known) if known == VERSION => (),
        other => {
            let other = other.unwrap_or_else(|| "missing".to_owned());
            return Err(format!("its version is {other}, this program knows {VERSION}"));
        }
    }
    let state = DirectionState {
        request: part("request", request)?,
        acknowledgement: part("acknowledgement", acknowledgement)?,
    };
    state.check()?;
    agree("request-generation", state.request_generation(), request_generation)?;
    agree("acknowledgement-generation", state.acknowledgement_generation(), acknowledgement_generation)?;
    Ok(Some(state))
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
        serde_json::to_string(part).map_err(|error| format!("its {name} has no form in JSON: {error}"))?;
    if json.len() > FIELD_BYTES_MOST {
        return Err(too_long(name, json.len()));
    }
    Ok([generation.to_string(), json])
}

fn too_long(name: &str, bytes: usize) -> String {
    format!("its {name} has {bytes} bytes, and at most {FIELD_BYTES_MOST} are read")
}

fn text(name: &str, value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::BulkString(bytes) if bytes.len() > FIELD_BYTES_MOST => Err(too_long(name, bytes.len())),
        value => Option::<String>::from_redis_value_ref(value)
            .map_err(|error| format!("its {name} is no text: {error}")),
    }
}

fn part<T: DeserializeOwned>(name: &str, value: &Value) -> Result<Option<T>, String> {
    let Some(text) = text(name, value)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| format!("its {name} cannot be read: {error}"))
}

fn agree(name: &str, generation: Option<u64>, value: &Value) -> Result<(), String> {
    let written = text(name, value)?;
    if written != generation.map(|generation| generation.to_string()) {
        let written = written.unwrap_or_else(|| "missing".to_owned());
        return Err(format!("its {name} is {written}, and not that of the JSON beside it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Acknowledgement, GENERATION_MOST, Protection, Request};
    use linkmend_dataplane::config::ProtectMode;
    use proptest::prelude::*;

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
        let fields = [bulk(VERSION), bulk(&json), bulk(&generation), bulk(&done_json), bulk(&done)];
        let whole = DirectionState { request: Some(request), acknowledgement: Some(acknowledgement) };
        assert_eq!(state(&fields), Ok(Some(whole.clone())));
        let half = [bulk(VERSION), bulk(&json), bulk(&generation), Value::Nil, Value::Nil];
        assert_eq!(state(&half), Ok(Some(DirectionState { acknowledgement: None, ..whole })));
        assert_eq!(state(&vec![Value::Nil; 5]), Ok(None));
    }

    #[test]
    fn what_no_agent_asks_for_is_refused() {
        let protection = Protection { mode: ProtectMode::Ordered, loss_rate: 1e-3, target: 1e-8, copies: 2 };
        let refused = |generation, protection| {
            let request = Request { generation, protection: Some(protection), ..Request::default() };
            let [number, json] = written("request", Some(generation), Some(&request)).expect("short");
            state(&[bulk(VERSION), bulk(&json), bulk(&number), Value::Nil, Value::Nil]).is_err()
        };
        assert!(!refused(1, protection));
        assert!(refused(u64::MAX, protection), "nothing could supersede it");
        assert!(refused(1, Protection { copies: 200, ..protection }));
        assert!(refused(1, Protection { copies: 0, ..protection }));
        assert!(refused(1, Protection { loss_rate: 2.0, ..protection }));
        assert!(refused(1, Protection { target: 0.0, ..protection }));
    }

    proptest! {
        #[test]
        fn any_answer_is_understood_or_refused(texts in proptest::collection::vec(proptest::option::of(".{0,20}"), 0..7)) {
            let fields: Vec<Value> =
                texts.iter().map(|text| text.as_deref().map_or(Value::Nil, bulk)).collect();
            prop_assert!(matches!(state(&fields), Ok(None) | Err(_)));
        }
    }
}
