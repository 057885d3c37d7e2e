//! The second program, `linkmend-workbench`: simulator, experiments, studies of fleets, demo. `linkmend sim` finds it as git
//! finds its commands: beside `linkmend`, in a folder for programs that only programs start, or in the search path.

use crate::failure::{Error, Hinted};
use clap::builder::StyledStr;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the second program.
pub const PROGRAM: &str = "linkmend-workbench";
/// Where packages may put it, from the folder of `linkmend`.
const LIBEXEC: &str = "../libexec/linkmend";

/// Its commands, and what each does.
pub const COMMANDS: [(&str, &str); 8] = [
    ("demo", "Show what Linkmend does: kernel TCP over a corrupting link, unprotected and protected"),
    ("lab", "Keep a lab of network namespaces running, for your own experiments"),
    ("sim", "Simulate a protected link at any speed, with the protocol code that `run` uses"),
    ("fleet", "Decide which of many links to disable, protect and repair"),
    ("rdma", "Compute how often corruption makes RDMA wait for a timeout, and what prevents it"),
    ("reproduce", "Reproduce the published evaluations in the simulator, and compare the results"),
    ("merge", "Combine the shards of experiments that several machines have run"),
    ("generate", "Write manual pages or shell completions for both programs"),
];

/// Its command below one of `linkmend`: that, its own name, and what it does.
pub const STUDY: (&str, &str, &str) = (
    "corruptd",
    "evaluate",
    "Measure how soon detection finds corrupting links, and how often it is wrong about healthy ones",
);

/// Which of its commands a command line asks for: `linkmend sim ...` or `linkmend help sim`.
pub fn command_in(written: &[OsString]) -> Option<&'static str> {
    let mut words =
        written.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let word = match words.next()? {
        "help" => words.next()?,
        word => word,
    };
    if word == STUDY.0 {
        // What follows at once, `-v` aside: further on, the word may be the value of an option.
        let behind =
            written.iter().skip_while(|other| *other != word).skip(1).filter_map(|word| word.to_str());
        let next = behind.into_iter().find(|word| !word.starts_with("-v") && *word != "--verbose");
        return next.filter(|next| *next == STUDY.1).map(|_| "corruptd evaluate");
    }
    COMMANDS.iter().map(|(name, _)| *name).find(|name| *name == word)
}

/// Executes it in place of this program, with the same arguments. Returns only if that is not possible.
pub fn become_it(command: &str, written: &[OsString]) -> Error {
    let Some(program) = find() else {
        return Hinted {
            message: format!("`linkmend {command}` is a command of {PROGRAM}, which is not installed"),
            hint: format!(
                "`cargo build --release -p {PROGRAM}` builds it; install it in the same directory as linkmend, \
                 in {LIBEXEC} relative to it, or in a directory in PATH"
            ),
        }
        .into();
    };
    let source = Command::new(&program).args(written.iter().skip(1)).exec();
    Error::from(source).context(format!("cannot start {}", program.display()))
}

/// The command line of `linkmend` with the commands of the second program, which are listed by themselves.
pub fn with_its_commands(command: clap::Command) -> clap::Command {
    let width = COMMANDS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let listed = COMMANDS.map(|(name, about)| format!("  {name:width$}  {about}\n")).concat();
    let more = command.get_after_help().map(StyledStr::to_string).unwrap_or_default();
    // Hidden: they are here so that a misspelled one is recognised.
    let known = COMMANDS.map(|(name, about)| clap::Command::new(name).about(about).hide(true));
    let (parent, name, about) = STUDY;
    let study = clap::Command::new(name).about(about);
    let command = match command.find_subcommand(parent) {
        Some(_) => command.mut_subcommand(parent, |parent| parent.subcommand(study)),
        None => command,
    };
    command
        .subcommands(known)
        .after_help(format!("Commands of {PROGRAM}, the second program:\n{listed}\n{more}"))
}

fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    find_in(beside, std::env::var_os("PATH").as_deref())
}

fn find_in(beside: Option<PathBuf>, path: Option<&OsStr>) -> Option<PathBuf> {
    let libexec = beside.as_ref().map(|folder| folder.join(LIBEXEC));
    let searched: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    // An empty entry of the search path means the current folder, where anybody may have put anything.
    let searched = searched.into_iter().filter(|folder| folder.is_absolute());
    let folders = beside.into_iter().chain(libexec).chain(searched);
    folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn asked(line: &str) -> Option<&'static str> {
        command_in(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn commands_of_the_second_program_are_recognised_wherever_they_stand() {
        assert_eq!(asked("linkmend sim stress --loss 1e-3"), Some("sim"));
        assert_eq!(asked("linkmend -v sim"), Some("sim"));
        assert_eq!(asked("linkmend help fleet plan"), Some("fleet"));
        assert_eq!(asked("linkmend -v corruptd evaluate --years 1"), Some("corruptd evaluate"));
        assert_eq!(asked("linkmend corruptd -v evaluate"), Some("corruptd evaluate"));
        assert_eq!(asked("linkmend help corruptd evaluate"), Some("corruptd evaluate"));
        for line in [
            "linkmend",
            "linkmend --help",
            "linkmend help",
            "linkmend run --link sim",
            "linkmend status sim",
            "linkmend sims",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn it_is_found_beside_then_in_libexec_then_in_the_search_path_but_not_in_the_current_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = |name: &str| {
            let folder = folder.path().join(name);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(PROGRAM), "").expect("a file");
            folder
        };
        let (bin, path) = (folder.path().join("bin"), make("path"));
        fs::create_dir_all(&bin).expect("a folder");
        let find = || find_in(Some(bin.clone()), Some(path.as_os_str()));
        assert_eq!(find(), Some(path.join(PROGRAM)));
        make("libexec/linkmend");
        assert_eq!(find(), Some(bin.join(LIBEXEC).join(PROGRAM)));
        make("bin");
        assert_eq!(find(), Some(bin.join(PROGRAM)));
        assert_eq!(find_in(None, Some(OsStr::new(".:"))), None);
        assert_eq!(find_in(None, None), None);
    }
}
