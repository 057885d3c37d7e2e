//! What is sent for a decision, and what proves who has written it.

use crate::audit_chain::Place;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use linkmend_diagnose::printable;
use ring::hmac;
use serde::Serialize;
use std::sync::Arc;

/// Of the body. It changes when a field is removed or means something else, and not when one is added.
const VERSION: u32 = 1;

/// A request: the same for each attempt, but for its signature, which has the time of the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// By which the receiver recognises what it has had before.
    pub id: String,
    pub body: Arc<str>,
}

/// Whose decisions they are.
#[derive(Debug, Clone)]
pub(super) struct Author {
    pub agent: String,
    /// A name that no other run of any agent has.
    pub run: String,
    /// Whether nothing is done about them.
    pub dry_run: bool,
}

#[derive(Serialize)]
struct Body<'a, T> {
    version: u32,
    agent: &'a str,
    run: &'a str,
    sequence: u64,
    dry_run: bool,
    /// Where the audit log has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    audit: Option<AuditPlace<'a>>,
    decision: &'a T,
}

#[derive(Serialize)]
struct AuditPlace<'a> {
    number: u64,
    seal: &'a str,
}

impl Author {
    /// The message about a decision. `sequence` counts those of this run, from 1.
    pub fn message(
        &self,
        sequence: u64,
        decision: &impl Serialize,
        place: Option<&Place>,
    ) -> Result<Message, serde_json::Error> {
        let Author { agent, run, dry_run } = self;
        let audit = place.map(|Place { number, seal }| AuditPlace { number: *number, seal });
        let body = Body { version: VERSION, agent, run, sequence, dry_run: *dry_run, audit, decision };
        let body = serde_json::to_string(&body)?;
        Ok(Message { id: format!("{run}-{sequence}"), body: printable(&body).into() })
    }
}

/// The signature of an attempt, by Standard Webhooks: over the id, the time in seconds since 1970 and the body.
pub(super) fn signature(key: &hmac::Key, message: &Message, timestamp_s: u64) -> String {
    let signed = format!("{}.{timestamp_s}.{}", message.id, message.body);
    format!("v1,{}", BASE64_STANDARD.encode(hmac::sign(key, signed.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the Standard Webhooks specification's reference libraries.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let key = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64");
        let message =
            Message { id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(), body: "{\"test\": 2432232314}".into() };
        let signature = signature(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message, 1_614_265_330);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_body_says_whose_decision_it_is_and_where_the_audit_log_has_it() {
        let author = Author { agent: "leaf1".to_owned(), run: "r".to_owned(), dry_run: true };
        let decision = serde_json::json!({ "text": "a\u{202e}b" });
        let place = Place { number: 3, seal: "sha256:00".to_owned() };
        let message = author.message(7, &decision, Some(&place)).expect("JSON");
        assert_eq!(message.id, "r-7");
        assert_eq!(
            &*message.body,
            "{\"version\":1,\"agent\":\"leaf1\",\"run\":\"r\",\"sequence\":7,\"dry_run\":true,\
             \"audit\":{\"number\":3,\"seal\":\"sha256:00\"},\"decision\":{\"text\":\"a\\u202eb\"}}"
        );
        assert!(!author.message(7, &decision, None).expect("JSON").body.contains("audit"));
    }
}
