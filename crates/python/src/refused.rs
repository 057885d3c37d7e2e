//! Errors as exceptions, which name the parameter, its value and what is required of it.

use linkmend_diagnose::Fault;
use linkmend_sim::parameters::PARAMETERS;
use linkmend_sim::stress::ParameterError as Wrong;
use linkmend_workbench::studies::{Error, Refused};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(linkmend, ParameterError, PyValueError, "A parameter has a value that cannot be used.");
create_exception!(linkmend, StudyError, PyRuntimeError, "A study could not be carried out.");

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ParameterError", module.py().get_type::<ParameterError>())?;
    module.add("StudyError", module.py().get_type::<StudyError>())
}

/// A value that cannot be used.
pub fn parameter(py: Python<'_>, name: &str, value: &str, requirement: &str, hint: Option<&str>) -> PyErr {
    let name = name.replace('-', "_");
    let requirement = in_python(requirement);
    let hint = hint.map(in_python);
    let after = hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
    let given = if value.is_empty() { String::new() } else { format!(" = {value}") };
    let error = ParameterError::new_err(format!("{name}{given}: {requirement}{after}"));
    let exception = error.value(py);
    let set = exception
        .setattr("parameter", name)
        .and_then(|()| exception.setattr("value", value))
        .and_then(|()| exception.setattr("requirement", requirement))
        .and_then(|()| exception.setattr("hint", hint));
    set.err().unwrap_or(error)
}

/// A parameter of a run.
pub fn of_run(py: Python<'_>, Wrong { parameter: name, value, requirement }: Wrong) -> PyErr {
    parameter(py, name, &value, &requirement, None)
}

/// Why a study gives no result.
pub fn of_study(py: Python<'_>, refused: Refused) -> PyErr {
    let error = match refused {
        Refused::Argument { name, value, requirement, hint } => {
            return parameter(py, &name, &value, &requirement, hint.as_deref());
        }
        Refused::Arguments(text) => return ParameterError::new_err(in_python(&text)),
        Refused::Failed(error) => error,
    };
    let text = in_words(&error);
    match error.fault() {
        Fault::Interruption => PyKeyboardInterrupt::new_err(text),
        Fault::Usage => ParameterError::new_err(text),
        Fault::Failure => StudyError::new_err(text),
    }
}

/// What went wrong, and what to do about it.
pub fn in_words(error: &Error) -> String {
    let after = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    in_python(&format!("{error:#}{after}"))
}

/// Options and parameters as keywords: `--mean-burst` and `mean-burst` in backticks as `mean_burst`.
fn in_python(text: &str) -> String {
    let keys = PARAMETERS.iter().map(|parameter| parameter.key).filter(|key| key.contains('-'));
    keys.fold(options_in_python(text), |text, key| {
        text.replace(&format!("`{key}`"), &format!("`{}`", key.replace('-', "_")))
    })
}

fn options_in_python(text: &str) -> String {
    let mut parts = text.split("--");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !(c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit()))
            .unwrap_or(part.len());
        let begins_word = written.ends_with(|c: char| !c.is_alphanumeric()) || written.is_empty();
        if end == 0 || !begins_word {
            written.push_str("--");
            written.push_str(part);
        } else {
            written.push_str(&part[..end].replace('-', "_"));
            written.push_str(&part[end..]);
        }
    }
    written
}

/// A name that no parameter has.
pub fn unknown(name: &str, known: impl Iterator<Item = String>) -> PyErr {
    let name = name.replace('-', "_");
    let begins = |other: &String| other.contains(&name) || name.contains(other.as_str());
    let near: Vec<String> = known.filter(begins).collect();
    let hint = if near.is_empty() { "linkmend.parameters() lists them".to_owned() } else { near.join(", ") };
    ParameterError::new_err(format!("there is no parameter `{name}` ({hint})"))
}
