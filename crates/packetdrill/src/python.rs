//! The little Python of code blocks: `assert`, `print`, assignments and `if`, over numbers, strings and `tcp_info`.

mod evaluate;
mod parse;
mod token;

pub use evaluate::{Interpreter, Stopped};

/// A value of the code, as Python has them.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    None,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Tuple(Vec<Value>),
}

/// What an expression consists of.
#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Constant(Value),
    Name(String),
    Tuple(Vec<Expression>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    /// `a < b <= c`: the first operand, and each operator with its second.
    Comparison(Box<Expression>, Vec<(Comparison, Expression)>),
    Negative(Box<Expression>),
    Binary(Box<Expression>, Operator, Box<Expression>),
    Call(String, Vec<Expression>),
    /// `a if b else c`, as `(b, a, c)`.
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Remainder,
    Power,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// A statement and its line, counted from that of the code's beginning, 0.
#[derive(Debug, Clone, PartialEq)]
struct Statement {
    line: usize,
    kind: StatementKind,
}

#[derive(Debug, Clone, PartialEq)]
enum StatementKind {
    /// What must hold, its text, and the message if it does not.
    Assert(Expression, String, Option<Expression>),
    Assign(String, Expression),
    Evaluate(Expression),
    /// Each branch with its condition.
    If(Vec<(Expression, Vec<Statement>)>),
    Nothing,
}
