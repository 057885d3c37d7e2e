//! From tokens to a script, after the grammar that packetdrill's documentation publishes ("Syntax").

mod call;
mod packet;

pub use packet::FLAG_LETTERS;

use crate::lexer::{self, Token, TokenKind};
use crate::script::{Action, Event, EventTime, Script};
use crate::{ParseError, Position};
use linkmend_transport::Nanos;

/// Reads a script.
///
/// # Errors
/// If the text is no script; the error says where, what was expected, and what stands there.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let mut parser = Parser { tokens: lexer::tokens(text)?, next: 0 };
    let mut script = Script { options: Vec::new(), preparation: Vec::new(), events: Vec::new() };
    loop {
        let at = parser.position();
        match parser.peek().clone() {
            TokenKind::Option { name, value } => script.options.push((at, name, value)),
            TokenKind::Command(command) => script.preparation.push((at, command)),
            _ => break,
        }
        parser.advance();
    }
    while *parser.peek() != TokenKind::End {
        // A command that tidies up stands at the end, without a time.
        if matches!(parser.peek(), TokenKind::Command(_)) && *parser.peek_behind() == TokenKind::End {
            let time = EventTime::Relative(Nanos::ZERO);
            let event = Event { at: parser.position(), time, action: parser.command_or_code() };
            script.events.push(event);
            continue;
        }
        script.events.push(parser.event()?);
    }
    Ok(script)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
}

impl Parser {
    fn token(&self) -> &Token {
        // The last token is the end, which is never passed.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &TokenKind {
        &self.token().kind
    }

    fn peek_behind(&self) -> &TokenKind {
        let behind = (self.next + 1).min(self.tokens.len() - 1);
        &self.tokens[behind].kind
    }

    fn position(&self) -> Position {
        self.token().at
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn expected<T>(&self, what: &str) -> Result<T, ParseError> {
        let found = self.peek().describe();
        Err(ParseError::new(self.position(), format!("expected {what}, found {found}")))
    }

    /// Takes `sign` if it is next.
    fn accept(&mut self, sign: char) -> bool {
        let is_next = *self.peek() == TokenKind::Sign(sign);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), TokenKind::Word(next) if next == word);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn sign(&mut self, sign: char) -> Result<(), ParseError> {
        if self.accept(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn word(&mut self, what: &str) -> Result<String, ParseError> {
        let TokenKind::Word(word) = self.peek() else { return self.expected(what) };
        let word = word.clone();
        self.advance();
        Ok(word)
    }

    /// A decimal number that fits into its type.
    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, ParseError> {
        let TokenKind::Integer(text) = self.peek() else { return self.expected(what) };
        let value = text.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
        let Some(value) = value else {
            return Err(ParseError::new(self.position(), format!("{text} does not fit {what}")));
        };
        self.advance();
        Ok(value)
    }

    fn event(&mut self) -> Result<Event, ParseError> {
        let at = self.position();
        let time = self.event_time()?;
        let action = match self.peek() {
            TokenKind::Sign('<' | '>') => self.packet()?,
            TokenKind::Command(_) | TokenKind::Code(_) => self.command_or_code(),
            TokenKind::Word(_) | TokenKind::Ellipsis => Action::Call(self.call()?),
            _ => return self.expected("a packet (`<` or `>`), a call, a command or code"),
        };
        Ok(Event { at, time, action })
    }

    fn command_or_code(&mut self) -> Action {
        let action = match self.peek() {
            TokenKind::Command(command) => Action::Command(command.clone()),
            TokenKind::Code(code) => Action::Code(code.clone()),
            other => Action::Lacking(other.describe()),
        };
        self.advance();
        action
    }

    fn event_time(&mut self) -> Result<EventTime, ParseError> {
        if self.accept('*') {
            return Ok(EventTime::Any);
        }
        let is_relative = self.accept('+');
        let first = self.time()?;
        if !self.accept('~') {
            return Ok(if is_relative { EventTime::Relative(first) } else { EventTime::Absolute(first) });
        }
        if is_relative {
            self.sign('+')?;
        }
        let at = self.position();
        let last = self.time()?;
        if last < first {
            return Err(ParseError::new(at, "a time range ends before it begins"));
        }
        Ok(match is_relative {
            true => EventTime::RelativeRange(first, last),
            false => EventTime::AbsoluteRange(first, last),
        })
    }

    /// Seconds, as in `0.250`.
    fn time(&mut self) -> Result<Nanos, ParseError> {
        let (TokenKind::Integer(text) | TokenKind::Fraction(text)) = self.peek() else {
            return self.expected("a time in seconds");
        };
        let Some(time) = nanos(text) else {
            let message =
                format!("{text} is not a time: it must be 0 to 9,000,000,000 s with at most 9 decimals");
            return Err(ParseError::new(self.position(), message));
        };
        self.advance();
        Ok(time)
    }
}

/// A decimal number of seconds in nanoseconds, without a detour through binary fractions.
fn nanos(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    if fraction.len() > 9 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    Some(Nanos(whole.checked_mul(1_000_000_000)?.checked_add(fraction)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_relative_ranges_or_any() {
        let text = "`a`\n`b`\n0 `c` +.1 `d` * `e` 1~1.5 `f` +0.000000001~+2 `g`\n`h`";
        let script = parse(text).expect("a script");
        assert_eq!(script.preparation.len(), 2);
        let times: Vec<_> = script.events.iter().map(|event| event.time).collect();
        let wanted = [
            EventTime::Absolute(Nanos::ZERO),
            EventTime::Relative(Nanos::from_millis(100)),
            EventTime::Any,
            EventTime::AbsoluteRange(Nanos::from_secs(1), Nanos::from_millis(1_500)),
            EventTime::RelativeRange(Nanos(1), Nanos::from_secs(2)),
            EventTime::Relative(Nanos::ZERO),
        ];
        assert_eq!(times, wanted);
    }

    #[test]
    fn errors_name_line_column_what_was_expected_and_what_stands_there() {
        for (text, wanted) in [
            ("0 `a`\n  x", "2:3: expected a time in seconds, found `x`"),
            ("-1 `a`", "1:1: -1 is not a time: it must be 0 to 9,000,000,000 s with at most 9 decimals"),
            ("2~1 `a`", "1:3: a time range ends before it begins"),
            ("0 )", "1:3: expected a packet (`<` or `>`), a call, a command or code, found `)`"),
            ("0 < S 0:0", "1:10: expected `(`, found the end of the script"),
            ("0 < S 0:5(4)", "1:7: 0:5(4): the sequence numbers span 5 bytes, not 4"),
            ("0 < Q 0:0(0)", "1:5: `Q` are not TCP flags; valid flags are S, F, R, P, E, W, U and `.`"),
            ("0 < . 0:99999999999(0)", "1:9: 99999999999 does not fit a sequence number"),
            ("0 < . 1:1(0) ack 1 <mss 1,tfo>", "1:27: expected a TCP option, found `tfo`"),
            ("0 read(3, ..., 1)", "1:18: expected `=`, found the end of the script"),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), wanted);
        }
    }
}
