//! The laboratory for ordinary users: a user namespace in which they are root over their own networks.
//!
//! Call [`ensure_privileges`] first in `main`, before any thread starts. For root it does nothing. For anyone else it
//! replaces the process by a copy of itself inside new user, mount and network namespaces, where the second call
//! prepares what the laboratory needs (its own `/run`) and returns. The hosts and link ends then work as for root, with
//! AF_PACKET; AF_XDP and larger socket buffers are not available there. Everything disappears with the last process
//! inside.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use linkmend_diagnose::Diagnose;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid};

/// Marks the copy. Its value is the user's id outside.
const MARK: &str = "LINKMEND_USER_NAMESPACE_OF";
/// Marks a `/run` that was mounted here.
const OWN_RUN_SIGN: &str = "/run/linkmend-user-namespace";
/// `CAP_NET_ADMIN` and `CAP_SYS_ADMIN` as bits of `CapEff` (include/uapi/linux/capability.h).
const NEEDED: u64 = 1 << 12 | 1 << 21;

/// The privileges that the laboratory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privileges {
    /// Root, or the necessary capabilities: labs outlive the process.
    Root,
    /// Inside a user namespace that this program made: labs disappear with it.
    UserNamespace {
        /// The user's id outside.
        user: u32,
    },
}

/// Why an ordinary user cannot have a laboratory here.
#[derive(Debug, thiserror::Error)]
pub enum UnprivilegedError {
    /// The kernel does not create user namespaces for this user.
    #[error("no user namespace for user {user}: {source}")]
    Refused {
        /// The user's id.
        user: u32,
        /// What the kernel said.
        source: io::Error,
        /// The probable cause, and what to do about it.
        hint: String,
    },
    /// The user namespace exists, but gives no privileges.
    #[error("cannot {step} inside the user namespace: {source}")]
    Powerless {
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// The probable cause, and what to do about it.
        hint: String,
    },
    /// The program could not be started again.
    #[error("cannot start this program again: {source}")]
    Restart {
        /// What the kernel said.
        source: io::Error,
    },
}

impl Diagnose for UnprivilegedError {
    fn hint(&self) -> Option<String> {
        match self {
            UnprivilegedError::Refused { hint, .. } | UnprivilegedError::Powerless { hint, .. } => {
                Some(hint.clone())
            }
            UnprivilegedError::Restart { .. } => Some("run it with sudo".to_owned()),
        }
    }
}

/// Makes sure that the laboratory has its privileges; see the module documentation.
///
/// # Errors
/// [`UnprivilegedError`] says what is missing and what to do about it.
pub fn ensure_privileges() -> Result<Privileges, UnprivilegedError> {
    if let Some(user) = marked_user() {
        if !is_own_run() {
            prepare()?;
        }
        return Ok(Privileges::UserNamespace { user });
    }
    if has_capabilities() {
        return Ok(Privileges::Root);
    }
    match enter()? {}
}

/// Whether the process may administer networks and namespaces.
pub fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    bits & NEEDED == NEEDED
}

/// Replaces the process by a copy of itself in new namespaces.
fn enter() -> Result<Infallible, UnprivilegedError> {
    let (user, group) = (geteuid(), getegid());
    let flags = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    let refused = |source: io::Error| {
        let hint = hint(&source);
        UnprivilegedError::Refused { user: user.as_raw(), source, hint }
    };
    unshare(flags).map_err(|error| refused(error.into()))?;
    map_to_root(user, group).map_err(refused)?;
    let program = std::env::current_exe().map_err(|source| UnprivilegedError::Restart { source })?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    let mut command = Command::new(program);
    let source = command.arg0(name).args(arguments).env(MARK, user.as_raw().to_string()).exec();
    Err(UnprivilegedError::Restart { source })
}

/// The user becomes root inside; `setgroups` has to be given up first (user_namespaces(7)).
fn map_to_root(user: Uid, group: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Sets up what the laboratory needs inside the new namespaces.
fn prepare() -> Result<(), UnprivilegedError> {
    let failed =
        |step| move |source: io::Error| UnprivilegedError::Powerless { step, hint: hint(&source), source };
    let nothing = None::<&str>;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing)
        .map_err(io::Error::from)
        .map_err(failed("make the mounts private"))?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=755"))
        .map_err(io::Error::from)
        .map_err(failed("mount a /run"))?;
    fs::create_dir_all("/run/netns").map_err(failed("make /run/netns"))?;
    fs::write(OWN_RUN_SIGN, "").map_err(failed("sign /run"))?;
    // A /sys that shows the new network is useful, but nothing here reads it, and containers often forbid it.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nothing);
    Ok(())
}

/// The id of the user outside, if [`enter`] started this copy. The mark alone is not believed: an environment can be
/// inherited anywhere, and outside such a namespace [`prepare`] would hide the machine's own `/run`.
fn marked_user() -> Option<u32> {
    let user = std::env::var(MARK).ok()?.parse().ok()?;
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    is_map_of(&map, user).then_some(user)
}

fn is_map_of(map: &str, user: u32) -> bool {
    let user = user.to_string();
    map.split_whitespace().eq(["0", user.as_str(), "1"])
}

/// Whether [`prepare`] has already run, in this process or in the one that started it.
fn is_own_run() -> bool {
    Path::new(OWN_RUN_SIGN).exists()
}

/// The probable obstacle to user namespaces here.
fn hint(error: &io::Error) -> String {
    let reads = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let found = [
        (
            reads("/proc/sys/user/max_user_namespaces", "0"),
            "user namespaces are disabled: enable them with `sysctl user.max_user_namespaces=15000` as root",
        ),
        (
            reads("/proc/sys/user/max_net_namespaces", "0"),
            "network namespaces are disabled: enable them with `sysctl user.max_net_namespaces=15000` as root",
        ),
        (
            reads("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            "only root may create them: allow everyone with `sysctl kernel.unprivileged_userns_clone=1` as root",
        ),
        (
            reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            "AppArmor restricts them: lift the restriction with `sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0` as root",
        ),
        (
            !Path::new("/proc/self/ns/user").exists(),
            "this kernel was built without user namespaces (CONFIG_USER_NS)",
        ),
        (
            error.raw_os_error() == Some(libc::EINVAL),
            "the program has already started threads; this is a bug",
        ),
        (
            error.raw_os_error() == Some(libc::ENOSPC),
            "too many namespaces exist or are nested; see /proc/sys/user/max_*_namespaces",
        ),
    ];
    let reason = found.into_iter().find_map(|(applies, text)| applies.then_some(text));
    let reason = reason.unwrap_or("a container or security module forbids it");
    format!("{reason}; or run with sudo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_outside_a_namespace_of_ours_is_not_believed() {
        assert!(is_map_of("         0       1000          1\n", 1000));
        assert!(!is_map_of("         0          0 4294967295\n", 0));
        assert!(!is_map_of("         0       1001          1\n", 1000));
        assert!(!is_map_of("", 1000));
    }

    #[test]
    fn a_refusal_says_the_way_out() {
        let source = io::Error::from_raw_os_error(libc::ENOSPC);
        let hint = hint(&source);
        let error = UnprivilegedError::Refused { user: 1000, source, hint };
        assert!(error.to_string().contains("1000"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("sudo")), "{error}");
    }
}
