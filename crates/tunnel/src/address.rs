//! Which addresses a peer may have.

use std::net::IpAddr;

/// The addresses that a peer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only those for which [`is_near`] holds, because the datagrams are not authenticated.
    Near,
    Anywhere,
}

impl Reach {
    /// Whether a peer may have this address.
    pub fn includes(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        !address.is_unspecified() && !address.is_multicast() && (self == Reach::Anywhere || is_near(address))
    }
}

/// Whether an address belongs to this machine, to a private network (RFC 1918, RFC 4193), to the link (RFC 3927, RFC
/// 4291), or to the space that carriers share (RFC 6598).
pub fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || first == 100 && second & 0xc0 == 64
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_told_from_others() {
        for near in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(Reach::Near.includes(near.parse().expect(near)), "{near}");
        }
        for public in ["8.8.8.8", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"]
        {
            let address = public.parse().expect(public);
            assert!(!Reach::Near.includes(address) && Reach::Anywhere.includes(address), "{public}");
        }
        for nobody in ["0.0.0.0", "::", "224.0.0.1", "ff02::1"] {
            assert!(!Reach::Anywhere.includes(nobody.parse().expect(nobody)), "{nobody}");
        }
    }
}
