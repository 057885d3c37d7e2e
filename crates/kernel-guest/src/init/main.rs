//! The first and only process of a virtual machine: plays all scenarios and turns the machine off.

mod namespace;
mod packet;
mod play;
mod timers;

use linkmend_kernel_guest::record::Record;
use linkmend_kernel_guest::scenario;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

fn main() {
    let mut records = Vec::new();
    if let Err(error) = run(&mut records) {
        records.push(Record::Failed(error.to_string()));
    }
    print(&records);
    // Only a power switch ends the machine: the kernel panics when its first process ends.
    let Err(error) = reboot(RebootMode::RB_AUTOBOOT);
    panic!("cannot restart: {error}");
}

fn run(records: &mut Vec<Record>) -> io::Result<()> {
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&Path>)?;
    load_modules()?;
    records.push(Record::Kernel(fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned()));
    let ticks = timers::Ticks::find()?;
    timers::measure(ticks, records)?;
    for scenario in scenario::all() {
        for phase in 0..scenario.phases {
            print(records);
            records.clear();
            records.push(Record::Begin { name: scenario.name.clone(), phase });
            if let Err(error) = play::play(&scenario, ticks, phase, records) {
                records.push(Record::Failed(error.to_string()));
            }
        }
    }
    records.push(Record::Complete);
    Ok(())
}

/// Loads what `/modules` has, in the order of the names.
fn load_modules() -> io::Result<()> {
    let mut paths =
        fs::read_dir("/modules")?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        finit_module(File::open(&path)?, c"", ModuleInitFlags::empty())
            .map_err(|error| io::Error::other(format!("cannot load {}: {error}", path.display())))?;
    }
    Ok(())
}

fn print(records: &[Record]) {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    // Nobody could be told of an error.
    let _ = io::stdout().write_all(text.as_bytes());
}
