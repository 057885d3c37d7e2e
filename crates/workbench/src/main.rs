//! The binary `linkmend-workbench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    linkmend_workbench::execute()
}
