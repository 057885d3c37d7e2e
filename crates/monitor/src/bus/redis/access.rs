//! Who may write to the server, as far as an agent can find out: it may not read the server's list of users, so it tries.
//!
//! What it tries is to delete a key that nobody has, under a name that nobody can foresee: the server checks the rights, and nothing
//! changes.

use super::keys::Keys;
use crate::server::Connector;
use ::redis::{Connection, RedisError, cmd};
use std::sync::mpsc::{Receiver, channel};

/// Who may write what agents say of themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Anyone who can connect: no password is asked for.
    Anyone,
    /// Anyone who has this agent's password.
    Shared,
    /// This agent's user may not write what other agents say of themselves.
    Own,
    /// It could not be found out.
    Unknown,
}

/// Whether the server lets a connection delete what another agent says of itself.
fn may_write(connection: &mut Connection, keys: &Keys, run: &str) -> Result<bool, RedisError> {
    match cmd("DEL").arg(keys.findings(run)).exec(connection) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.code(), Some("NOAUTH" | "NOPERM")) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Finds out who may write, on a thread and connections of its own, so that nothing waits for it.
pub(super) fn probe(mut connector: Connector, keys: Keys, run: String) -> Receiver<Access> {
    let (sender, found) = channel();
    let probe = move || {
        let found = connector.connect().and_then(|anybody| Ok((anybody, connector.connect()?)));
        let found = found.map(|(mut anybody, mut own)| find_out(&mut anybody, &mut own, &keys, &run));
        // Nobody waits for it any more if the bus is gone.
        let _ = sender.send(found.unwrap_or(Access::Unknown));
    };
    let _ = std::thread::Builder::new().name("redis".to_owned()).spawn(probe);
    found
}

/// What anybody may do, on a connection that cannot be used afterwards, and what this agent's user may.
fn find_out(anybody: &mut Connection, own: &mut Connection, keys: &Keys, run: &str) -> Access {
    // The connection is then as if it had just been opened, without a user (since Redis 6.2).
    let reset = cmd("RESET").exec(anybody);
    let anyone = reset.and_then(|()| may_write(anybody, keys, run));
    match (anyone, may_write(own, keys, run)) {
        (Ok(true), _) => Access::Anyone,
        (Ok(false), Ok(true)) => Access::Shared,
        (Ok(false), Ok(false)) => Access::Own,
        _ => Access::Unknown,
    }
}

impl Access {
    /// What is wrong with it without keys, for people.
    pub fn trouble(self) -> Option<String> {
        let why = match self {
            Access::Anyone => "it requires no password",
            Access::Shared | Access::Own | Access::Unknown => return None,
        };
        Some(format!(
            "the bus is not authenticated: anyone who can connect to this Redis can request protection, end it, \
             and have links disabled within the limits, because {why} and there are no keys; set redis-keys in \
             [bus]"
        ))
    }

    /// Says in the log what was found.
    pub fn tell(self, has_keys: bool) {
        match (self, has_keys) {
            (Access::Anyone, false) => tracing::warn!("{}", self.trouble().unwrap_or_default()),
            (Access::Anyone, true) => {
                tracing::info!(
                    "anyone who can connect to this Redis can delete agents' records, because it requires no password"
                )
            }
            (Access::Shared, false) => {
                tracing::info!(
                    "anyone who has a password for this Redis can impersonate any agent; set redis-keys in [bus]"
                )
            }
            (Access::Own, false) => {
                tracing::info!(
                    "this Redis prevents agents from writing each other's findings, but anyone who has a \
                     password can still request protection in another agent's name"
                )
            }
            (Access::Unknown, false) => {
                tracing::warn!("cannot find out who can write to this Redis; set redis-keys in [bus]")
            }
            (_, true) => {}
        }
    }
}
