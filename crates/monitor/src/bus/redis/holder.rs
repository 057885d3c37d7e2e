//! Which process has the name of an agent.

use linkmend_diagnose::excerpt;
use std::path::Path;

/// What is shown of a host's name.
const HOST_SHOWN_MOST: usize = 64;

/// A process, so described that others can tell it from themselves, and whether it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    host: String,
    process: u32,
    /// The start of the machine and the namespace in which the number is that of the process.
    whereabouts: String,
    /// Tells processes with the same number apart. Nobody can foresee it.
    run: String,
}

impl Holder {
    /// This process, in a run of this name.
    pub fn this(run: &str) -> Holder {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Holder {
            host: read("/proc/sys/kernel/hostname").replace(char::is_whitespace, "-"),
            process: std::process::id(),
            whereabouts: format!("{}:{}", read("/proc/sys/kernel/random/boot_id"), namespace.display()),
            run: run.to_owned(),
        }
    }

    /// As it is in Redis.
    pub fn written(&self) -> String {
        let Holder { host, process, whereabouts, run } = self;
        format!("{host} {process} {whereabouts} {run}")
    }

    /// The run of a process, in what is in Redis of it.
    pub fn run_in(written: &str) -> Option<&str> {
        let [_, _, _, run] = written.split(' ').collect::<Vec<_>>()[..] else { return None };
        Some(run)
    }

    /// Whether what is in Redis is another process that is certainly gone: one of this start of this machine. Another bus of
    /// this process itself is gone as well, because a process has only one.
    pub fn knows_to_be_gone(&self, written: &str) -> bool {
        let [_, process, whereabouts, _] = written.split(' ').collect::<Vec<_>>()[..] else { return false };
        let Ok(process) = process.parse::<u32>() else { return false };
        let is_there = process != self.process && Path::new(&format!("/proc/{process}")).exists();
        whereabouts == self.whereabouts && !is_there
    }

    /// What is in Redis, for people.
    pub fn told(written: &str) -> String {
        let shown = |text: &str| excerpt(text, HOST_SHOWN_MOST);
        match written.split(' ').collect::<Vec<_>>()[..] {
            [host, process, _, _] => format!("process {} at {}", shown(process), shown(host)),
            _ => shown(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_that_is_not_there_is_gone() {
        let this = Holder::this("1");
        let of = |process: u32, whereabouts: &str| {
            Holder { process, whereabouts: whereabouts.to_owned(), run: "2".to_owned(), ..this.clone() }
                .written()
        };
        let here = &this.whereabouts;
        assert!(this.knows_to_be_gone(&of(u32::MAX, here)), "no process has this number");
        assert!(this.knows_to_be_gone(&of(this.process, here)), "an earlier one of this process");
        assert!(!this.knows_to_be_gone(&of(1, here)), "the first process is always there");
        assert!(!this.knows_to_be_gone(&of(u32::MAX, "elsewhere")), "nobody here knows");
        assert!(!this.knows_to_be_gone("text") && !this.knows_to_be_gone(""));
        assert_eq!((Holder::run_in(&this.written()), Holder::run_in("text")), (Some("1"), None));
        assert_eq!(Holder::told("tor1 17 x 1"), "process 17 at tor1");
        assert_eq!(Holder::told("a\nb"), "a\\nb");
    }
}
