//! `linkmend generate`: manual pages and completions of both programs, from the definition of the command line.

use clap::{Args, Command};
use clap_complete::Shell;
use linkmend::failure::{Context, Result};
use linkmend::output::print;
use std::path::PathBuf;

const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish];

/// Arguments of `linkmend generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend generate man /usr/local/share/man/man1
  linkmend generate completions ~/.local/share/bash-completion/completions")]
pub struct GenerateArgs {
    /// What to write
    #[arg(value_enum)]
    what: Generated,
    /// Directory to write to; it is created if necessary
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What can be generated from the command line's description.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Generated {
    /// A manual page for each subcommand
    Man,
    /// Completions for bash, zsh, fish and elvish
    Completions,
}

/// `linkmend generate`, of this command line.
pub fn execute(arguments: &GenerateArgs, mut command: Command) -> Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let cannot_write = || format!("cannot write to {}", folder.display());
    let shown = folder.display();
    let said = match arguments.what {
        Generated::Man => {
            let pages = pages(&command);
            clap_mangen::generate_to(command, folder).with_context(cannot_write)?;
            format!("{pages} manual pages in {shown}; the first: man -l {shown}/linkmend.1")
        }
        Generated::Completions => {
            for shell in SHELLS {
                clap_complete::generate_to(shell, &mut command, "linkmend", folder)
                    .with_context(cannot_write)?;
            }
            format!("completions for bash, zsh, fish and elvish in {shown}")
        }
    };
    Ok(print(&said)?)
}

/// Pages that [`clap_mangen::generate_to`] writes: the command's, and those of all below it that are shown.
fn pages(command: &Command) -> usize {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    1 + below.map(pages).sum::<usize>()
}
