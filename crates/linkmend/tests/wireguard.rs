//! A link over UDP inside a WireGuard tunnel, with the files of the how-to page. Needs root, iproute2, `wg`
//! (wireguard-tools), and WireGuard in the kernel or wireguard-go.

mod daemon_lab;

use daemon_lab::{Lab, PATIENCE, ip};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const PAGE: &str = include_str!("../../../docs/howto/path-without-a-cable.md");
/// Names by which wireguard-go is installed.
const PROGRAMS: [&str; 2] = ["wireguard-go", "wireguard"];

/// What is fenced or indented in the part of the page about WireGuard, of which the first line contains `begin`.
fn blocks(begin: &str) -> Vec<String> {
    let (_, part) = PAGE.split_once("## Inside WireGuard\n").expect("the page has the part");
    let (part, _) = part.split_once("\n## ").expect("another part follows");
    let blocks = part.split("-->\n\n").skip(1).map(|text| match text.strip_prefix("```ini\n") {
        Some(fenced) => fenced.split("```").next().expect("an end").to_owned(),
        None => text.lines().next().expect("a line").trim().to_owned(),
    });
    blocks.filter(|block| block.contains(begin)).collect()
}

/// The value of a key of `wg0.conf`.
fn value<'a>(file: &'a str, key: &str) -> &'a str {
    let lines = file.lines().filter_map(|line| line.split_once(" = "));
    lines.filter(|(found, _)| *found == key).map(|(_, value)| value).next().expect("the file has the key")
}

fn wg(arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(arguments[0]);
    command.args(&arguments[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The tunnels' devices are in the namespaces, which go with the laboratory; their programs end here.
struct Tunnels(Vec<Child>);

impl Tunnels {
    /// Makes a device: the kernel's, or that of a program.
    fn device(&mut self, namespace: &str, name: &str) -> bool {
        if ip(&format!("-n {namespace} link add {name} type wireguard")) {
            return true;
        }
        for program in PROGRAMS {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", namespace, program, "--foreground", name]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().expect("iproute2");
            let begun = Instant::now();
            while child.try_wait().expect("it can be asked").is_none() && begun.elapsed() < PATIENCE {
                // The device answers `wg` a moment after it is there.
                if wg(&["ip", "netns", "exec", namespace, "wg", "show", name, "dump"], "").is_some() {
                    self.0.push(child);
                    return true;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        false
    }
}

impl Drop for Tunnels {
    fn drop(&mut self) {
        for program in &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// A number from the left end's status.
fn udp(lab: &Lab, name: &str) -> u64 {
    let (code, out, error) =
        lab.ask(&format!("status left --json --control {}", lab.socket("left").display()));
    assert_eq!(code, 0, "{error}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    report.pointer(&format!("/link/udp/{name}")).and_then(serde_json::Value::as_u64).expect("a number")
}

#[test]
fn a_link_inside_wireguard_needs_no_key_and_loses_nothing() {
    let test = "a_link_inside_wireguard_needs_no_key_and_loses_nothing";
    let Some(mut lab) = Lab::new("wg") else { return };
    let mut tunnels = Tunnels(Vec::new());
    let (left, right) = (lab.left.clone(), lab.right.clone());
    let names = ["l", "r"].map(|end| format!("lm{}{end}", std::process::id() % 1_000_000));
    let keys = [(); 2].map(|()| wg(&["wg", "genkey"], ""));
    let has_devices = keys.iter().all(Option::is_some)
        && [&left, &right].into_iter().zip(&names).all(|(end, name)| tunnels.device(end, name));
    if !has_devices {
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: {test} needs wireguard-tools, and WireGuard in the kernel or wireguard-go ########\n"
        );
        return;
    }
    let private = keys.map(|key| key.expect("seen above"));
    let public = private.each_ref().map(|key| wg(&["wg", "pubkey"], key).expect("a key"));
    let files = blocks("[Interface]");
    let [right_file, left_file] = files.as_slice() else { panic!("two files: {files:?}") };
    for (place, (namespace, file)) in [(&left, left_file), (&right, right_file)].into_iter().enumerate() {
        let address = ["10.0.0.1/24", "10.0.0.2/24"][place];
        assert!(ip(&format!("-n {namespace} address add {address} dev l0")));
        let own_and_peer = [private[place].as_str(), public[1 - place].as_str()];
        let filled = ["LEFT", "RIGHT"].into_iter().fold(file.clone(), |text, end| {
            text.replace(&format!("{end}_PRIVATE_KEY"), own_and_peer[0])
                .replace(&format!("{end}_PUBLIC_KEY"), own_and_peer[1])
        });
        // `wg-quick` reads these two itself.
        let of_quick = |line: &&str| line.starts_with("Address") || line.starts_with("MTU");
        let settings: String =
            filled.lines().filter(|line| !of_quick(line)).map(|line| format!("{line}\n")).collect();
        let name = &names[place];
        let set = ["ip", "netns", "exec", namespace, "wg", "setconf", name, "/dev/stdin"];
        wg(&set, &settings).expect("WireGuard takes the file");
        assert!(ip(&format!("-n {namespace} address add {} dev {name}", value(file, "Address"))));
        assert!(ip(&format!("-n {namespace} link set dev {name} up mtu {}", value(file, "MTU"))));
    }
    let commands = blocks("linkmend run");
    let [right_command, left_command] = commands.as_slice() else { panic!("two commands: {commands:?}") };
    for (namespace, end, command, host) in
        [(&right, "right", right_command, "10.99.0.2/24"), (&left, "left", left_command, "10.99.0.1/24")]
    {
        let (_, options) = command.split_once("linkmend run ").expect("a command");
        let options = options.replace("--inner eth1", "--inner create:host");
        lab.start_alone(namespace, end, &format!("--name {end} --allow-corruption {options}"));
        assert!(ip(&format!("-n {namespace} address add {host} dev host")));
        assert!(ip(&format!("-n {namespace} link set dev host mtu 1340")));
    }
    lab.wait_for_log("left", "protection is active");
    lab.wait_for_log("left", "the peer protects its frames");
    let status = lab.status("left");
    assert!(status.contains("10.9.0.2:34997"), "{status}");
    for end in ["left", "right"] {
        let corrupt = format!("corrupt {end} 0.1 --control {}", lab.socket(end).display());
        let (code, _, error) = lab.ask(&corrupt);
        assert_eq!(code, 0, "{error}");
    }
    let begun = Instant::now();
    while udp(&lab, "datagram_bytes") < 1_392 {
        assert!(begun.elapsed() < PATIENCE, "datagrams are short for a path of 1,420");
    }
    let split = udp(&lab, "split_frames");
    // 28 bytes of headers: as long as the hosts' MTU allows.
    lab.ping_with(300, "-s 1312 -M do").expect("no ping is lost");
    assert_eq!(udp(&lab, "split_frames"), split);
}
