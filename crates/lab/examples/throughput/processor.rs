//! Processor time, as `/proc` counts it.

use std::fs;
use std::path::Path;

/// `sysconf(_SC_CLK_TCK)`, which Linux has not changed for 20 years.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of processor time, in the program and in the kernel, of a process or a thread, whose folder in `/proc` this is.
fn seconds(folder: &Path) -> f64 {
    let Ok(stat) = fs::read_to_string(folder.join("stat")) else { return 0.0 };
    // The name may contain spaces, and ends at the last parenthesis. The times are the 14th and 15th field.
    let Some((_, fields)) = stat.rsplit_once(')') else { return 0.0 };
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

/// Seconds that the processes with these numbers have spent so far; none for those that have ended.
pub(crate) fn of_processes(ids: &[u32]) -> f64 {
    ids.iter().map(|id| seconds(&Path::new("/proc").join(id.to_string()))).sum()
}

/// Seconds that the loops of link ends in this process have spent so far.
pub(crate) fn of_link_ends() -> f64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_loop =
        |folder: &Path| fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with("link-"));
    threads.map(|thread| thread.path()).filter(|folder| is_loop(folder)).map(|folder| seconds(&folder)).sum()
}
