//! The macro that declares parameters, and what each declaration says.

use linkmend_experiment::{Quantity, Value};

/// A parameter of `P`: whatever files, command lines, tables and documents say of it follows from its declaration.
pub struct Declared<P> {
    /// Its name in files; on the command line two hyphens stand before it.
    pub key: &'static str,
    /// Its name in tables and on axes.
    pub label: &'static str,
    /// What it measures.
    pub quantity: Quantity,
    /// What it does, in the lines of its declaration.
    pub help: &'static [&'static str],
    /// What stands for its value in help texts.
    pub value_name: &'static str,
    /// The section of the help text in which it stands.
    pub section: &'static str,
    /// The runs that it applies to.
    pub runs: Runs,
    /// Whether it is on or off.
    pub is_flag: bool,
    pub(super) words: fn() -> Vec<&'static str>,
    pub(super) read: fn(&mut P, &str) -> Result<(), String>,
    pub(super) value: fn(&P) -> Option<Value>,
    pub(super) clear: fn(&mut P),
}

/// Kinds of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs(u8);

impl Runs {
    /// Line-rate traffic over one link.
    pub const LINE_RATE: Runs = Runs(1);
    /// Flows that end, between hosts.
    pub const FLOWS: Runs = Runs(2);
    /// One flow between hosts that does not end.
    pub const ENDLESS: Runs = Runs(4);
    /// Whatever has hosts.
    pub const HOSTS: Runs = Runs(2 | 4);
    /// Generators over several links, or over one in both directions, in both classes, or with a loss rate that changes.
    pub const LINKS: Runs = Runs(8);
    /// Whatever has generators.
    pub const GENERATORS: Runs = Runs(1 | 8);
    pub const FLOWS_OR_LINKS: Runs = Runs(2 | 8);
    pub const HOSTS_OR_LINKS: Runs = Runs(2 | 4 | 8);
    pub const ALL: Runs = Runs(1 | 2 | 4 | 8);

    /// Whether they have something in common.
    pub fn include(self, other: Runs) -> bool {
        self.0 & other.0 != 0
    }
}

impl<P> Declared<P> {
    /// The values there are, if they are words.
    pub fn words(&self) -> Vec<&'static str> {
        (self.words)()
    }
}

macro_rules! parameters {
    ($($section:literal { $(
        $(#[doc = $help:literal])+
        $field:ident: $type:ty = $key:literal, $label:literal, $quantity:ident, $name:literal, $runs:ident;
    )* })*) => {
        /// The parameters of a run, as files and command lines write them. What is not set has the value of the paper, or of
        /// the command.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct RunParameters {
            $($(
                $(#[doc = $help])+
                pub $field: Option<$type>,
            )*)*
        }

        /// A parameter of a run.
        pub type Parameter = Declared<RunParameters>;

        /// All parameters, in the order of help texts.
        pub static PARAMETERS: &[Parameter] = &[$($(Declared {
            key: $key,
            label: $label,
            quantity: Quantity::$quantity,
            help: &[$($help),+],
            value_name: $name,
            section: $section,
            runs: Runs::$runs,
            is_flag: <$type as ParameterValue>::IS_FLAG,
            words: <$type as ParameterValue>::words,
            read: |parameters, text| {
                parameters.$field = Some(ParameterValue::read(text)?);
                Ok(())
            },
            value: |parameters| parameters.$field.as_ref().map(ParameterValue::value),
            clear: |parameters| parameters.$field = None,
        }),*),*];
    };
}

pub(super) use parameters;
