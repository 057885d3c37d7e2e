//! Files with cabling or traffic: only their owner can read them, and symbolic links are not followed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const NETWORK: &str = "default_speed: 100G
switches:
- {name: t1, layer: 0}
- {name: s1, layer: 1}
- {name: s2, layer: 1}
links:
- {from: t1, to: s1}
- {from: t1, to: s2}
";

/// Commands that write a file, whose name comes last.
const COMMANDS: [&[&str]; 4] = [
    &["fleet", "plan", "--topology", "network.yaml", "--links", "links.csv", "--html"],
    &["fleet", "show", "network.yaml", "--html"],
    &["fleet", "trace", "--topology", "network.yaml", "--days", "30", "--out"],
    &["fleet", "deploy", "--topology", "network.yaml", "--budget", "50%", "--write"],
];

fn run(folder: &Path, arguments: &[&str], file: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
    let output = command.current_dir(folder).args(arguments).arg(file).env_remove("RUST_LOG").output();
    let output = output.expect("it starts");
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn files_about_a_network_are_their_owners_alone_and_follow_no_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("network.yaml"), NETWORK).expect("written");
    fs::write(folder.join("links.csv"), "link,loss_rate\nt1--s1,1e-3\n").expect("written");
    fs::write(folder.join("precious"), "precious").expect("written");
    symlink(folder.join("precious"), folder.join("link")).expect("linked");
    for (number, arguments) in COMMANDS.iter().enumerate() {
        let name = format!("file{number}");
        let (code, err) = run(folder, arguments, &name);
        assert_eq!(code, 0, "{arguments:?}: {err}");
        let metadata = folder.join(&name).metadata().expect("written");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{arguments:?}");
        assert!(metadata.len() > 0, "{arguments:?}");
        let (code, err) = run(folder, arguments, "link");
        assert_eq!(code, 2, "{arguments:?}: {err}");
        assert!(err.contains("cannot write link") && err.contains("it is a symbolic link"), "{err}");
    }
    assert_eq!(fs::read_to_string(folder.join("precious")).expect("there"), "precious");
}
