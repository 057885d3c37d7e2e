//! What an error says beyond its message: whose fault it is, and what a person can do about it.
//!
//! Every error type that may end a command implements [`Diagnose`]. The program that prints the error gets the exit
//! code and the hint from the trait. It therefore needs no list of error types, and no new type can be forgotten in
//! one. A [`ParameterError`] names a value that cannot be used, wherever the value was given. [`printable`] makes
//! untrusted text safe to show: names, messages, files.
#![forbid(unsafe_code)]

mod line;
mod parameter;
mod printable;

pub use line::{LineSuffix, line_of};
pub use parameter::ParameterError;
pub use printable::{excerpt, is_printable, printable, printable_lines};

use std::convert::Infallible;
use std::error::Error;
use std::io;

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// What somebody wrote cannot be used: an argument, a configuration, a file in another format.
    Usage,
    /// The request makes sense but could not be carried out.
    Failure,
    /// Somebody ended it before it was done.
    Interruption,
}

impl Fault {
    /// The exit code of a program that ends with it.
    pub const fn exit_code(self) -> u8 {
        match self {
            Fault::Failure => 1,
            Fault::Usage => 2,
            // As shells report a program that SIGINT (2) ended.
            Fault::Interruption => 130,
        }
    }
}

/// An error that says more than its message.
///
/// An error that wraps another one passes on its hint, but decides itself whose fault it is: a file that contains a
/// wrong value is a wrong argument in one place, and a damaged file in another.
pub trait Diagnose: Error {
    /// Whose fault it is.
    fn fault(&self) -> Fault {
        Fault::Failure
    }

    /// What a person can do about it. The message does not contain it.
    fn hint(&self) -> Option<String> {
        None
    }
}

impl Diagnose for io::Error {}

impl Diagnose for Infallible {}

#[cfg(feature = "serde_json")]
impl Diagnose for serde_json::Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_a_failure_without_a_hint() {
        let error: Box<dyn Diagnose> = Box::new(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!((error.fault().exit_code(), error.hint()), (1, None));
    }

    #[test]
    fn a_value_that_cannot_be_used_is_the_fault_of_who_gave_it() {
        let error = ParameterError::new("copies", 17, "must be 1 to 16");
        assert_eq!(error.to_string(), "copies = 17: must be 1 to 16");
        assert_eq!(error.fault().exit_code(), 2);
    }
}
