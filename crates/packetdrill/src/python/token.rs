//! The tokens of code, with Python's indentation.

/// Tokens of a logical line; what is made of them nests no deeper.
const TOKENS_MAX: usize = 500;

/// A token of a logical line.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Name(String),
    Integer(i128),
    Float(f64),
    Text(String),
    Sign(&'static str),
}

/// A logical line: physical ones are joined inside brackets and behind a backslash.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Counted from the beginning of the code, 0.
    pub number: usize,
    pub indentation: usize,
    pub tokens: Vec<Token>,
    /// As it was written, for messages.
    pub text: String,
}

/// The longest first, so that `<` does not hide `<=`.
const SIGNS: [&str; 32] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "<>", "(", ")", "[", "]", ",", ":", ";", "+", "-", "*",
    "/", "%", "&", "|", "^", "~", "<", ">", "=", ".", "{", "}", "@",
];

/// The logical lines of `code`; the error is a line and what is wrong with it.
pub fn lines(code: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut found: Vec<Line> = Vec::new();
    let mut open: Option<Line> = None;
    let mut depth = 0_i32;
    for (number, physical) in code.lines().enumerate() {
        let joined = physical.trim_end().strip_suffix('\\');
        let physical = joined.unwrap_or(physical);
        let mut tokens = tokens_of(physical).map_err(|message| (number, message))?;
        if tokens.is_empty() && open.is_none() {
            continue;
        }
        for token in &tokens {
            depth += match token {
                Token::Sign("(" | "[" | "{") => 1,
                Token::Sign(")" | "]" | "}") => -1,
                _ => 0,
            };
        }
        let mut line = match open.take() {
            Some(mut line) => {
                line.tokens.append(&mut tokens);
                line.text.push(' ');
                line.text.push_str(physical.trim());
                line
            }
            None => {
                Line { number, indentation: indentation(physical), tokens, text: physical.trim().to_owned() }
            }
        };
        line.text = line.text.trim().to_owned();
        if line.tokens.len() > TOKENS_MAX {
            return Err((line.number, format!("more than {TOKENS_MAX} words in a line")));
        }
        if depth > 0 || joined.is_some() {
            open = Some(line);
        } else {
            depth = 0;
            found.push(line);
        }
    }
    // A bracket that never closes is for the parser to name.
    found.extend(open);
    Ok(found)
}

/// A tab reaches the next multiple of eight, as in Python.
fn indentation(line: &str) -> usize {
    let spaces = line.chars().take_while(|c| c.is_whitespace());
    spaces.fold(0, |column, c| if c == '\t' { column / 8 * 8 + 8 } else { column + 1 })
}

fn tokens_of(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let length = if first == '"' || first == '\'' {
            let end = rest.get(1..).and_then(|inside| inside.find(first));
            let Some(end) = end else { return Err("a string is not closed".to_owned()) };
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_');
            let length = length.unwrap_or(rest.len());
            tokens.push(number(&rest[..length])?);
            length
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..length].to_owned()));
            length
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let Some(sign) = sign else { return Err(format!("`{first}` is not allowed here")) };
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<Token, String> {
    let digits = text.replace('_', "");
    let integer = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok(),
        None => digits.trim_end_matches(['L', 'l']).parse().ok(),
    };
    if let Some(integer) = integer {
        return Ok(Token::Integer(integer));
    }
    digits.parse().map(Token::Float).map_err(|_| format!("`{text}` is not a number"))
}
