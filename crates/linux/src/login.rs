//! The login over which this process was started, if it came over a network.

use std::fs;
use std::net::IpAddr;

/// More ancestors than a process has. This limits the walk, should they change meanwhile.
const ANCESTORS_MAX: usize = 64;
/// What sshd sets for a session: the client's address and port, and the server's.
const SSH_CONNECTION: &[u8] = b"SSH_CONNECTION=";

/// The other end of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Its address, as the server saw it.
    pub from: IpAddr,
    /// The interface that a link-local address belongs to.
    pub zone: Option<String>,
}

/// Finds the SSH session of this process, or of the nearest of its ancestors that has one: `sudo` does not pass the
/// variable on.
pub fn of_this_process() -> Option<Login> {
    let mut process = "self".to_owned();
    for _ in 0..ANCESTORS_MAX {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        if let Some(login) = in_environment(&environment) {
            return Some(login);
        }
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name, in parentheses, may contain anything. Then come the state and the parent.
        process = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.to_owned();
    }
    None
}

fn in_environment(environment: &[u8]) -> Option<Login> {
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(SSH_CONNECTION))?;
    let client = std::str::from_utf8(value).ok()?.split(' ').next()?;
    let (address, zone) = match client.split_once('%') {
        Some((address, zone)) => (address, Some(zone.to_owned())),
        None => (client, None),
    };
    Some(Login { from: address.parse().ok()?, zone })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_of_a_session_is_found_in_its_environment() {
        let login = |text: &str| in_environment(text.as_bytes());
        let from = |address: &str, zone: Option<&str>| {
            let from = address.parse().expect("an address");
            Some(Login { from, zone: zone.map(str::to_owned) })
        };
        assert_eq!(login("A=b\0SSH_CONNECTION=192.0.2.7 5022 192.0.2.1 22\0C=d"), from("192.0.2.7", None));
        assert_eq!(login("SSH_CONNECTION=fe80::1%eth0 1 fe80::2%eth0 22\0"), from("fe80::1", Some("eth0")));
        for none in ["", "A=SSH_CONNECTION=1.2.3.4 1 2 3", "SSH_CONNECTION=", "SSH_CONNECTION=host 1 2 3"] {
            assert_eq!(login(none), None, "{none}");
        }
    }
}
