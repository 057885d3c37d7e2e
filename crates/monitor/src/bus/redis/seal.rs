//! Seals: who has written what is in Redis, and when.
//!
//! Anyone who may write to the server could otherwise speak for every agent. A seal is the agent's name, a number that increases,
//! the run of the reader that it is for, and an HMAC-SHA-256 (RFC 2104) of these, of what is sealed and of where it is, with the
//! agent's key. Anyone who can check a seal needs that key, and so could make one: a key that only some agents have vouches for
//! one of these.

use linkmend_diagnose::ParameterError;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
#[cfg(test)]
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys have as many bytes as what the hash gives; shorter ones would be weaker, and longer ones no stronger.
const KEY_BYTES: usize = 32;
/// The largest file of keys: those of ten thousand agents.
const FILE_BYTES_MOST: u64 = 4 << 20;
/// Random bytes in the name of a run.
const RUN_BYTES: usize = 16;
/// Stands for all agents that have no line of their own.
const ALL: &str = "*";
/// Of what is in Redis: it increases when the meaning of the fields changes.
pub(super) const VERSION: &str = "1";
/// Tells these seals from whatever else is made with the same key. The version follows.
const PURPOSE: &str = "linkmend corruptd bus";

/// What is sealed, so that one thing cannot be taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Request,
    Acknowledgement,
    Findings,
    /// Which process has the name of an agent.
    Claim,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Acknowledgement => "acknowledgement",
            Kind::Findings => "findings",
            Kind::Claim => "claim",
        }
    }
}

/// The keys of agents.
#[derive(Debug, Clone)]
pub struct Keys {
    of: Arc<BTreeMap<String, hmac::Key>>,
}

/// Why something is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// There is no key of this agent here, so that nobody can say.
    NoKey(String),
    /// It was not written by the agent that it is said to be of.
    Forged(&'static str),
}

/// Who sealed something, the number of it, and for which run of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sealed {
    pub agent: String,
    pub number: u64,
    /// See [`run`]; [`NOBODY`] if it is for no run in particular.
    pub reader: String,
}

/// Stands for the reader of what is sealed for nobody in particular.
pub(super) const NOBODY: &str = "-";

impl Keys {
    /// Reads a file of keys: a line for each, with the name of the agent, or `*` for all others, and 64 hexadecimal digits.
    ///
    /// # Errors
    /// If there is no such file, others than its owner may read it, a line is no key, or `agent` has none.
    pub fn read(path: &Path, agent: &str) -> Result<Keys, ParameterError> {
        let wrong = |rule: String| ParameterError::new("redis-keys", path.display(), rule);
        let metadata = std::fs::metadata(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(wrong("must be readable only by its owner; run chmod 600".to_owned()));
        }
        if metadata.len() > FILE_BYTES_MOST {
            return Err(wrong(format!(
                "has {} bytes, but at most {FILE_BYTES_MOST} are read",
                metadata.len()
            )));
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let keys = Keys::parse(&text).map_err(|(line, rule)| wrong(format!("line {line} {rule}")))?;
        if keys.of(agent).is_none() {
            return Err(wrong(format!("has no key for {agent}, which is this agent, and none for `{ALL}`")));
        }
        Ok(keys)
    }

    /// The keys in a text, or the first line that is none.
    pub(super) fn parse(text: &str) -> Result<Keys, (usize, String)> {
        let mut of = BTreeMap::new();
        for (line, text) in text.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            // The key itself is not shown.
            let [agent, digits] = text.split_whitespace().collect::<Vec<_>>()[..] else {
                return Err((line + 1, "must have the name of an agent, or `*`, and a key".to_owned()));
            };
            let Some(key) = bytes(digits).filter(|key| key.len() == KEY_BYTES) else {
                let rule = format!(
                    "must have a key of {} hexadecimal digits, like `openssl rand -hex 32`",
                    2 * KEY_BYTES
                );
                return Err((line + 1, rule));
            };
            if of.insert(agent.to_owned(), hmac::Key::new(hmac::HMAC_SHA256, &key)).is_some() {
                return Err((line + 1, "gives an agent a second key".to_owned()));
            }
        }
        Ok(Keys { of: Arc::new(of) })
    }

    fn of(&self, agent: &str) -> Option<&hmac::Key> {
        self.of.get(agent).or_else(|| self.of.get(ALL))
    }

    /// The seal for a text that stands in `place`. Without a key of the agent there is none.
    pub(super) fn seal(&self, by: &Sealed, kind: Kind, place: &str, text: &str) -> String {
        self.seal_version(VERSION, by, kind, place, text)
    }

    /// The same of a text that this version of programs understands.
    pub(super) fn seal_version(
        &self,
        version: &str,
        by: &Sealed,
        kind: Kind,
        place: &str,
        text: &str,
    ) -> String {
        let Some(key) = self.of(&by.agent) else { return String::new() };
        let tag = hmac::sign(key, &message(version, by, kind, place, text));
        let mut seal = format!("{} {} {} ", by.agent, by.number, by.reader);
        for byte in tag.as_ref() {
            // Writing to a string does not fail.
            let _ = write!(seal, "{byte:02x}");
        }
        seal
    }

    /// Who has sealed a text that stands in `place`.
    pub(super) fn open(&self, seal: &str, kind: Kind, place: &str, text: &str) -> Result<Sealed, Doubt> {
        self.open_version(VERSION, seal, kind, place, text)
    }

    /// Who has sealed a text as one of this version, be it one that this program does not know.
    pub(super) fn open_version(
        &self,
        version: &str,
        seal: &str,
        kind: Kind,
        place: &str,
        text: &str,
    ) -> Result<Sealed, Doubt> {
        let [agent, number, reader, digits] = seal.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Doubt::Forged("it has no seal"));
        };
        let (Ok(number), Some(tag)) = (number.parse(), bytes(digits)) else {
            return Err(Doubt::Forged("its seal is malformed"));
        };
        let Some(key) = self.of(agent) else { return Err(Doubt::NoKey(agent.chars().take(80).collect())) };
        let by = Sealed { agent: agent.to_owned(), number, reader: reader.to_owned() };
        match hmac::verify(key, &message(version, &by, kind, place, text), &tag) {
            Ok(()) => Ok(by),
            Err(_) => Err(Doubt::Forged("its seal was made with another key")),
        }
    }
}

/// A number for a seal: the time, so that a restart does not set it back.
pub(super) fn number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    #[cfg(test)]
    let now = now + Duration::from_millis(tests::LATER_MS.get());
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A name for a run of an agent that nobody can foresee: what was sealed for it was sealed while it runs.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn run() -> Result<String, ParameterError> {
    let mut bytes = [0; RUN_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map_err(|_| ParameterError::new("redis", "this run", "requires random numbers from the system"))?;
    Ok(bytes.iter().fold(String::new(), |mut name, byte| {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
        name
    }))
}

/// All parts with their lengths, so that none can be taken for a piece of another.
fn message(version: &str, by: &Sealed, kind: Kind, place: &str, text: &str) -> Vec<u8> {
    let (number, purpose) = (by.number.to_string(), format!("{PURPOSE} {version}"));
    let mut message = Vec::with_capacity(text.len() + place.len() + 192);
    for part in [&purpose, &by.agent, &number, &by.reader, kind.name(), place, text] {
        message.extend((part.len() as u64).to_be_bytes());
        message.extend(part.as_bytes());
    }
    message
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(value(high)? << 4 | value(low)?).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// How much later it is in a test than by the clock.
        pub static LATER_MS: Cell<u64> = const { Cell::new(0) };
    }

    /// It is later by so many milliseconds; the number of a seal that is made then.
    pub fn later(ms: u64) -> u64 {
        LATER_MS.set(LATER_MS.get() + ms);
        number()
    }

    fn keys(text: &str) -> Keys {
        Keys::parse(text).expect("keys")
    }

    fn key(digit: char) -> String {
        String::from(digit).repeat(2 * KEY_BYTES)
    }

    #[test]
    fn a_seal_holds_for_what_was_sealed_and_for_nothing_else() {
        let all = keys(&format!("# keys\n\nleaf1 {}\n* {}\n", key('1'), key('2')));
        let sealed = Sealed { agent: "leaf1".to_owned(), number: 7, reader: "run".to_owned() };
        let seal = all.seal(&sealed, Kind::Request, "{x}:leaf1/a", "text");
        assert_eq!(all.open(&seal, Kind::Request, "{x}:leaf1/a", "text"), Ok(sealed));
        for (kind, place, text) in [
            (Kind::Findings, "{x}:leaf1/a", "text"),
            (Kind::Request, "{y}:leaf1/a", "text"),
            (Kind::Request, "{x}:leaf1/a", "texts"),
            (Kind::Request, "{x}:leaf1/at", "ext"),
        ] {
            assert!(matches!(all.open(&seal, kind, place, text), Err(Doubt::Forged(_))), "{place} {text}");
        }
        for wrong in [
            "",
            "leaf1",
            &seal.replace(" 7 ", " 8 "),
            &seal.replace(" run ", " another "),
            &seal.replace("leaf1", "leaf2"),
            &seal[..seal.len() - 1],
        ] {
            assert!(
                matches!(all.open(wrong, Kind::Request, "{x}:leaf1/a", "text"), Err(Doubt::Forged(_))),
                "{wrong}"
            );
        }
        // Without this agent's key, nobody can say.
        let one = keys(&format!("leaf2 {}", key('2')));
        assert_eq!(
            one.open(&seal, Kind::Request, "{x}:leaf1/a", "text"),
            Err(Doubt::NoKey("leaf1".to_owned()))
        );
    }

    /// Published: RFC 4231, test case 1, with SHA-256.
    #[test]
    fn the_code_is_that_of_the_standard() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[0x0b; 20]);
        let tag = bytes("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7").expect("digits");
        assert!(hmac::verify(&key, b"Hi There", &tag).is_ok());
    }

    #[test]
    fn what_is_no_file_of_keys_is_refused_without_showing_a_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        let refusal = |text: &str, mode: u32| {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
            Keys::read(&path, "leaf1").err().map(|error| error.to_string()).unwrap_or_default()
        };
        let line = format!("leaf1 {}", key('a'));
        assert_eq!(refusal(&line, 0o600), "");
        for (text, mode, part) in [
            (line.as_str(), 0o640, "chmod 600"),
            ("leaf1", 0o600, "line 1 must have the name"),
            (&line[..line.len() - 1], 0o600, "line 1 must have a key of 64"),
            (&line.replace('a', "g"), 0o600, "line 1 must have a key of 64"),
            (&format!("{line}\n{line}"), 0o600, "line 2 gives an agent a second key"),
            (&line.replace("leaf1", "leaf2"), 0o600, "has no key for leaf1"),
        ] {
            let error = refusal(text, mode);
            assert!(error.contains(part) && !error.contains("aaaa"), "{text}: {error}");
        }
        assert!(Keys::read(&folder.path().join("none"), "leaf1").is_err());
    }
}
