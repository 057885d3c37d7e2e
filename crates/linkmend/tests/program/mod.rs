//! The binary, run with arguments.

use std::process::Command;

/// Exit code, standard output and standard error.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
    command.args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
