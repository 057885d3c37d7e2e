//! Executes a script in virtual time.

mod packets;

use crate::call::{self, Attempt, Progress};
use crate::host::Host;
use crate::info;
use crate::python::{Interpreter, Stopped};
use crate::script::{Action, Call, Direction, Event, EventTime, Expression, Options, Script, TcpOption};
use crate::settings::{Settings, ShellScripts};
use crate::socket::Descriptors;
use crate::{ParseError, Position};
use linkmend_transport::Nanos;
use linkmend_transport::tcp::Flags;
use std::fmt;

/// The longest wait for something that may come at any time.
const WAIT_MAX: Nanos = Nanos::from_secs(3_600);

/// What has become of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Pass,
    /// The first difference.
    Fail(Difference),
    /// The simulated host does not have what the script needs.
    Lacking {
        at: Position,
        feature: String,
    },
}

/// Where a host did something else than the script says.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub at: Position,
    pub message: String,
    /// What the script says, in its own notation, with its time.
    pub expected: Option<String>,
    pub actual: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at.line, self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "\n  script: {expected}")?;
        }
        if let Some(actual) = &self.actual {
            write!(f, "\n  actual: {actual}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Pass => f.write_str("pass"),
            Outcome::Fail(difference) => write!(f, "fail: {difference}"),
            Outcome::Lacking { at, feature } => write!(f, "lacking: {}: {feature}", at.line),
        }
    }
}

/// Reads and executes a script that stands alone.
///
/// # Errors
/// If the text is no script.
pub fn run_text(text: &str) -> Result<Outcome, ParseError> {
    Ok(run(&crate::parse(text)?, &|_| None))
}

/// Executes a script. `read` returns the text of a file that its commands call, such as `../common/defaults.sh`; its
/// settings are taken from the text, and no shell ever sees it.
pub fn run(script: &Script, read: &dyn Fn(&str) -> Option<String>) -> Outcome {
    let mut settings = Settings::new(shell_scripts(script, read));
    for (at, name, value) in &script.options {
        if let Err(feature) = settings.option(name, value) {
            return Outcome::Lacking { at: *at, feature };
        }
    }
    for (at, command) in &script.preparation {
        if let Err(feature) = settings.command(command) {
            return Outcome::Lacking { at: *at, feature };
        }
    }
    if let Some(shift) = expected_window_scale(script) {
        settings.expect_window_scale(shift);
    }
    let mut runner = Runner::new(settings);
    match runner.run(&script.events) {
        Ok(()) => Outcome::Pass,
        Err(Stop::Differs(difference)) => Outcome::Fail(difference),
        Err(Stop::Lacks(at, feature)) => Outcome::Lacking { at, feature },
    }
}

/// Every shell script that a command names.
fn shell_scripts(script: &Script, read: &dyn Fn(&str) -> Option<String>) -> ShellScripts {
    let later = script.events.iter().filter_map(|event| match &event.action {
        Action::Command(command) => Some(command),
        _ => None,
    });
    let commands = script.preparation.iter().map(|(_, command)| command).chain(later);
    let words = commands.flat_map(|command| command.split([';', '&', '|']).flat_map(str::split_whitespace));
    let named = words.filter(|word| word.ends_with(".sh"));
    named.filter_map(|name| Some((name.to_owned(), read(name)?))).collect()
}

/// The window scale in the first SYN that the script expects.
fn expected_window_scale(script: &Script) -> Option<u8> {
    let packets = script.events.iter().filter_map(|event| match &event.action {
        Action::Packet(packet) if packet.direction == Direction::Outbound => Some(packet),
        _ => None,
    });
    let mut syns = packets.filter(|packet| packet.flags.contains(Flags::SYN));
    let Options::These(options) = &syns.next()?.options else { return None };
    options.iter().find_map(|option| match option {
        TcpOption::WindowScale(shift) => Some(*shift),
        _ => None,
    })
}

/// Why a script ends before its end.
enum Stop {
    Differs(Difference),
    Lacks(Position, String),
}

impl Stop {
    fn plain(at: Position, message: impl Into<String>) -> Stop {
        Stop::Differs(Difference { at, message: message.into(), expected: None, actual: None })
    }
}

/// A call that blocks.
struct Pending {
    at: Position,
    call: Call,
    attempt: Attempt,
    /// When the script says that it returns.
    end: Nanos,
    /// What came of it, and when.
    outcome: Option<(Nanos, Progress)>,
}

struct Runner {
    host: Host,
    descriptors: Descriptors,
    pending: Option<Pending>,
    interpreter: Interpreter,
    /// The time from which relative ones count.
    reference: Nanos,
}

impl Runner {
    fn new(settings: Settings) -> Runner {
        Runner {
            host: Host::new(settings),
            descriptors: Descriptors::default(),
            pending: None,
            interpreter: Interpreter::default(),
            reference: Nanos::ZERO,
        }
    }

    fn tolerance(&self) -> Nanos {
        self.host.settings.tolerance
    }

    fn run(&mut self, events: &[Event]) -> Result<(), Stop> {
        for event in events {
            let base = self.reference;
            let (begin, end) = match event.time {
                EventTime::Absolute(at) => (at, at),
                EventTime::Relative(after) => (base + after, base + after),
                EventTime::AbsoluteRange(begin, end) => (begin, end),
                EventTime::RelativeRange(begin, end) => (base + begin, base + end),
                EventTime::Any => (self.host.now(), self.host.now() + WAIT_MAX),
            };
            let took_place = self.event(event, begin, end, base)?;
            let is_exact = matches!(event.time, EventTime::Absolute(_) | EventTime::Relative(_));
            // An event that may come within a range is what others are relative to when it has come.
            self.reference = if is_exact { begin } else { took_place };
        }
        self.finish_call()
    }

    /// Executes an event, and returns when it took place.
    fn event(&mut self, event: &Event, begin: Nanos, end: Nanos, base: Nanos) -> Result<Nanos, Stop> {
        let lacks = |feature| Stop::Lacks(event.at, feature);
        if let Action::Packet(packet) = &event.action
            && packet.direction == Direction::Outbound
        {
            let is_any = event.time == EventTime::Any;
            return self.expect_packet(event.at, packet, begin, end, is_any);
        }
        if matches!(event.action, Action::Call(_)) {
            self.finish_call()?;
        }
        self.advance(begin)?;
        match &event.action {
            Action::Packet(packet) => self.inject(event.at, packet)?,
            Action::Call(call) => self.call(event, call, base)?,
            Action::Command(command) => {
                let segment = self.host.settings.largest_segment();
                self.host.settings.command(command).map_err(lacks)?;
                if self.host.settings.largest_segment() != segment {
                    self.host.change_route().map_err(lacks)?;
                }
                self.host.set_queue_full(self.host.settings.has_full_queue);
                self.check_counter(event.at)?;
            }
            Action::Code(code) => self.code(event.at, code)?,
            Action::Lacking(feature) => return Err(lacks(feature.clone())),
        }
        self.try_call()?;
        Ok(self.host.now())
    }

    /// Compares the counter that a command has looked at.
    fn check_counter(&mut self, at: Position) -> Result<(), Stop> {
        let Some(expected) = self.host.settings.expected_beyond_window.take() else { return Ok(()) };
        let now = self.host.instant();
        let actual = self.host.connection.as_ref().map_or(0, |connection| connection.info(now).beyond_window);
        if actual == expected {
            return Ok(());
        }
        Err(Stop::plain(at, format!("TcpExtBeyondWindow is {actual} instead of {expected}")))
    }

    /// Lets the time pass to `until`, and calls return that wait.
    fn advance(&mut self, until: Nanos) -> Result<(), Stop> {
        while let Some(timer) = self.host.next_timer(until) {
            let before = self.host.now();
            self.host.set_time(timer);
            self.try_call()?;
            if timer == before && self.host.next_timer(before).is_some() {
                // More timers at one instant than a host can have: time goes on without them.
                break;
            }
        }
        self.host.set_time(until);
        self.try_call()
    }

    fn code(&mut self, at: Position, code: &str) -> Result<(), Stop> {
        let (connection, now) = (self.host.connection.as_ref(), self.host.instant());
        let result = self.interpreter.run(code, &|name| info::lookup(connection, now, name));
        let place =
            |line: usize| Position { line: at.line + line, column: if line == 0 { at.column } else { 1 } };
        match result {
            Ok(()) => Ok(()),
            Err(Stopped::Lacking { line, message }) => Err(Stop::Lacks(place(line), message)),
            Err(Stopped::Failed { line, text, values, message }) => {
                let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                Err(Stop::Differs(Difference {
                    at: place(line),
                    message: message.map_or_else(
                        || "the assertion does not hold".to_owned(),
                        |message| format!("the assertion does not hold: {message}"),
                    ),
                    expected: Some(text),
                    actual: (!values.is_empty()).then(|| values.join(", ")),
                }))
            }
        }
    }

    fn call(&mut self, event: &Event, call: &Call, base: Nanos) -> Result<(), Stop> {
        let is_relative = matches!(event.time, EventTime::Relative(_) | EventTime::RelativeRange(..));
        let end = call.end.map(|end| if is_relative { base + end } else { end });
        let now = self.host.now();
        let mut pending = Pending {
            at: event.at,
            call: call.clone(),
            attempt: Attempt::default(),
            end: end.unwrap_or(now),
            outcome: None,
        };
        let progress = call::attempt(call, &mut pending.attempt, &mut self.descriptors, &mut self.host)
            .map_err(|feature| Stop::Lacks(event.at, feature))?;
        if progress != Progress::Blocks {
            pending.outcome = Some((now, progress));
        } else if end.is_none() {
            return Err(Stop::plain(event.at, format!("`{}` does not return", call.name)));
        }
        self.pending = Some(pending);
        self.check_call()
    }

    /// Whether a call that waits may return now.
    fn try_call(&mut self) -> Result<(), Stop> {
        if let Some(pending) = &mut self.pending
            && pending.outcome.is_none()
        {
            let (attempt, descriptors) = (&mut pending.attempt, &mut self.descriptors);
            let progress = call::attempt(&pending.call, attempt, descriptors, &mut self.host)
                .map_err(|feature| Stop::Lacks(pending.at, feature))?;
            if progress != Progress::Blocks {
                pending.outcome = Some((self.host.now(), progress));
            }
        }
        self.check_call()
    }

    /// Compares a call that has returned with what the script says.
    fn check_call(&mut self) -> Result<(), Stop> {
        let Some(pending) = self.pending.take_if(|pending| pending.outcome.is_some()) else { return Ok(()) };
        let Some((at, progress)) = pending.outcome else { return Ok(()) };
        let name = &pending.call.name;
        if at + self.tolerance() < pending.end || at > pending.end + self.tolerance() {
            let (at, end) = (at.as_secs_f64(), pending.end.as_secs_f64());
            return Err(Stop::plain(pending.at, format!("`{name}` returns at {at:.6} instead of {end:.6}")));
        }
        let actual = match &progress {
            Progress::Returned(value) => value.to_string(),
            Progress::Failed(error) => format!("-1 {error}"),
            Progress::Differs(message) => {
                return Err(Stop::plain(pending.at, format!("`{name}`: {message}")));
            }
            Progress::Blocks => return Ok(()),
        };
        let expected = match (&pending.call.result, &pending.call.error) {
            (Expression::Whatever, _) => return Ok(()),
            (Expression::Number(-1), Some(error)) => format!("-1 {error}"),
            (Expression::Number(value), _) => value.to_string(),
            _ => return Err(Stop::Lacks(pending.at, format!("this result of `{name}`"))),
        };
        if expected == actual || (expected == "-1" && matches!(progress, Progress::Failed(_))) {
            return Ok(());
        }
        Err(Stop::plain(pending.at, format!("`{name}` returns {actual} instead of {expected}")))
    }

    /// The call before must have returned.
    fn finish_call(&mut self) -> Result<(), Stop> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let (at, name, limit) = (pending.at, pending.call.name.clone(), pending.end + self.tolerance());
        // Time goes on only as far as the call needs it.
        while self.pending.is_some() {
            match self.host.next_timer(limit) {
                Some(timer) => {
                    self.host.set_time(timer);
                    self.try_call()?;
                }
                None => break,
            }
        }
        match self.pending {
            Some(_) => {
                Err(Stop::plain(at, format!("`{name}` does not return by {:.6}", limit.as_secs_f64())))
            }
            None => Ok(()),
        }
    }
}
