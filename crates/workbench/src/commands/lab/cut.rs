//! Cutting and mending one of the two links of a lab.

use clap::{Args, ValueEnum};
use linkmend_control::report::Path;
use linkmend_lab::{Cut, Direction, Lab, LabError};

use linkmend::failure::Result;
use linkmend::output::print;

/// Arguments of `linkmend lab cut`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo linkmend lab up --backup                                 # two links between lm-g1 and lm-g2
  sudo linkmend lab cut primary                                 # as if unplugged: no carrier
  sudo linkmend lab mend primary
  sudo linkmend lab cut primary --silent                        # frames are lost, carrier stays
  sudo linkmend lab cut backup --silent --direction left-right  # only frames from lm-g1 to lm-g2

If a link is already cut, the new kind of cut replaces the old one. `linkmend lab status` shows which links are cut, and the state of the link ends.")]
pub struct CutArgs {
    /// Which of the two links
    #[arg(value_enum, value_name = "primary|backup")]
    link: Path,
    /// Keep the carrier at both ends, so that only silence reveals the cut
    #[arg(long)]
    silent: bool,
    /// Cut only one direction; left is lm-g1 [default: both directions]
    #[arg(long, value_enum, value_name = "left-right|right-left", requires = "silent")]
    direction: Option<OneDirection>,
}

/// Arguments of `linkmend lab mend`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo linkmend lab mend primary  # however it was cut
  sudo linkmend lab status        # the primary is in use a second after both ends hear each other")]
pub struct MendArgs {
    /// Which of the two links
    #[arg(value_enum, value_name = "primary|backup")]
    link: Path,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OneDirection {
    /// From lm-g1 to lm-g2
    LeftRight,
    /// From lm-g2 to lm-g1
    RightLeft,
}

impl CutArgs {
    fn how(&self) -> Cut {
        match (self.silent, self.direction) {
            (false, _) => Cut::Carrier,
            (true, None) => Cut::Silent(Direction::Both),
            (true, Some(OneDirection::LeftRight)) => Cut::Silent(Direction::LeftRight),
            (true, Some(OneDirection::RightLeft)) => Cut::Silent(Direction::RightLeft),
        }
    }
}

/// `linkmend lab cut`.
pub fn cut(lab: &Lab, arguments: &CutArgs) -> Result<()> {
    lab.cut(arguments.link.into(), arguments.how())?;
    Ok(print(&describe(lab)?)?)
}

/// `linkmend lab mend`.
pub fn mend(lab: &Lab, arguments: &MendArgs) -> Result<()> {
    lab.mend(arguments.link.into())?;
    Ok(print(&describe(lab)?)?)
}

/// The state of both links in a line each; nothing in a lab with one.
pub fn describe(lab: &Lab) -> Result<String, LabError> {
    let Some(cuts) = lab.cuts()? else { return Ok(String::new()) };
    let line = |(name, cut): (&str, Option<Cut>)| {
        let state = cut.map_or_else(|| "whole".to_owned(), |cut| format!("cut: {cut}"));
        format!("{name:<8} {state}\n")
    };
    Ok(["primary", "backup"].into_iter().zip(cuts).map(line).collect())
}
