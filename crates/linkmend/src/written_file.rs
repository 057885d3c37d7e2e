//! Files that commands write, and why one cannot be written: which file, and what to do about it.

use linkmend_diagnose::{Diagnose, Fault, printable_lines};
use linkmend_linux::private_file;
use std::fmt::{self, Display};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file cannot be written.
#[derive(Debug)]
pub struct WriteError {
    path: PathBuf,
    source: io::Error,
}

/// Creates a file, or empties the one that is there.
///
/// # Errors
/// [`WriteError`].
pub fn create(path: &Path) -> Result<File, WriteError> {
    File::create(path).map_err(cannot_write(path))
}

/// The same for traffic, cabling and other confidential content: only its owner can read a new file, and a
/// symbolic link is not followed ([`private_file`]).
///
/// # Errors
/// [`WriteError`].
pub fn create_private(path: &Path) -> Result<File, WriteError> {
    private_file::open(path, OpenOptions::new().write(true).truncate(true)).map_err(cannot_write(path))
}

/// A file that has its name once it is whole, so that one that was cut by Ctrl-C is not taken for it.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    /// `None` for what is no file, such as a pipe.
    part: Option<PathBuf>,
}

impl Unfinished {
    /// Creates the file under a name that ends in `.part`.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn create(path: &Path) -> Result<(File, Unfinished), WriteError> {
        let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
        let part = is_file.then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        let file = File::create(part.as_deref().unwrap_or(path)).map_err(cannot_write(path))?;
        Ok((file, Unfinished { path: path.to_owned(), part }))
    }

    /// Gives it its name, once everything is written.
    ///
    /// # Errors
    /// Those of the system.
    pub fn finish(self) -> io::Result<()> {
        self.part.map_or(Ok(()), |part| std::fs::rename(part, &self.path))
    }
}

/// Writes a whole text, such as a page or a table, with what is not printable escaped ([`printable_lines`]).
///
/// # Errors
/// [`WriteError`].
pub fn write(path: &Path, content: impl AsRef<str>) -> Result<(), WriteError> {
    std::fs::write(path, printable_lines(content.as_ref()).as_bytes()).map_err(cannot_write(path))
}

/// The same for confidential content: see [`create_private`].
///
/// # Errors
/// [`WriteError`].
pub fn write_private(path: &Path, content: impl AsRef<str>) -> Result<(), WriteError> {
    let mut file = create_private(path)?;
    file.write_all(printable_lines(content.as_ref()).as_bytes()).map_err(cannot_write(path))
}

/// Names the file in an error of writing it.
pub fn cannot_write(path: &Path) -> impl Fn(io::Error) -> WriteError + use<> {
    let path = path.to_owned();
    move |source| WriteError { path: path.clone(), source }
}

/// What to do about an error of writing a file.
pub fn hint(path: &Path, error: &io::Error) -> Option<String> {
    Some(match error.kind() {
        ErrorKind::NotFound => match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => format!("create its directory with `mkdir -p {}`", folder.display()),
            None => return None,
        },
        ErrorKind::PermissionDenied => {
            "choose a file in a directory where you may write, or run as root".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space there, or choose a file on another disk".to_owned()
        }
        ErrorKind::ReadOnlyFilesystem => "choose a file on another disk".to_owned(),
        ErrorKind::IsADirectory => "choose a file in that directory".to_owned(),
        ErrorKind::NotADirectory => "a part of its path is a file; it must be a directory".to_owned(),
        _ => return None,
    })
}

impl Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}", self.path.display())
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Diagnose for WriteError {
    /// A path that leads nowhere is the fault of who gave it.
    fn fault(&self) -> Fault {
        match self.source.kind() {
            ErrorKind::NotFound
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidInput => Fault::Usage,
            _ => Fault::Failure,
        }
    }

    fn hint(&self) -> Option<String> {
        hint(&self.path, &self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A regression: Ctrl-C left a series that was cut in the middle of a line under the name of a whole one.
    #[test]
    fn a_file_has_its_name_only_once_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("series.csv");
        fs::write(&path, "old").expect("written");
        let (mut file, unfinished) = Unfinished::create(&path).expect("created");
        io::Write::write_all(&mut file, b"new").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("it is still there"), "old");
        unfinished.finish().expect("renamed");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "new");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        let (_, pipe) = Unfinished::create(Path::new("/dev/null")).expect("it is no file");
        pipe.finish().expect("nothing is to be done");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_with_a_way_out() {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("the kernel has it");
        let error = io::Write::write(&mut &full, b"x").map_err(cannot_write(Path::new("/dev/full")));
        let error = error.expect_err("it is always full");
        assert_eq!(error.to_string(), "cannot write /dev/full");
        assert!(error.hint().expect("a hint").starts_with("free some space"), "{error:?}");
        let error = Unfinished::create(Path::new("/nowhere/at/all.csv")).expect_err("no such folder");
        assert_eq!(error.to_string(), "cannot write /nowhere/at/all.csv");
        let error = create(Path::new("/nowhere/at/all.pcapng")).expect_err("no such folder");
        assert_eq!(error.hint().as_deref(), Some("create its directory with `mkdir -p /nowhere/at`"));
        let error = write(Path::new("/proc"), "x").expect_err("a folder");
        assert_eq!(error.hint().as_deref(), Some("choose a file in that directory"));
    }
}
