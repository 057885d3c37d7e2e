//! The tokens of a script.

use crate::{ParseError, Position};

/// A token and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub at: Position,
    pub kind: TokenKind,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// `--name=value`.
    Option {
        name: String,
        value: String,
    },
    /// A decimal number without a fraction, as it is written (it may be the hexadecimal cookie of an option, too).
    Integer(String),
    /// `0x` and digits.
    Hexadecimal(u64),
    /// A decimal number with a fraction, as it is written.
    Fraction(String),
    Word(String),
    /// Between double quotes, without them.
    Quoted(String),
    /// Between back quotes, without them.
    Command(String),
    /// Between `%{` and `}%`, without them.
    Code(String),
    /// `...`
    Ellipsis,
    Sign(char),
    End,
}

impl TokenKind {
    /// As a message names it.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Option { name, .. } => format!("the option --{name}"),
            TokenKind::Integer(text) | TokenKind::Fraction(text) => format!("the number {text}"),
            TokenKind::Hexadecimal(value) => format!("the number {value:#x}"),
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Quoted(_) => "a string".to_owned(),
            TokenKind::Command(_) => "a command".to_owned(),
            TokenKind::Code(_) => "code".to_owned(),
            TokenKind::Ellipsis => "`...`".to_owned(),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::End => "the end of the script".to_owned(),
        }
    }
}

/// The tokens of `text`, the last of which is the end.
///
/// # Errors
/// If a string, a comment or code does not end.
pub fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { rest: text, at: Position { line: 1, column: 1 } };
    let mut found = Vec::new();
    loop {
        let token = lexer.next()?;
        let is_end = token.kind == TokenKind::End;
        found.push(token);
        if is_end {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    at: Position,
}

impl<'a> Lexer<'a> {
    /// Takes so many bytes, which end at the border of a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c: char| !belongs(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// White space and comments: `//` and `#` to the end of the line, and between `/*` and `*/`.
    fn skip(&mut self) -> Result<(), ParseError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                self.between("/*", "*/", "a comment")?;
            } else {
                return Ok(());
            }
        }
    }

    /// What stands between two marks.
    fn between(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, ParseError> {
        let begin = self.at;
        self.take(open.len());
        let Some(end) = self.rest.find(close) else {
            return Err(ParseError::new(begin, format!("{what} begins here and is not closed (`{close}`)")));
        };
        let inside = self.take(end);
        self.take(close.len());
        Ok(inside)
    }

    /// A string between two of `mark`, in which a backslash makes the next character one like any other.
    fn quoted(&mut self, mark: char, what: &str) -> Result<String, ParseError> {
        let begin = self.at;
        self.take(1);
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, next)) if next == mark || next == '\\' => text.push(next),
                    Some((_, next)) => text.extend(['\\', next]),
                    None => break,
                },
                _ if character == mark => {
                    self.take(at + 1);
                    return Ok(text);
                }
                _ => text.push(character),
            }
        }
        Err(ParseError::new(begin, format!("{what} begins here and is not closed (`{mark}`)")))
    }

    fn next(&mut self) -> Result<Token, ParseError> {
        self.skip()?;
        let at = self.at;
        let Some(first) = self.rest.chars().next() else { return Ok(Token { at, kind: TokenKind::End }) };
        let kind = match first {
            '"' => TokenKind::Quoted(self.quoted('"', "a string")?),
            '`' => TokenKind::Command(self.quoted('`', "a command")?),
            '%' if self.rest.starts_with("%{") => {
                TokenKind::Code(self.between("%{", "}%", "code")?.to_owned())
            }
            '-' if self.rest.starts_with("--") => self.option()?,
            _ if self.rest.starts_with("...") => {
                self.take(3);
                TokenKind::Ellipsis
            }
            _ if self.number_length() > 0 => self.number(at)?,
            _ if first.is_ascii_alphanumeric() || first == '_' => {
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                TokenKind::Word(word.to_owned())
            }
            _ => {
                self.take(first.len_utf8());
                TokenKind::Sign(first)
            }
        };
        Ok(Token { at, kind })
    }

    /// `--name=value`, the value up to white space, or a string.
    fn option(&mut self) -> Result<TokenKind, ParseError> {
        self.take(2);
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-').to_owned();
        if !self.rest.starts_with('=') {
            return Ok(TokenKind::Option { name, value: String::new() });
        }
        self.take(1);
        let value = if self.rest.starts_with('"') {
            self.quoted('"', "a string")?
        } else {
            self.take_while(|c| !c.is_whitespace()).to_owned()
        };
        Ok(TokenKind::Option { name, value })
    }

    /// How many bytes belong to the number that begins here; 0 if none does. A word such as `6b7d` is none.
    fn number_length(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(bytes.first() == Some(&b'-'));
        if self.rest.starts_with("0x") {
            let found = bytes.iter().skip(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
            return if found > 0 { 2 + found } else { 0 };
        }
        let whole = sign + digits(sign);
        let fraction = if bytes.get(whole) == Some(&b'.') { digits(whole + 1) } else { 0 };
        if fraction > 0 {
            return whole + 1 + fraction;
        }
        let continues = bytes.get(whole).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        if whole == sign || continues { 0 } else { whole }
    }

    fn number(&mut self, at: Position) -> Result<TokenKind, ParseError> {
        let length = self.number_length();
        let text = self.take(length);
        if let Some(digits) = text.strip_prefix("0x") {
            let value = u64::from_str_radix(digits, 16);
            let value = value.map_err(|_| ParseError::new(at, format!("{text} has more than 64 bits")))?;
            return Ok(TokenKind::Hexadecimal(value));
        }
        let is_fraction = text.contains('.');
        Ok(if is_fraction {
            TokenKind::Fraction(text.to_owned())
        } else {
            TokenKind::Integer(text.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).expect("tokens").into_iter().map(|token| token.kind).collect()
    }

    fn integer(text: &str) -> TokenKind {
        TokenKind::Integer(text.to_owned())
    }

    #[test]
    fn numbers_ellipses_and_words_are_told_apart() {
        let found = kinds("+0...0.200 .1 -1 0x1F 6b7d P. 1:2(3)");
        let wanted = [
            TokenKind::Sign('+'),
            integer("0"),
            TokenKind::Ellipsis,
            TokenKind::Fraction("0.200".into()),
            TokenKind::Fraction(".1".into()),
            integer("-1"),
            TokenKind::Hexadecimal(31),
            TokenKind::Word("6b7d".into()),
            TokenKind::Word("P".into()),
            TokenKind::Sign('.'),
            integer("1"),
            TokenKind::Sign(':'),
            integer("2"),
            TokenKind::Sign('('),
            integer("3"),
            TokenKind::Sign(')'),
            TokenKind::End,
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn comments_of_three_kinds_are_skipped_and_strings_keep_them() {
        let found = kinds("// a\n# b\n/* c\n */ \"// d\" `sysctl # e` %{ # f }%");
        let wanted = [
            TokenKind::Quoted("// d".into()),
            TokenKind::Command("sysctl # e".into()),
            TokenKind::Code(" # f ".into()),
            TokenKind::End,
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn options_take_what_follows_the_sign() {
        let option = |name: &str, value: &str| TokenKind::Option { name: name.into(), value: value.into() };
        let found = kinds("--tolerance_usecs=10000 --local_ip=192.168.0.1 --define=\"a b\" --dry_run");
        let wanted = [
            option("tolerance_usecs", "10000"),
            option("local_ip", "192.168.0.1"),
            option("define", "a b"),
            option("dry_run", ""),
            TokenKind::End,
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn what_does_not_end_is_named_where_it_begins() {
        for (text, wanted) in [
            ("\n  /* a", "2:3: a comment begins here and is not closed (`*/`)"),
            ("`a\n", "1:1: a command begins here and is not closed (```)"),
            ("0 \"\\", "1:3: a string begins here and is not closed (`\"`)"),
            ("%{ }", "1:1: code begins here and is not closed (`}%`)"),
            ("0xfffffffffffffffff", "1:1: 0xfffffffffffffffff has more than 64 bits"),
        ] {
            assert_eq!(tokens(text).expect_err("an error").to_string(), wanted);
        }
    }
}
