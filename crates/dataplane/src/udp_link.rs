//! Links over UDP, as people write them: `udp:PEER[:PORT]`, or `udp:listen[:PORT]` at the end that waits to be called.

use linkmend_tunnel::is_near;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The UDP port of an end that waits to be called, unless another is given.
pub const UDP_PORT_DEFAULT: u16 = 34_997;
/// How the text of a link over UDP begins. No interface's name contains a colon.
const PREFIX: &str = "udp:";
/// Stands in the place of the peer.
const LISTEN: &str = "listen";
/// The longest name of a host (RFC 1035, section 2.3.4).
const HOST_BYTES_MAX: usize = 253;

/// How an end of a link over UDP finds the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UdpLink {
    /// It waits at this port, and learns where the peer is when that calls.
    Listen { port: u16 },
    /// It calls a host: an address, or a name that is looked up again when the peer is silent.
    Call { host: String, port: u16 },
}

/// The text begins like that of a link over UDP, and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be `udp:HOST`, `udp:HOST:PORT`, `udp:[IPV6]:PORT`, `udp:listen` or `udp:listen:PORT`")]
pub struct NotUdp;

impl UdpLink {
    /// Whether a text names a link over UDP, and not an interface.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Reads a text for which [`UdpLink::is_meant`] holds.
    ///
    /// # Errors
    /// [`NotUdp`].
    pub fn parse(text: &str) -> Result<UdpLink, NotUdp> {
        let text = text.strip_prefix(PREFIX).ok_or(NotUdp)?;
        let (host, port) = split(text)?;
        let port = match port {
            None => UDP_PORT_DEFAULT,
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().map_err(|_| NotUdp)?
            }
            Some(_) => return Err(NotUdp),
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '%');
        let fits = (1..=HOST_BYTES_MAX).contains(&host.len()) && !host.starts_with('-');
        if port == 0 || !fits || !host.chars().all(is_host) {
            return Err(NotUdp);
        }
        Ok(match host {
            LISTEN => UdpLink::Listen { port },
            host => UdpLink::Call { host: host.to_owned(), port },
        })
    }

    /// The public address that it calls, if it is certain without looking up a name that it is one.
    pub fn public_address(&self) -> Option<IpAddr> {
        let UdpLink::Call { host, .. } = self else { return None };
        host.parse().ok().filter(|address| !is_near(*address))
    }
}

/// The host, and the port if there is one.
fn split(text: &str) -> Result<(&str, Option<&str>), NotUdp> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or(NotUdp)?;
        return match (rest, rest.strip_prefix(':')) {
            ("", _) => Ok((host, None)),
            (_, Some(port)) => Ok((host, Some(port))),
            _ => Err(NotUdp),
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text, None));
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(NotUdp),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

impl fmt::Display for UdpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UdpLink::Listen { port } => write!(f, "{PREFIX}{LISTEN}:{port}"),
            UdpLink::Call { host, port } if host.contains(':') => write!(f, "{PREFIX}[{host}]:{port}"),
            UdpLink::Call { host, port } => write!(f, "{PREFIX}{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_names_and_addresses_with_and_without_a_port() {
        for (text, full) in [
            ("udp:listen", "udp:listen:34997"),
            ("udp:listen:7", "udp:listen:7"),
            ("udp:gate.example", "udp:gate.example:34997"),
            ("udp:192.0.2.1:9", "udp:192.0.2.1:9"),
            ("udp:2001:db8::1", "udp:[2001:db8::1]:34997"),
            ("udp:[2001:db8::1]:9", "udp:[2001:db8::1]:9"),
            ("udp:[fe80::1%eth0]", "udp:[fe80::1%eth0]:34997"),
        ] {
            assert!(UdpLink::is_meant(text));
            let link = UdpLink::parse(text).expect(text);
            assert_eq!(link.to_string(), full);
            assert_eq!(UdpLink::parse(full), Ok(link));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "udp:",
            "udp::9",
            "udp:a:",
            "udp:a:0",
            "udp:a:65536",
            "udp:a:+9",
            "udp:a:b:9",
            "udp:[::1",
            "udp:[::1]9",
            "udp:a b",
            "udp:a/b",
            "udp:-a",
            "udp:[]:9",
        ] {
            assert_eq!(UdpLink::parse(text), Err(NotUdp), "{text}");
        }
        assert!(!UdpLink::is_meant("udp0"));
    }

    #[test]
    fn only_addresses_are_certain_to_be_public() {
        let public = |text| UdpLink::parse(text).expect(text).public_address().is_some();
        assert!(public("udp:198.51.100.7") && public("udp:2001:db8::1"));
        assert!(!public("udp:10.0.0.1") && !public("udp:gate.example") && !public("udp:listen"));
    }
}
