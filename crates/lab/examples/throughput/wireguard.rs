//! Two hosts whose gateways are joined by WireGuard, in a laboratory. The gateways answer for the other host's address.

use crate::Outcome;
use linkmend_lab::topology::{HOST_INTERFACE, INNER_INTERFACE, LINK_INTERFACE};
use linkmend_lab::{Lab, Role};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// That of `wg-quick` on a path whose MTU is 1,500.
const MTU: u32 = 1_420;
const PORT: u16 = 51_820;
const PATH_ADDRESSES: [&str; 2] = ["10.78.0.1", "10.78.0.2"];

/// The programs at both ends. They end when this is dropped.
pub(crate) struct Tunnel(Vec<Child>);

impl Tunnel {
    /// Starts `program` (wireguard-go) in both gateways.
    pub(crate) fn start(lab: &Lab, program: &str) -> Outcome<Tunnel> {
        let mut tunnel = Tunnel(Vec::new());
        let mut gateways = Vec::new();
        for (place, role) in [Role::End1, Role::End2].into_iter().enumerate() {
            let name = format!("wg{}{}", std::process::id() % 100_000, place);
            let mut command = Command::new(program);
            command.args(["--foreground", &name]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            tunnel.0.push(lab.spawn(role, command)?);
            let begun = Instant::now();
            while wg(lab, role, &["show", &name], "").is_err() {
                if begun.elapsed() > Duration::from_secs(5) {
                    return Err(format!("{program} does not answer `wg`").into());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let key = wg(lab, role, &["genkey"], "")?;
            gateways.push((role, name, wg(lab, role, &["pubkey"], &key)?, key));
        }
        for (place, (role, name, _, key)) in gateways.iter().enumerate() {
            let (_, _, peer_key, _) = &gateways[1 - place];
            let (own, peer) = (PATH_ADDRESSES[place], PATH_ADDRESSES[1 - place]);
            let [own_host, host] = if place == 0 { [1, 2] } else { [2, 1] };
            lab.ip(*role, &format!("address add {own}/24 dev {LINK_INTERFACE}"))?;
            let endpoint = format!("{peer}:{PORT}");
            let (port, key_file) = (PORT.to_string(), "/dev/stdin");
            let setting = ["set", name, "listen-port", &port, "private-key", key_file, "peer", peer_key];
            let peer = ["allowed-ips", "0.0.0.0/0", "endpoint", &endpoint];
            wg(lab, *role, &[&setting[..], &peer].concat(), key)?;
            for command in [
                format!("link set dev {name} up mtu {MTU}"),
                format!("link set dev {INNER_INTERFACE} up mtu {MTU}"),
                format!("route add 10.77.0.{own_host}/32 dev {INNER_INTERFACE}"),
                format!("route add 10.77.0.{host}/32 dev {name}"),
            ] {
                lab.ip(*role, &command)?;
            }
            let forward = || {
                std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
                std::fs::write(format!("/proc/sys/net/ipv4/conf/{INNER_INTERFACE}/proxy_arp"), "1")
            };
            lab.namespace(*role).run(forward)??;
        }
        for host in [Role::Host1, Role::Host2] {
            lab.ip(host, &format!("link set dev {HOST_INTERFACE} mtu {MTU}"))?;
        }
        Ok(tunnel)
    }

    /// Numbers of the processes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs `wg` in the namespace of `role`, and returns what it prints.
fn wg(lab: &Lab, role: Role, arguments: &[&str], input: &str) -> Outcome<String> {
    let mut command = Command::new("wg");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = lab.namespace(role).run(|| command.spawn())?.map_err(|error| format!("wg: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?.trim().to_owned()),
        false => Err(format!("wg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
