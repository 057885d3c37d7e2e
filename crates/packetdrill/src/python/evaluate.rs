//! Runs the statements.

use super::parse::block;
use super::token::lines;
use super::{Comparison, Expression, Operator, Statement, StatementKind, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// Why the code stopped, and in which line, counted from its beginning, 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Stopped {
    /// An assertion does not hold: its text, the values of its names, and its message.
    Failed { line: usize, text: String, values: Vec<(String, Value)>, message: Option<String> },
    /// The code uses what is not there, or makes no sense.
    Lacking { line: usize, message: String },
}

/// Runs code; what it assigns lives on for the code blocks behind it.
#[derive(Debug, Clone, Default)]
pub struct Interpreter {
    variables: BTreeMap<String, Value>,
    /// What was printed, a line each.
    pub printed: Vec<String>,
}

/// What a name means that is no variable of the code.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<Value>;

impl Interpreter {
    /// Runs `code`; `lookup` knows the names of `tcp_info`.
    ///
    /// # Errors
    /// Where and why it stopped.
    pub fn run(&mut self, code: &str, lookup: Lookup<'_>) -> Result<(), Stopped> {
        let lacking = |(line, message)| Stopped::Lacking { line, message };
        let lines = lines(code).map_err(lacking)?;
        let mut next = 0;
        let statements = block(&lines, &mut next, 0).map_err(lacking)?;
        match lines.get(next) {
            Some(line) => Err(lacking((line.number, "unexpected indentation".to_owned()))),
            None => self.execute(&statements, lookup),
        }
    }

    fn execute(&mut self, statements: &[Statement], lookup: Lookup<'_>) -> Result<(), Stopped> {
        for statement in statements {
            let line = statement.line;
            let lacking = |message| Stopped::Lacking { line, message };
            match &statement.kind {
                StatementKind::Nothing => (),
                StatementKind::Assign(name, value) => {
                    let value = self.evaluate(value, lookup).map_err(lacking)?;
                    self.variables.insert(name.clone(), value);
                }
                StatementKind::Evaluate(expression) => {
                    self.evaluate(expression, lookup).map_err(lacking)?;
                }
                StatementKind::If(branches) => {
                    for (condition, body) in branches {
                        if is_true(&self.evaluate(condition, lookup).map_err(lacking)?) {
                            self.execute(body, lookup)?;
                            break;
                        }
                    }
                }
                StatementKind::Assert(condition, text, message) => {
                    if !is_true(&self.evaluate(condition, lookup).map_err(lacking)?) {
                        let message = message.as_ref().map(|message| self.evaluate(message, lookup));
                        let message = message.transpose().map_err(lacking)?.map(|value| value.to_string());
                        let values = self.values_of(condition, lookup);
                        return Err(Stopped::Failed { line, text: text.clone(), values, message });
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&self, name: &str, lookup: Lookup<'_>) -> Option<Value> {
        self.variables.get(name).cloned().or_else(|| lookup(name))
    }

    /// The names in an expression with their values, each once.
    fn values_of(&self, expression: &Expression, lookup: Lookup<'_>) -> Vec<(String, Value)> {
        let mut names = Vec::new();
        names_in(expression, &mut names);
        let mut values: Vec<(String, Value)> = Vec::new();
        for name in names {
            if values.iter().all(|(known, _)| *known != name)
                && let Some(value) = self.name(&name, lookup)
            {
                values.push((name, value));
            }
        }
        values
    }

    fn evaluate(&mut self, expression: &Expression, lookup: Lookup<'_>) -> Result<Value, String> {
        Ok(match expression {
            Expression::Constant(value) => value.clone(),
            Expression::Name(name) => {
                let unknown = || format!("the name `{name}` in code");
                self.name(name, lookup).ok_or_else(unknown)?
            }
            Expression::Tuple(list) => Value::Tuple(self.all(list, lookup)?),
            Expression::Not(inner) => Value::Boolean(!is_true(&self.evaluate(inner, lookup)?)),
            Expression::And(left, right) => match self.evaluate(left, lookup)? {
                value if !is_true(&value) => value,
                _ => self.evaluate(right, lookup)?,
            },
            Expression::Or(left, right) => match self.evaluate(left, lookup)? {
                value if is_true(&value) => value,
                _ => self.evaluate(right, lookup)?,
            },
            Expression::Comparison(first, others) => {
                let mut left = self.evaluate(first, lookup)?;
                for (comparison, right) in others {
                    let right = self.evaluate(right, lookup)?;
                    if !compare(&left, *comparison, &right)? {
                        return Ok(Value::Boolean(false));
                    }
                    left = right;
                }
                Value::Boolean(true)
            }
            Expression::Negative(inner) => match self.evaluate(inner, lookup)? {
                Value::Float(value) => Value::Float(-value),
                value => Value::Integer(integer(&value)?.checked_neg().ok_or("a number is too large")?),
            },
            Expression::Binary(left, operator, right) => {
                let left = self.evaluate(left, lookup)?;
                binary(left, *operator, self.evaluate(right, lookup)?)?
            }
            Expression::Call(name, arguments) => {
                let arguments = self.all(arguments, lookup)?;
                self.call(name, arguments)?
            }
            Expression::Choice(condition, value, otherwise) => {
                let chosen = if is_true(&self.evaluate(condition, lookup)?) { value } else { otherwise };
                self.evaluate(chosen, lookup)?
            }
        })
    }

    fn all(&mut self, list: &[Expression], lookup: Lookup<'_>) -> Result<Vec<Value>, String> {
        list.iter().map(|expression| self.evaluate(expression, lookup)).collect()
    }

    fn call(&mut self, name: &str, arguments: Vec<Value>) -> Result<Value, String> {
        match (name, arguments.as_slice()) {
            ("print", _) => {
                let words: Vec<_> = arguments.iter().map(ToString::to_string).collect();
                self.printed.push(words.join(" "));
                Ok(Value::None)
            }
            ("abs", [Value::Float(value)]) => Ok(Value::Float(value.abs())),
            ("abs", [value]) => {
                Ok(Value::Integer(integer(value)?.checked_abs().ok_or("a number is too large")?))
            }
            ("int", [Value::Float(value)]) => Ok(Value::Integer(*value as i128)),
            ("int", [Value::Text(text)]) => {
                text.trim().parse().map(Value::Integer).map_err(|_| format!("int(\"{text}\")"))
            }
            ("int", [value]) => Ok(Value::Integer(integer(value)?)),
            ("float", [value]) => Ok(Value::Float(float(value)?)),
            ("round", [value]) => Ok(Value::Integer(libm_round(float(value)?))),
            ("str", [value]) => Ok(Value::Text(value.to_string())),
            ("len", [Value::Text(text)]) => Ok(Value::Integer(text.chars().count() as i128)),
            ("len", [Value::Tuple(list)]) => Ok(Value::Integer(list.len() as i128)),
            ("min" | "max", _) => extreme(name == "max", &arguments),
            _ => Err(format!("the function `{name}` with {} arguments in code", arguments.len())),
        }
    }
}

/// To the nearest integer, and to the even one of two that are equally near, as Python does.
fn libm_round(value: f64) -> i128 {
    value.round_ties_even() as i128
}

fn names_in(expression: &Expression, names: &mut Vec<String>) {
    match expression {
        Expression::Constant(_) => (),
        Expression::Name(name) => names.push(name.clone()),
        Expression::Tuple(list) | Expression::Call(_, list) => {
            list.iter().for_each(|inner| names_in(inner, names));
        }
        Expression::Not(inner) | Expression::Negative(inner) => names_in(inner, names),
        Expression::And(left, right) | Expression::Or(left, right) | Expression::Binary(left, _, right) => {
            names_in(left, names);
            names_in(right, names);
        }
        Expression::Comparison(first, others) => {
            names_in(first, names);
            others.iter().for_each(|(_, inner)| names_in(inner, names));
        }
        Expression::Choice(condition, value, otherwise) => {
            [condition, value, otherwise].into_iter().for_each(|inner| names_in(inner, names));
        }
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::None => false,
        Value::Boolean(value) => *value,
        Value::Integer(value) => *value != 0,
        Value::Float(value) => *value != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::Tuple(list) => !list.is_empty(),
    }
}

fn integer(value: &Value) -> Result<i128, String> {
    match value {
        Value::Boolean(value) => Ok(i128::from(*value)),
        Value::Integer(value) => Ok(*value),
        _ => Err(format!("{value} where code needs an integer")),
    }
}

fn float(value: &Value) -> Result<f64, String> {
    match value {
        Value::Float(value) => Ok(*value),
        Value::Text(text) => text.trim().parse().map_err(|_| format!("float(\"{text}\")")),
        _ => Ok(integer(value)? as f64),
    }
}

fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Float(_), _) | (_, Value::Float(_)) => float(left)?.partial_cmp(&float(right)?),
        _ => Some(integer(left)?.cmp(&integer(right)?)),
    })
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Tuple(left), Value::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::None, Value::None) => true,
        (Value::None, _) | (_, Value::None) => false,
        (Value::Text(_), other) | (other, Value::Text(_)) if !matches!(other, Value::Text(_)) => false,
        _ => order(left, right) == Ok(Some(Ordering::Equal)),
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, String> {
    Ok(match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::Less => order(left, right)? == Some(Ordering::Less),
        Comparison::LessOrEqual => order(left, right)?.is_some_and(Ordering::is_le),
        Comparison::Greater => order(left, right)? == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order(left, right)?.is_some_and(Ordering::is_ge),
        Comparison::In | Comparison::NotIn => {
            let is_in = match (left, right) {
                (_, Value::Tuple(list)) => list.iter().any(|value| equal(left, value)),
                (Value::Text(part), Value::Text(text)) => text.contains(part.as_str()),
                _ => return Err(format!("`in` {right} in code")),
            };
            is_in == (comparison == Comparison::In)
        }
    })
}

fn extreme(is_max: bool, arguments: &[Value]) -> Result<Value, String> {
    let list = match arguments {
        [Value::Tuple(list)] => list.as_slice(),
        list => list,
    };
    let Some((first, others)) = list.split_first() else {
        return Err("min or max of an empty list".to_owned());
    };
    let wanted = if is_max { Ordering::Greater } else { Ordering::Less };
    let mut best = first;
    for value in others {
        if order(value, best)? == Some(wanted) {
            best = value;
        }
    }
    Ok(best.clone())
}

fn binary(left: Value, operator: Operator, right: Value) -> Result<Value, String> {
    match (&left, operator, &right) {
        (Value::Text(text), Operator::Add, Value::Text(more)) => Ok(Value::Text(format!("{text}{more}"))),
        (Value::Text(text), Operator::Remainder, _) => Ok(Value::Text(formatted(text, &right))),
        (_, Operator::Divide, _) => of_floats(float(&left)?, operator, float(&right)?),
        (Value::Float(_), _, _) | (_, _, Value::Float(_)) => {
            of_floats(float(&left)?, operator, float(&right)?)
        }
        _ => of_integers(integer(&left)?, operator, integer(&right)?),
    }
}

/// `"%d of %s" % (1, 2)`: each specification is replaced by the next value, without its width.
fn formatted(text: &str, values: &Value) -> String {
    let one = std::slice::from_ref(values);
    let mut values = if let Value::Tuple(list) = values { list.iter() } else { one.iter() };
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        let specification = &rest[at + 1..];
        let end = specification.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let Some(end) = end else { break };
        if specification[end..].starts_with('%') {
            result.push('%');
        } else if let Some(value) = values.next() {
            result.push_str(&value.to_string());
        }
        rest = &specification[end + 1..];
    }
    result.push_str(rest);
    result
}

fn of_floats(left: f64, operator: Operator, right: f64) -> Result<Value, String> {
    let divides = matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Remainder);
    if divides && right == 0.0 {
        return Err("a division by zero in code".to_owned());
    }
    Ok(Value::Float(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::DivideWhole => (left / right).floor(),
        Operator::Remainder => left - right * (left / right).floor(),
        _ => return Err("an operator of integers on a fraction in code".to_owned()),
    }))
}

fn of_integers(left: i128, operator: Operator, right: i128) -> Result<Value, String> {
    let small = u32::try_from(right).ok();
    let found = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::DivideWhole => {
            // Rounded down, where Rust rounds towards zero.
            let quotient = left.checked_div(right);
            let is_inexact =
                left.checked_rem(right).is_some_and(|rest| rest != 0 && (rest < 0) != (right < 0));
            quotient.map(|quotient| quotient - i128::from(is_inexact))
        }
        Operator::Remainder => {
            let rest = left.checked_rem(right);
            rest.map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest })
        }
        Operator::Power => small.and_then(|exponent| left.checked_pow(exponent)),
        Operator::BitAnd => Some(left & right),
        Operator::BitOr => Some(left | right),
        Operator::BitXor => Some(left ^ right),
        Operator::ShiftLeft => {
            small.filter(|shift| *shift < 64).and_then(|shift| left.checked_mul(1_i128 << shift))
        }
        Operator::ShiftRight => small.map(|shift| left >> shift.min(127)),
    };
    found.map(Value::Integer).ok_or_else(|| "a number in code is too large, or a division by zero".to_owned())
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Boolean(value) => f.write_str(if *value { "True" } else { "False" }),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => f.write_str(text),
            Value::Tuple(list) => {
                let inner: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "({})", inner.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests;
