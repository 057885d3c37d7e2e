//! The arguments of a study, as its declaration describes them.

use clap::{Arg, ArgAction};
use linkmend_experiment::Quantity;
use linkmend_sim::parameters::Parameter;

/// An argument of a study.
pub struct Argument {
    /// Its name on the command line, without hyphens before it.
    pub name: String,
    pub is_positional: bool,
    /// Whether it takes several values.
    pub is_multiple: bool,
    /// Whether it is on or off.
    pub is_flag: bool,
    pub is_required: bool,
    /// What it does, as the help says.
    pub help: String,
    /// What stands for its value in the help.
    pub value: String,
    /// The values there are, if they are words.
    pub words: Vec<String>,
    /// Its value unless it is given, if the declaration says so.
    pub default: Option<String>,
    /// What it measures, if it is a parameter of runs.
    pub quantity: Option<Quantity>,
}

impl Argument {
    pub(super) fn of(argument: &Arg) -> Argument {
        let name = argument.get_long().unwrap_or(argument.get_id().as_str()).to_owned();
        let value = argument.get_value_names().and_then(|names| Some(names.first()?.to_string()));
        let value = value.unwrap_or_default();
        // Other studies have arguments of the same names, which may measure something else.
        let parameter = Parameter::named(&name).filter(|parameter| parameter.value_name == value);
        let help = argument.get_long_help().or(argument.get_help());
        let words = argument.get_possible_values();
        let default = argument.get_default_values().first();
        Argument {
            is_positional: argument.is_positional(),
            is_multiple: argument.get_num_args().is_some_and(|count| count.max_values() > 1),
            is_flag: matches!(argument.get_action(), ArgAction::SetTrue),
            is_required: argument.is_required_set(),
            help: help.map(ToString::to_string).unwrap_or_default(),
            words: words.iter().map(|word| word.get_name().to_owned()).collect(),
            default: default.map(|default| default.to_string_lossy().into_owned()),
            quantity: parameter.map(|parameter| parameter.quantity),
            name,
            value,
        }
    }
}
