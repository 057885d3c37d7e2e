//! Statements and expressions, with Python's precedence.

use super::token::{Line, Token};
use super::{Comparison, Expression, Operator, Statement, StatementKind, Value};

/// Brackets in brackets, blocks in blocks, operators before operators.
const DEPTH_MAX: u32 = 64;

/// An error: the line and what is wrong with it.
pub type CodeError = (usize, String);

/// The statements of a block whose lines have this indentation or more; `next` moves behind it.
pub fn block(lines: &[Line], next: &mut usize, depth: u32) -> Result<Vec<Statement>, CodeError> {
    let mut statements = Vec::new();
    let Some(first) = lines.get(*next) else { return Ok(statements) };
    if depth > DEPTH_MAX {
        return Err((first.number, format!("blocks are nested more than {DEPTH_MAX} deep")));
    }
    let indentation = first.indentation;
    while let Some(line) = lines.get(*next).filter(|line| line.indentation >= indentation) {
        if line.indentation > indentation {
            return Err((line.number, "unexpected indentation".to_owned()));
        }
        *next += 1;
        if is_name(line.tokens.first(), "if") {
            statements.push(branches(line, lines, next, depth)?);
            continue;
        }
        for part in line.tokens.split(|token| *token == Token::Sign(";")) {
            if !part.is_empty() {
                let kind = statement(part, &line.text).map_err(|message| (line.number, message))?;
                statements.push(Statement { line: line.number, kind });
            }
        }
    }
    Ok(statements)
}

fn is_name(token: Option<&Token>, name: &str) -> bool {
    matches!(token, Some(Token::Name(found)) if found == name)
}

/// `if`, `elif` and `else` with their blocks, on lines of their own or behind the colon.
fn branches(first: &Line, lines: &[Line], next: &mut usize, depth: u32) -> Result<Statement, CodeError> {
    let mut branches = Vec::new();
    let mut line = first;
    loop {
        let at = |message: String| (line.number, message);
        let mut parser = Parser { tokens: &line.tokens[1..], depth: 0 };
        let is_else = is_name(line.tokens.first(), "else");
        let condition = if is_else {
            Expression::Constant(Value::Boolean(true))
        } else {
            parser.expression().map_err(at)?
        };
        if !parser.accept(":") {
            return Err(at("expected `:`".to_owned()));
        }
        let body = if parser.tokens.is_empty() {
            if lines.get(*next).is_none_or(|inner| inner.indentation <= line.indentation) {
                return Err(at("expected an indented block".to_owned()));
            }
            block(lines, next, depth + 1)?
        } else {
            let kind = statement(parser.tokens, &line.text).map_err(at)?;
            vec![Statement { line: line.number, kind }]
        };
        branches.push((condition, body));
        let follows = |word: &str| {
            let same = |next: &&Line| next.indentation == first.indentation;
            lines.get(*next).filter(same).is_some_and(|line| is_name(line.tokens.first(), word))
        };
        if is_else || !(follows("elif") || follows("else")) {
            return Ok(Statement { line: first.number, kind: StatementKind::If(branches) });
        }
        line = &lines[*next];
        *next += 1;
    }
}

fn statement(tokens: &[Token], text: &str) -> Result<StatementKind, String> {
    let mut parser = Parser { tokens, depth: 0 };
    let kind = match tokens {
        [Token::Name(word), ..] if word == "assert" => {
            parser.skip();
            let condition = parser.expression()?;
            let message = if parser.accept(",") { Some(parser.expression()?) } else { None };
            StatementKind::Assert(condition, text.to_owned(), message)
        }
        [Token::Name(word)] if word == "pass" => {
            parser.skip();
            StatementKind::Nothing
        }
        [Token::Name(word), ..] if word == "import" || word == "from" => {
            parser.tokens = &[];
            StatementKind::Nothing
        }
        [Token::Name(word), follows, ..] if word == "print" && *follows != Token::Sign("(") => {
            parser.skip();
            let arguments = parser.list()?;
            StatementKind::Evaluate(Expression::Call("print".to_owned(), arguments))
        }
        [Token::Name(name), Token::Sign("="), ..] => {
            parser.skip();
            parser.skip();
            StatementKind::Assign(name.clone(), parser.expression()?)
        }
        [Token::Name(name), Token::Sign(sign), Token::Sign("="), ..] => {
            let operators = LEVELS.iter().flat_map(|level| level.iter());
            let found = operators.copied().find(|(known, _)| known == sign);
            let (_, operator) = found.ok_or_else(|| format!("`{sign}` is not understood here"))?;
            parser.tokens = &tokens[3..];
            let (before, change) = (Expression::Name(name.clone()), parser.expression()?);
            let value = Expression::Binary(Box::new(before), operator, Box::new(change));
            StatementKind::Assign(name.clone(), value)
        }
        _ => StatementKind::Evaluate(parser.expression()?),
    };
    match parser.tokens.first() {
        None => Ok(kind),
        Some(token) => Err(format!("{} is not understood here", describe(token))),
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Integer(value) => format!("`{value}`"),
        Token::Float(value) => format!("`{value}`"),
        Token::Text(text) => format!("\"{text}\""),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    depth: u32,
}

/// The binary operators, from the loosest to the tightest.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("|", Operator::BitOr)],
    &[("^", Operator::BitXor)],
    &[("&", Operator::BitAnd)],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("//", Operator::DivideWhole),
        ("%", Operator::Remainder),
    ],
];

impl Parser<'_> {
    fn skip(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if is_next {
            self.skip();
        }
        is_next
    }

    fn accept_name(&mut self, name: &str) -> bool {
        let is_next = is_name(self.tokens.first(), name);
        if is_next {
            self.skip();
        }
        is_next
    }

    fn list(&mut self) -> Result<Vec<Expression>, String> {
        let mut list = vec![self.expression()?];
        while self.accept(",") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// `a if b else c`, and what binds tighter.
    fn expression(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("expressions are nested more than {DEPTH_MAX} deep"));
        }
        let value = self.or()?;
        let found = if self.accept_name("if") {
            let condition = self.or()?;
            if !self.accept_name("else") {
                return Err("expected `else`".to_owned());
            }
            let otherwise = self.expression()?;
            Expression::Choice(Box::new(condition), Box::new(value), Box::new(otherwise))
        } else {
            value
        };
        self.depth -= 1;
        Ok(found)
    }

    fn or(&mut self) -> Result<Expression, String> {
        let mut left = self.and()?;
        while self.accept_name("or") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, String> {
        let mut left = self.not()?;
        while self.accept_name("and") {
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, String> {
        let mut is_negated = None;
        while self.accept_name("not") {
            is_negated = Some(!is_negated.unwrap_or(false));
        }
        let inner = self.comparison()?;
        Ok(match is_negated {
            None => inner,
            Some(true) => Expression::Not(Box::new(inner)),
            Some(false) => Expression::Not(Box::new(Expression::Not(Box::new(inner)))),
        })
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let first = self.binary(0)?;
        let mut others = Vec::new();
        while let Some(comparison) = self.comparison_sign() {
            others.push((comparison, self.binary(0)?));
        }
        Ok(if others.is_empty() { first } else { Expression::Comparison(Box::new(first), others) })
    }

    fn comparison_sign(&mut self) -> Option<Comparison> {
        let found = match self.tokens {
            [Token::Sign("=="), ..] => Comparison::Equal,
            [Token::Sign("!=" | "<>"), ..] => Comparison::NotEqual,
            [Token::Sign("<"), ..] => Comparison::Less,
            [Token::Sign("<="), ..] => Comparison::LessOrEqual,
            [Token::Sign(">"), ..] => Comparison::Greater,
            [Token::Sign(">="), ..] => Comparison::GreaterOrEqual,
            [Token::Name(name), ..] if name == "in" => Comparison::In,
            [Token::Name(name), Token::Name(behind), ..] if name == "not" && behind == "in" => {
                self.skip();
                Comparison::NotIn
            }
            _ => return None,
        };
        self.skip();
        Some(found)
    }

    fn binary(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((sign, operator)) = operators
            .iter()
            .find(|(sign, _)| matches!(self.tokens.first(), Some(Token::Sign(next)) if next == sign))
        {
            self.accept(sign);
            left = Expression::Binary(Box::new(left), *operator, Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        let mut is_negative = false;
        loop {
            if self.accept("-") {
                is_negative = !is_negative;
            } else if !self.accept("+") {
                break;
            }
        }
        let mut value = self.primary()?;
        if self.accept("**") {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(format!("expressions are nested more than {DEPTH_MAX} deep"));
            }
            value = Expression::Binary(Box::new(value), Operator::Power, Box::new(self.unary()?));
            self.depth -= 1;
        }
        Ok(if is_negative { Expression::Negative(Box::new(value)) } else { value })
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let Some(token) = self.tokens.first().cloned() else {
            return Err("expected a value at the end of the line".to_owned());
        };
        self.skip();
        Ok(match token {
            Token::Integer(value) => Expression::Constant(Value::Integer(value)),
            Token::Float(value) => Expression::Constant(Value::Float(value)),
            Token::Text(text) => Expression::Constant(Value::Text(text)),
            Token::Name(name) => match name.as_str() {
                "True" => Expression::Constant(Value::Boolean(true)),
                "False" => Expression::Constant(Value::Boolean(false)),
                "None" => Expression::Constant(Value::None),
                _ if self.accept("(") => Expression::Call(name, self.closed_list(")")?.0),
                _ => Expression::Name(name),
            },
            Token::Sign("(") => match self.closed_list(")")? {
                (mut list, false) if list.len() == 1 => list.remove(0),
                (list, _) => Expression::Tuple(list),
            },
            Token::Sign("[") => Expression::Tuple(self.closed_list("]")?.0),
            token => return Err(format!("{} is not understood here", describe(&token))),
        })
    }

    /// A list up to `close`, and whether a comma stood at its end.
    fn closed_list(&mut self, close: &str) -> Result<(Vec<Expression>, bool), String> {
        let mut list = Vec::new();
        let mut ends_with_comma = false;
        while !self.accept(close) {
            if !list.is_empty() && !ends_with_comma {
                return Err(format!("expected `,` or `{close}`"));
            }
            list.push(self.expression()?);
            ends_with_comma = self.accept(",");
        }
        Ok((list, ends_with_comma))
    }
}
