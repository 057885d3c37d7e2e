//! System calls: `0.100...0.200 connect(3, ..., ...) = -1 ECONNREFUSED (Connection refused)`.

use super::Parser;
use crate::ParseError;
use crate::lexer::TokenKind;
use crate::script::{Call, Expression};

/// Brackets in brackets; a script needs four.
const DEPTH_MAX: u32 = 32;

impl Parser {
    pub(super) fn call(&mut self) -> Result<Call, ParseError> {
        let mut end = None;
        if *self.peek() == TokenKind::Ellipsis {
            self.advance();
            // The end counts from where the beginning does, whether that is said once more or not.
            self.accept('+');
            end = Some(self.time()?);
        }
        let name = self.word("the name of a call")?;
        self.sign('(')?;
        let arguments = self.list(')', 0)?;
        self.sign('=')?;
        let result = self.expression(0)?;
        let error = match self.peek() {
            TokenKind::Word(word) => Some(word.clone()),
            _ => None,
        };
        if error.is_some() {
            self.advance();
        }
        if self.accept('(') {
            self.note()?;
        }
        Ok(Call { name, arguments, end, result, error })
    }

    /// The words of an explanation in brackets.
    fn note(&mut self) -> Result<(), ParseError> {
        while !self.accept(')') {
            if *self.peek() == TokenKind::End {
                return self.expected("`)`");
            }
            self.advance();
        }
        Ok(())
    }

    /// Expressions between commas, up to `close`.
    fn list(&mut self, close: char, depth: u32) -> Result<Vec<Expression>, ParseError> {
        let mut list = Vec::new();
        if self.accept(close) {
            return Ok(list);
        }
        loop {
            list.push(self.expression(depth)?);
            if !self.accept(',') {
                self.sign(close)?;
                return Ok(list);
            }
        }
    }

    fn expression(&mut self, depth: u32) -> Result<Expression, ParseError> {
        let first = self.operand(depth)?;
        if *self.peek() != TokenKind::Sign('|') {
            return Ok(first);
        }
        let mut bits = vec![first];
        while self.accept('|') {
            bits.push(self.operand(depth)?);
        }
        Ok(Expression::Or(bits))
    }

    fn operand(&mut self, depth: u32) -> Result<Expression, ParseError> {
        if depth >= DEPTH_MAX {
            return Err(ParseError::new(
                self.position(),
                format!("brackets are nested more than {DEPTH_MAX} deep"),
            ));
        }
        match self.peek().clone() {
            TokenKind::Ellipsis => {
                self.advance();
                Ok(Expression::Whatever)
            }
            TokenKind::Integer(_) => Ok(Expression::Number(self.number("a number of 64 bits")?)),
            TokenKind::Hexadecimal(value) => {
                self.advance();
                Ok(Expression::Number(value as i64))
            }
            TokenKind::Quoted(text) => {
                self.advance();
                // `"abc"...` is a string that goes on.
                if *self.peek() == TokenKind::Ellipsis {
                    self.advance();
                }
                Ok(Expression::Text(text))
            }
            TokenKind::Word(word) => {
                self.advance();
                if self.accept('(') {
                    return Ok(Expression::Function(word, self.list(')', depth + 1)?));
                }
                Ok(Expression::Word(word))
            }
            TokenKind::Sign('[') => {
                self.advance();
                Ok(Expression::Array(self.list(']', depth + 1)?))
            }
            TokenKind::Sign('{') => {
                self.advance();
                self.structure(depth + 1)
            }
            _ => self.expected("a value"),
        }
    }

    /// The fields of a structure, behind its `{`.
    fn structure(&mut self, depth: u32) -> Result<Expression, ParseError> {
        let mut fields = Vec::new();
        loop {
            if self.accept('}') {
                return Ok(Expression::Structure(fields));
            }
            let name = match (self.peek().clone(), self.peek_behind()) {
                (TokenKind::Word(name), TokenKind::Sign('=')) => {
                    self.advance();
                    self.advance();
                    Some(name)
                }
                // `msg_name(...)=...`: the size of a field.
                (TokenKind::Word(name), TokenKind::Sign('(')) if name.starts_with("msg_") => {
                    self.advance();
                    self.advance();
                    self.list(')', depth)?;
                    self.sign('=')?;
                    Some(name)
                }
                _ => None,
            };
            fields.push((name, self.expression(depth)?));
            if !self.accept(',') && *self.peek() != TokenKind::Sign('}') {
                return self.expected("`,` or `}`");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::script::Action;
    use linkmend_transport::Nanos;

    fn call(text: &str) -> Call {
        let mut script = parse(text).expect(text);
        assert_eq!(script.events.len(), 1, "{text}");
        match script.events.remove(0).action {
            Action::Call(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_blocking_call_has_an_end_and_an_error_has_a_note() {
        let found = call("0.1...0.2 connect(3, ..., 16) = -1 ECONNREFUSED (Connection refused)");
        assert_eq!(found.name, "connect");
        assert_eq!(found.end, Some(Nanos::from_millis(200)));
        assert_eq!(found.result, Expression::Number(-1));
        assert_eq!(found.error.as_deref(), Some("ECONNREFUSED"));
        let wanted = [Expression::Number(3), Expression::Whatever, Expression::Number(16)];
        assert_eq!(found.arguments, wanted);
        assert_eq!(call("+0...0 accept(3, ..., ...) = 4").end, Some(Nanos::ZERO));
    }

    #[test]
    fn every_kind_of_argument_of_the_grammar_is_read() {
        for text in [
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
            "0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
            "0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0",
            "0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
            "0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0",
            "0 bind(3, {sa_family = AF_INET, sin_port = htons(80), sin_addr = inet_addr(\"1.2.3.4\")}, 16) = 0",
            "0 poll([{fd=3, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0x0) = 1",
            "0 writev(3, [{..., 1000}, {\"abc\"..., 3}], 2) = 1003",
            "0 sendmsg(3, {msg_name(...)=..., msg_iov(1)=[{..., 9}], msg_flags=0}, MSG_DONTWAIT) = 9",
            "0 close(3) = 0 (Success)",
            "0 getsockopt(3, SOL_TCP, TCP_INFO, [...], [8]) = 0",
        ] {
            call(text);
        }
        let message = parse("0 sendmsg(3, {a=1 b}, 0) = 1").expect_err("no comma").to_string();
        assert_eq!(message, "1:19: expected `,` or `}`, found `b`");
    }

    #[test]
    fn brackets_are_not_followed_without_end() {
        let text = format!("0 a({}", "[".repeat(100_000));
        let message = parse(&text).expect_err("too deep").to_string();
        assert!(message.ends_with("brackets are nested more than 32 deep"), "{message}");
    }
}
