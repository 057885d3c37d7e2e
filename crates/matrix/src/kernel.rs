//! A kernel to boot, and the first file system of its machines.

use crate::guest;
use crate::processor::Processor;
use linkmend_kernel_guest::archive::Archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with `vmlinuz` and `modules/*.ko`, named after the release, as `scripts/fetch-kernels` leaves it.
#[derive(Clone, Debug)]
pub struct Kernel {
    folder: PathBuf,
    /// See [`version`].
    pub version: String,
    processor: Processor,
}

/// The programs that run inside of a machine.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Its first process: a program that calls [`guest::main`].
    pub guest: PathBuf,
    /// The `linkmend` to be tested.
    pub linkmend: PathBuf,
}

impl Kernel {
    /// The kernel in a folder.
    pub fn new(folder: &Path) -> Kernel {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Kernel { folder: folder.to_owned(), version: version(&name), processor: Processor::of(&name) }
    }

    /// All kernels below a folder, by their versions.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn all(folder: &Path) -> io::Result<Vec<Kernel>> {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let mut found: Vec<Kernel> = entries
            .iter()
            .filter(|path| path.join("vmlinuz").is_file())
            .map(|path| Kernel::new(path))
            .collect();
        found.sort_by_key(|kernel| order(&kernel.version));
        Ok(found)
    }

    /// The processor that it is for.
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// The kernel itself.
    pub fn image(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Builds the first file system: the programs with their libraries, and the modules.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn first_file_system(&self, programs: &Programs) -> io::Result<Vec<u8>> {
        let mut files = BTreeMap::from([
            ("init".to_owned(), programs.guest.clone()),
            (guest::PROGRAM.trim_start_matches('/').to_owned(), programs.linkmend.clone()),
        ]);
        for library in libraries(&programs.guest)?.into_iter().chain(libraries(&programs.linkmend)?) {
            files.insert(library.to_string_lossy().trim_start_matches('/').to_owned(), library);
        }
        for entry in fs::read_dir(self.folder.join("modules"))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(format!("{}/{name}", guest::MODULES), path);
        }
        let mut archive = Archive::default();
        let mut folders: BTreeSet<PathBuf> = guest::MOUNTS.iter().map(|(folder, _)| folder.into()).collect();
        folders.insert(guest::MODULES.into());
        for path in files.keys() {
            let around = Path::new(path).ancestors().skip(1).filter(|folder| *folder != Path::new(""));
            folders.extend(around.map(Path::to_path_buf));
        }
        for folder in folders {
            archive.folder(&folder.to_string_lossy());
        }
        // Opened by the kernel for the first process, before anything is mounted.
        archive.device("dev/console", (5, 1));
        for (path, file) in files {
            let contents = fs::read(&file)
                .map_err(|error| io::Error::other(format!("cannot read {}: {error}", file.display())))?;
            archive.file(&path, &contents);
        }
        Ok(archive.finish())
    }
}

/// The version of a release without what a distribution adds to it, and the processor if it is not the usual one.
pub fn version(release: &str) -> String {
    let number = release.split(['-', '+']).next().unwrap_or_default();
    match Processor::of(release) {
        Processor::X86_64 => number.to_owned(),
        Processor::Aarch64 => format!("{number} aarch64"),
    }
}

/// By what versions are sorted: those of other processors come last.
pub fn order(version: &str) -> (bool, Vec<u32>) {
    let number = version.split(' ').next().unwrap_or_default();
    (number != version, number.split('.').map(|part| part.parse().unwrap_or(0)).collect())
}

/// The shared libraries of a program, as its loader finds them here.
fn libraries(program: &Path) -> io::Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output()?;
    // `ldd` fails if a program has none.
    let text = String::from_utf8_lossy(&output.stdout);
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_what_comes_before_the_distributions_own() {
        for (folder, version) in [
            ("5.10.0-32-amd64", "5.10.0"),
            ("a/6.12.117+deb13-amd64", "6.12.117"),
            ("a/6.12.117+deb13-arm64", "6.12.117 aarch64"),
        ] {
            assert_eq!(Kernel::new(Path::new(folder)).version, version);
        }
    }
}
