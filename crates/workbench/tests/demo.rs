//! `linkmend demo` for an ordinary user.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;

#[test]
fn an_ordinary_user_gets_a_demo_in_a_user_namespace() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: an_ordinary_user_gets_a_demo needs root, to become nobody ########\n");
        return;
    }
    // No other user can read this folder.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("readable");
    let program = folder.path().join("linkmend");
    std::fs::copy(env!("CARGO_BIN_EXE_linkmend-workbench"), &program).expect("copied");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("readable");
    let said = folder.path().join("said");
    let mut command = Command::new(&program);
    command.args(["demo", "--quick", "--no-report"]).uid(NOBODY).gid(NOBODY).current_dir("/");
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&said).expect("a file"));
    let mut demo = command.env_remove("RUST_LOG").spawn().expect("it starts");
    let started = Instant::now();
    let mut text = String::new();
    // The test runs until the first slot begins; other tests measure the rest of the demo.
    while !text.contains("[1/") && started.elapsed() < Duration::from_secs(60) {
        if demo.try_wait().expect("it can be watched").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        text = std::fs::read_to_string(&said).expect("a file");
    }
    demo.kill().expect("it is ours");
    demo.wait().expect("it is ours");
    text = std::fs::read_to_string(&said).expect("a file");
    if text.contains("is switched off") || text.contains("a container or security module forbids it") {
        eprintln!(
            "\n######## SKIPPED: an_ordinary_user_gets_a_demo: no user namespaces here: {text} ########\n"
        );
        return;
    }
    assert!(text.contains("running in a user namespace") && text.contains("[1/"), "{text}");
}
