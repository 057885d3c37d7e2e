//! Names, signs and comments of DOT.

use linkmend_diagnose::excerpt;
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Id(Cow<'a, str>),
    /// `--` or `->`.
    Edge {
        directed: bool,
    },
    Sign(char),
}

pub(super) struct Tokens<'a> {
    rest: &'a str,
    pub line: u32,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line = self.line.saturating_add(taken.bytes().filter(|byte| *byte == b'\n').count() as u32);
        self.rest = rest;
        taken
    }

    /// Skips blanks and comments; an error if a comment has no end.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            let is_line = self.rest.starts_with("//") || self.rest.starts_with('#');
            if is_line {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or("a comment is not closed by `*/`")?;
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn quoted(&mut self) -> Result<Token<'a>, String> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end
        });
        let end = end.ok_or("a name is not closed by `\"`")?;
        let taken = self.take(end + 2);
        let inner = &taken[1..taken.len() - 1];
        if !inner.contains('\\') {
            return Ok(Token::Id(Cow::Borrowed(inner)));
        }
        Ok(Token::Id(Cow::Owned(inner.replace("\\\"", "\"").replace("\\\n", ""))))
    }

    /// A text between `<` and `>`, which may nest.
    fn markup(&mut self) -> Result<Token<'a>, String> {
        let mut depth = 0_usize;
        let end = self.rest.find(|c| {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let end = end.ok_or("a string is not closed by `>`")?;
        Ok(Token::Id(Cow::Borrowed(self.take(end + 1))))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<(u32, Token<'a>), (u32, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let begins = self.line;
        if let Err(reason) = self.skip() {
            self.rest = "";
            return Some(Err((begins, reason)));
        }
        let line = self.line;
        let first = self.rest.chars().next()?;
        let token = if self.rest.starts_with("--") || self.rest.starts_with("->") {
            Ok(Token::Edge { directed: self.take(2) == "->" })
        } else if "{}[]=;,:".contains(first) {
            self.take(1);
            Ok(Token::Sign(first))
        } else if first == '"' {
            self.quoted()
        } else if first == '<' {
            self.markup()
        } else {
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c > '\u{7f}';
            let starts = usize::from(first == '-');
            let end = self.rest[starts..].find(|c| !is_name(c)).unwrap_or(self.rest.len() - starts) + starts;
            match end {
                0 => {
                    Err(format!("`{}` cannot be part of a graph", excerpt(&self.rest[..first.len_utf8()], 1)))
                }
                _ => Ok(Token::Id(Cow::Borrowed(self.take(end)))),
            }
        };
        if token.is_err() {
            self.rest = "";
        }
        Some(token.map(|token| (line, token)).map_err(|reason| (line, reason)))
    }
}
