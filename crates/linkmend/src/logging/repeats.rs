//! Limits how often each kind of message is written, and counts what is held back.
//!
//! A kind is a place in the code, and whom it speaks of. The first messages of a kind are written at once. The next one is kept
//! until the period ends, and then written with the number of those that followed it. While a flood lasts, each further
//! period has one message.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{self, Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Messages of a kind that are written at once.
const BURST: u32 = 5;
const PERIOD: Duration = Duration::from_secs(10);
/// A period of a flood that has lasted for one already.
const LONG_PERIOD: Duration = Duration::from_secs(60);
/// Kinds that are told apart. Beyond that, all others count as one kind.
const KINDS_MAX: usize = 4096;
/// Fields that say whom a message speaks of.
const SUBJECTS: [&str; 4] = ["link", "port", "interface", "path"];
const SUBJECT_BYTES_MAX: usize = 128;

/// Place in the code, and subject.
type Kind = (&'static str, String);

#[derive(Debug)]
struct Recent {
    until: Instant,
    period: Duration,
    /// Messages that may still be written at once.
    free: u32,
    /// The first message that is held back, and the number of those behind it.
    held: Option<(String, u64)>,
}

/// The recent messages of each kind, shared by those who log and by the thread that writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<BTreeMap<Kind, Recent>>>);

impl Repeats {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Kind, Recent>) -> T) -> T {
        // The map is consistent even if a thread panicked while holding the lock.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a message is to be written now. If not, it is counted, and `line` asked for if it is to be kept.
    fn admits(
        &self,
        now: Instant,
        kind: Kind,
        line: impl FnOnce() -> Result<String, fmt::Error>,
    ) -> Result<bool, fmt::Error> {
        self.with(|kinds| {
            let is_known = kinds.len() < KINDS_MAX || kinds.contains_key(&kind);
            let recent = match kinds.entry(if is_known { kind } else { Kind::default() }) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(Recent { until: now + PERIOD, period: PERIOD, free: BURST, held: None })
                }
            };
            if recent.free > 0 {
                recent.free -= 1;
                return Ok(true);
            }
            match &mut recent.held {
                Some((_, more)) => *more += 1,
                None => recent.held = Some((line()?, 0)),
            }
            Ok(false)
        })
    }

    /// The lines that were held back in periods that have ended; in all periods without a time.
    pub(super) fn take_held(&self, now: Option<Instant>) -> Vec<String> {
        let mut lines = Vec::new();
        self.with(|kinds| {
            kinds.retain(|_, recent| {
                if now.is_some_and(|now| now < recent.until) {
                    return true;
                }
                let Some((line, more)) = recent.held.take() else { return false };
                lines.push(match more {
                    0 => line,
                    _ => format!(
                        "{} [and {more} more like this within {} s]\n",
                        line.trim_end(),
                        recent.period.as_secs()
                    ),
                });
                (recent.period, recent.until) = (LONG_PERIOD, recent.until + LONG_PERIOD);
                true
            });
        });
        lines
    }
}

/// Formats messages as `inner` does, and leaves out what [`Repeats`] holds back.
pub(super) struct Limited<F> {
    pub(super) inner: F,
    pub(super) repeats: Repeats,
}

impl<S, N, F> FormatEvent<S, N> for Limited<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut subject = Subject::default();
        event.record(&mut subject);
        let line = || {
            let mut line = String::new();
            self.inner.format_event(context, Writer::new(&mut line), event).map(|()| line)
        };
        // Whoever asks for more than the usual messages wants all of them.
        let is_unlimited = *event.metadata().level() > Level::INFO;
        let kind = (event.metadata().name(), subject.0);
        if is_unlimited || self.repeats.admits(Instant::now(), kind, line)? {
            return self.inner.format_event(context, writer, event);
        }
        Ok(())
    }
}

/// Whom a message speaks of: the fields that say so, and the first word of its text.
#[derive(Debug, Default)]
struct Subject(String);

impl Visit for Subject {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(FirstWord(&mut self.0), "{value:?}");
        } else if SUBJECTS.contains(&field.name()) && self.0.len() < SUBJECT_BYTES_MAX {
            let _ = write!(self.0, "{value:?} ");
        }
    }
}

/// Takes a text up to its first space.
struct FirstWord<'a>(&'a mut String);

impl Write for FirstWord<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (word, rest) = text.split_once(' ').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let room = SUBJECT_BYTES_MAX.saturating_sub(self.0.len());
        self.0.extend(word.chars().take(room));
        if rest.is_some() || word.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_are_told_apart_are_bounded() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        let admits =
            |subject: usize| repeats.admits(now, ("here", subject.to_string()), || Ok(String::new()));
        let admitted = (0..3 * KINDS_MAX).filter(|&subject| admits(subject).expect("a line")).count();
        assert_eq!(admitted, KINDS_MAX + BURST as usize);
        assert_eq!(repeats.with(|kinds| kinds.len()), KINDS_MAX + 1);
    }
}
