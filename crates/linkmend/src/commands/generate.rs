//! Manual pages and completions, from the definition of the command line.

use super::arguments::{GenerateArgs, Generated};
use crate::failure::{Context, Result};
use clap::Command;
use clap_complete::Shell;

const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish];

/// `linkmend generate`, of this command line.
pub fn execute(arguments: &GenerateArgs, mut command: Command) -> Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let cannot_write = || format!("cannot write to {}", folder.display());
    match arguments.what {
        Generated::Man => clap_mangen::generate_to(command, folder).with_context(cannot_write),
        Generated::Completions => {
            for shell in SHELLS {
                clap_complete::generate_to(shell, &mut command, "linkmend", folder)
                    .with_context(cannot_write)?;
            }
            Ok(())
        }
    }
}
