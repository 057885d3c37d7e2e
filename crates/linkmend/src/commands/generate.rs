//! Manual pages and completions, from the definition of the command line.

use super::arguments::{GenerateArgs, Generated};
use crate::failure::{Context, Result};
use crate::output::print;
use clap::Command;
use clap_complete::Shell;

const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish];

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
