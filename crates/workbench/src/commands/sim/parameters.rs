//! Parameters of runs as arguments of commands: a command is a preset of a run.

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use linkmend::failure::{Error, UsageError};
use linkmend_sim::parameters::{PARAMETERS, Parameter, RunParameters, Runs};
use linkmend_sim::stress::ParameterError;
use std::marker::PhantomData;

/// What a command makes of a run.
pub trait Preset {
    /// The kind of its run: parameters that have no meaning in it are no arguments.
    const RUNS: Runs;
    /// Parameters that the command sets by itself, and what it sets them to unless they are given.
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[];
    /// Parameters that are no arguments of it, either.
    const WITHOUT: &'static [&'static str] = &[];
    /// What parameters mean here, if it is something special.
    const HELP: &'static [(&'static str, &'static str)] = &[];
}

/// The parameters of a preset, as arguments.
#[derive(Debug)]
pub struct ParameterArgs<P: Preset> {
    /// Those that are given.
    pub given: RunParameters,
    preset: PhantomData<P>,
}

impl<P: Preset> ParameterArgs<P> {
    /// Those that are given, and what the preset sets.
    pub fn parameters(&self) -> RunParameters {
        self.given.clone().or(P::DEFAULTS)
    }

    fn arguments() -> impl Iterator<Item = &'static Parameter> {
        let takes = |parameter: &&Parameter| {
            let is_internal = ["variant"].contains(&parameter.key) || P::WITHOUT.contains(&parameter.key);
            parameter.runs.include(P::RUNS) && !is_internal
        };
        PARAMETERS.iter().filter(takes)
    }

    fn argument(parameter: &'static Parameter) -> Arg {
        let key = parameter.key;
        let argument = Arg::new(key).long(key).help(Self::help(parameter)).help_heading(parameter.section);
        if parameter.is_flag {
            return argument.action(ArgAction::SetTrue);
        }
        let words = parameter.words();
        let parser: ValueParser = if words.is_empty() {
            let check = |text: &str| RunParameters::default().set(key, text).map(|()| text.to_owned());
            ValueParser::new(check)
        } else {
            PossibleValuesParser::new(words).into()
        };
        argument.value_name(parameter.value_name).value_parser(parser)
    }

    /// What the parameter means to this command, with the default that it has here.
    fn help(parameter: &Parameter) -> String {
        let here = |texts: &'static [(&'static str, &'static str)]| {
            texts.iter().find(|(key, _)| *key == parameter.key).map(|(_, text)| *text)
        };
        let declared = parameter.help.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let text = here(P::HELP).map_or(declared, str::to_owned);
        match here(P::DEFAULTS) {
            Some(default) => {
                let text = text.split(" [default: ").next().unwrap_or_default().to_owned();
                format!("{text} [default: {default}]")
            }
            None => text,
        }
    }
}

impl<P: Preset> Args for ParameterArgs<P> {
    fn augment_args(command: Command) -> Command {
        Self::arguments().fold(command, |command, parameter| command.arg(Self::argument(parameter)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Preset> FromArgMatches for ParameterArgs<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = ParameterArgs { given: RunParameters::default(), preset: PhantomData };
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for parameter in Self::arguments() {
            let text = match parameter.is_flag {
                true => matches.get_flag(parameter.key).then_some("yes"),
                false => matches.get_one::<String>(parameter.key).map(String::as_str),
            };
            if let Some(text) = text {
                let wrong = |error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, error);
                self.given.set(parameter.key, text).map_err(wrong)?;
            }
        }
        Ok(())
    }
}

/// Names the option that sets a wrong parameter.
pub fn usage(error: ParameterError) -> Error {
    let ParameterError { parameter, value, requirement } = error;
    // A flag has no value on the command line.
    let value =
        if ["", "yes", "true"].contains(&value.as_str()) { String::new() } else { format!(" {value}") };
    UsageError::new(format!("--{parameter}{value}: {requirement}")).into()
}

/// Line-rate traffic over one link.
#[derive(Debug)]
pub struct LineRate;

impl Preset for LineRate {
    const RUNS: Runs = Runs::LINE_RATE;
    const HELP: &'static [(&'static str, &'static str)] =
        &[("frames", "Frames to send at line rate, like 100M [default: 10M]")];
}
