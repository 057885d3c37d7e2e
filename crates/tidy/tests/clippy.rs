//! The rules that clippy enforces, held against a piece of code that breaks each: they are lines in files that nothing
//! else would miss.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use linkmend_tidy::workspace_root;
use std::path::Path;
use std::process::Command;

/// What clippy says of a library of this text, with the configuration in `configuration` and the workspace's lints.
fn said(text: &str, configuration: &Path) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("snippet.rs");
    std::fs::write(&file, text).expect("written");
    let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).expect("the manifest");
    let lints = manifest.split("[workspace.lints.clippy]").nth(1).expect("lints");
    let lints = lints.split("\n[").next().unwrap_or(lints).lines().filter_map(|line| line.split_once(" = "));
    let mut command = Command::new("clippy-driver");
    command.env("CLIPPY_CONF_DIR", configuration).args(["--edition", "2024", "--crate-type", "lib"]);
    command.args(["--emit", "metadata", "-o"]).arg(folder.path().join("out")).arg(&file);
    command.args(lints.map(|(name, _)| format!("-Wclippy::{}", name.trim())));
    let Ok(output) = command.output() else {
        println!(
            "######## SKIPPED: the rules that clippy enforces need clippy (rustup component add clippy) ########"
        );
        return None;
    };
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_breaks_determinism_is_banned_each_with_its_reason() {
    let cases = [
        ("pub fn f() { let _ = std::time::Instant::now(); }", "time is an argument here"),
        ("pub fn f() { let _ = std::time::SystemTime::now(); }", "time is an argument here"),
        ("pub fn f() { std::thread::sleep(std::time::Duration::ZERO); }", "nothing here waits in real time"),
        ("pub fn f() { let _ = std::env::var(\"SEED\"); }", "what a run does is in its arguments"),
        ("pub fn f() { let _ = std::thread::spawn(|| ()); }", "results of threads come in any order"),
        (
            "pub fn f() { let _ = std::thread::available_parallelism(); }",
            "the number of threads is an argument",
        ),
        ("pub fn f(x: f64) -> f64 { x.ln() }", "differs between platforms; use libm"),
        ("pub fn f(x: f64) -> f64 { x.hypot(1.0) }", "differs between platforms; use libm"),
        ("pub fn f() { let _ = std::hash::DefaultHasher::new(); }", "differ between versions of Rust"),
        ("pub fn f(x: &std::collections::HashMap<u8, u8>) -> bool { x.is_empty() }", "use BTreeMap"),
        ("pub fn f(x: &std::collections::HashSet<u8>) -> bool { x.is_empty() }", "use BTreeSet"),
    ];
    for (text, reason) in cases {
        let Some(said) = said(text, &workspace_root()) else { return };
        assert!(said.contains("use of a disallowed") && said.contains(reason), "{text}:\n{said}");
    }
}

#[test]
fn crates_in_real_time_may_read_the_clock_but_have_no_hash_maps_and_copy_no_process() {
    for name in ["control", "dataplane", "lab", "linkmend", "matrix", "monitor", "python", "workbench"] {
        let configuration = workspace_root().join("crates").join(name);
        let Some(clock) = said("pub fn f() { let _ = std::time::Instant::now(); }", &configuration) else {
            return;
        };
        assert_eq!(clock, "", "{name}");
        let map = "pub fn f(x: &std::collections::HashMap<u8, u8>) -> bool { x.is_empty() }";
        let map = said(map, &configuration).unwrap_or_default();
        assert!(map.contains("use BTreeMap"), "{name}: {map}");
        let copy = "pub fn f(c: &mut std::process::Command) {\n    use std::os::unix::process::CommandExt;\n    \
                    // SAFETY: it does nothing.\n    unsafe { c.pre_exec(|| Ok(())) };\n}";
        let copy = said(copy, &configuration).unwrap_or_default();
        assert!(copy.contains("loops stand still while it is made"), "{name}: {copy}");
    }
}

#[test]
fn unsafe_blocks_allowances_and_failing_functions_say_why() {
    let cases = [
        ("pub fn f(x: &u8) -> u8 { unsafe { *std::ptr::from_ref(x) } }", "missing a safety comment"),
        ("#[allow(dead_code)]\nfn f() {}", "without specifying a reason"),
        ("#[expect(dead_code)]\nfn f() {}", "without specifying a reason"),
        ("pub fn f() -> Result<(), u8> { Ok(()) }", "missing `# Errors` section"),
        ("pub fn f(x: Option<u8>) -> u8 { x.unwrap() }", "used `unwrap()`"),
    ];
    for (text, complaint) in cases {
        let Some(said) = said(text, &workspace_root()) else { return };
        assert!(said.contains(complaint), "{text}:\n{said}");
    }
}
