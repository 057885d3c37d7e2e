//! Files that a daemon writes for its operator: nobody else may read them, and no link leads them astray.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for writing and creates it if need be, with mode 0600. `options` says whether it is emptied or appended to.
///
/// A daemon with privileges writes into folders where others may, too. So a symbolic link is refused instead of followed, and
/// a named pipe without a reader is refused instead of waited for.
///
/// # Errors
/// Those of the system; a symbolic link is named as one.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => {
            let what = "it is a symbolic link, which is not followed; use the file itself";
            io::Error::new(io::ErrorKind::InvalidInput, what)
        }
        _ => error,
    })?;
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags.difference(OFlag::O_NONBLOCK)))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder of this test alone, removed at its end.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("linkmend-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).expect("a folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_new_file_is_its_owners_alone_and_an_old_one_is_used() {
        let folder = Folder::new("private-file");
        let path = folder.0.join("audit");
        for line in ["one\n", "two\n"] {
            let mut file = open(&path, OpenOptions::new().append(true)).expect("it opens");
            file.write_all(line.as_bytes()).expect("it takes it");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), "one\ntwo\n");
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_link_is_refused_by_name_and_its_target_stays() {
        let folder = Folder::new("private-link");
        let (target, link) = (folder.0.join("shadow"), folder.0.join("log"));
        std::fs::write(&target, "precious").expect("written");
        symlink(&target, &link).expect("linked");
        let error = open(&link, OpenOptions::new().write(true).truncate(true)).expect_err("a link");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(std::fs::read_to_string(&target).expect("readable"), "precious");
    }
}
