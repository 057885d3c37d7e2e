//! Graphs in DOT, as graphviz draws them and PTM of Cumulus Linux and SONiC checks cables by.
//!
//! [`tokens`] splits the text, and [`statements`] reads nodes and edges.

mod statements;
mod tokens;

pub(super) use statements::read;
use tokens::{Token, Tokens};

/// Whether a text is a graph in DOT.
pub(super) fn is_dot(text: &str) -> bool {
    let mut tokens = Tokens::new(text);
    let mut word = || match tokens.next() {
        Some(Ok((_, Token::Id(id)))) => Some(id.to_ascii_lowercase()),
        Some(Ok((_, Token::Sign('{')))) => Some("{".to_owned()),
        _ => None,
    };
    let mut first = word();
    if first.as_deref() == Some("strict") {
        first = word();
    }
    if !matches!(first.as_deref(), Some("graph" | "digraph")) {
        return false;
    }
    match word().as_deref() {
        Some("{") => true,
        Some(_) => word().as_deref() == Some("{"),
        None => false,
    }
}
