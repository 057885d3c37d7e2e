//! What a source says of ports that it cannot read: once for each kind of trouble, and not for each port and poll.

use linkmend_diagnose::excerpt;
use std::collections::BTreeMap;

/// Kinds of trouble that are told apart. Beyond these there are no more complaints.
const KINDS_MOST: usize = 100;
/// The longest part of a value that is shown, in characters.
const SHOWN_MOST: usize = 40;

/// What is wrong with a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trouble {
    /// Its kind, in words that follow the name of a port. It is one of a few, and has nothing of the port in it.
    pub what: String,
    /// What was there instead.
    pub value: Option<String>,
}

impl Trouble {
    pub fn new(what: impl Into<String>) -> Trouble {
        Trouble { what: what.into(), value: None }
    }

    pub fn with(what: impl Into<String>, value: impl Into<String>) -> Trouble {
        Trouble { what: what.into(), value: Some(value.into()) }
    }
}

/// Ports in trouble, by its kind. A kind is logged when it comes first, and again when more ports have it than ever before.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    /// The most ports that have had it in one poll.
    most: BTreeMap<String, usize>,
    /// How many have it in this poll, and the first of them.
    now: BTreeMap<String, (usize, String)>,
}

impl Complaints {
    /// A port is in trouble.
    pub fn add(&mut self, port: &str, trouble: &Trouble) {
        if let Some((count, _)) = self.now.get_mut(&trouble.what) {
            *count += 1;
        } else if self.now.len() < KINDS_MOST {
            let value =
                trouble.value.as_ref().map_or(String::new(), |value| format!(" (`{}`)", shown(value)));
            self.now.insert(trouble.what.clone(), (1, shown(port) + &value));
        }
    }

    /// Ends a poll; what is to be logged.
    pub fn take(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for (what, (count, first)) in std::mem::take(&mut self.now) {
            let most = self.most.get(&what).copied().unwrap_or_default();
            if count > most && (most > 0 || self.most.len() < KINDS_MOST) {
                let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
                news.push(format!("{first}{others}: {what}"));
                self.most.insert(what, count);
            }
        }
        news
    }
}

/// A text that came from elsewhere, so short and so written that a log can have it.
fn shown(text: &str) -> String {
    let mut short = excerpt(text, SHOWN_MOST);
    if text.chars().nth(SHOWN_MOST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_once_and_again_when_more_ports_have_it() {
        let mut complaints = Complaints::default();
        let mut poll = |ports: &[&str]| {
            ports.iter().for_each(|port| complaints.add(port, &Trouble::with("has no counters", "-")));
            complaints.take()
        };
        assert_eq!(poll(&["a", "b"]), ["a (`-`) and 1 more: has no counters"]);
        assert!(poll(&["a", "b"]).is_empty() && poll(&["b"]).is_empty() && poll(&["a", "c"]).is_empty());
        assert_eq!(poll(&["a", "b", "c"]), ["a (`-`) and 2 more: has no counters"]);
    }

    #[test]
    fn kinds_are_bounded_and_texts_are_short() {
        let mut complaints = Complaints::default();
        for kind in 0..1_000 {
            complaints.add(&"a\n".repeat(1_000), &Trouble::with(format!("kind {kind}"), "b\n".repeat(1_000)));
        }
        let said = complaints.take();
        assert_eq!(said.len(), KINDS_MOST);
        assert!(said.iter().all(|text| text.len() < 300 && !text.contains('\n')), "{}", said[0]);
        complaints.add("a", &Trouble::new("one more"));
        assert!(complaints.take().is_empty());
    }
}
