//! Why a study was refused, in parts that a program can use.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use linkmend::failure::Error;
use std::error::Error as _;

/// Why a study gives no result.
pub enum Refused {
    /// An argument has a value that cannot be used.
    Argument {
        name: String,
        value: String,
        requirement: String,
        /// What to do about it, if that is known.
        hint: Option<String>,
    },
    /// The arguments do not fit together, or name none.
    Arguments(String),
    /// The study could not be carried out, or was interrupted.
    Failed(Error),
}

impl From<Error> for Refused {
    /// Messages about arguments have the form `--option value: requirement`.
    fn from(error: Error) -> Refused {
        let text = format!("{error:#}");
        match of_option(&text) {
            Some((name, value, requirement)) => Refused::Argument {
                name: name.to_owned(),
                value: value.to_owned(),
                requirement: requirement.to_owned(),
                hint: error.hint(),
            },
            None => Refused::Failed(error),
        }
    }
}

fn of_option(text: &str) -> Option<(&str, &str, &str)> {
    let (subject, requirement) = text.strip_prefix("--")?.split_once(": ")?;
    let (name, value) = subject.split_once(' ').unwrap_or((subject, "true"));
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_name.then_some((name, value, requirement))
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Refused {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
            _ => None,
        };
        let name_of = |argument: &str| {
            argument.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-').to_owned()
        };
        let text = message(&error);
        let name = name_of(&context(ContextKind::InvalidArg).unwrap_or_default());
        let requirement = match (error.kind(), context(ContextKind::ValidValue)) {
            (ErrorKind::InvalidValue, Some(valid)) => format!("must be one of {valid}"),
            (ErrorKind::ValueValidation, _) => error.source().map_or(text, ToString::to_string),
            (ErrorKind::ArgumentConflict, _) => match context(ContextKind::PriorArg) {
                Some(other) => format!("cannot be used with --{}", name_of(&other)),
                None => text,
            },
            _ => return Refused::Arguments(text),
        };
        let value = context(ContextKind::InvalidValue).unwrap_or_default();
        Refused::Argument { name, value, requirement, hint: None }
    }
}

/// The message without the usage that follows it.
fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|end| text.find(end)).min();
    text[..end.unwrap_or(text.len())].trim().to_owned()
}
