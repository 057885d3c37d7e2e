//! Manual pages and completions from the description of the command line.

use crate::cli::{Cli, GenerateArgs, Generated};
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish];

/// `linkmend generate`.
pub fn execute(arguments: &GenerateArgs) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command = Cli::command();
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
