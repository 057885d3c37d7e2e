//! Commands, as far as a connection notices what they do.

use super::Settings;
use crate::error::Lacking;
use crate::shell;
use linkmend_transport::Nanos;
use std::rc::Rc;

/// Commands that set up or tidy a network which the simulated host has without them.
const PASSED_OVER: [&str; 11] =
    ["ip", "tc", "ethtool", "sleep", "true", "rm", "modprobe", "ulimit", "iptables-save", "cat", "sync"];

/// Parameters of kernel modules that the simulated TCP has at this value only.
const PARAMETERS: [(&str, &str); 2] = [
    ("/sys/module/tcp_cubic/parameters/hystart", "1"),
    ("/sys/module/tcp_cubic/parameters/hystart_detect", "3"),
];

/// The receive buffer in bytes that Google's suite sets.
const RECEIVE_BUFFER: u32 = 15 << 20;

/// Shell scripts that call each other go no deeper.
const SHELL_DEPTH_MAX: u32 = 4;

impl Settings {
    /// Runs a command: each of its parts.
    ///
    /// # Errors
    /// If it does what is lacking.
    pub fn command(&mut self, command: &str) -> Result<(), Lacking> {
        self.commands(command, 0)
    }

    fn commands(&mut self, text: &str, depth: u32) -> Result<(), Lacking> {
        shell::commands(text)?.iter().try_for_each(|words| self.simple_command(words, depth))
    }

    fn simple_command(&mut self, words: &[String], depth: u32) -> Result<(), Lacking> {
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let name = program.rsplit('/').next().unwrap_or_default();
        let called = if matches!(name, "source" | "." | "sh" | "bash") { arguments.first() } else { None };
        let scripts = Rc::clone(&self.shell_scripts);
        if let Some(text) = scripts.get(called.unwrap_or(program)) {
            if depth == SHELL_DEPTH_MAX {
                return Err(format!("shell scripts that call each other {depth} deep (`{program}`)"));
            }
            return self.commands(text, depth + 1);
        }
        match name {
            "sysctl" => self.system_settings(arguments.iter().filter(|word| !word.starts_with('-'))),
            // The suite's own way to set them, with their files.
            "set_sysctls.py" => self.system_settings(arguments.iter()),
            "defaults.sh" => self.defaults(),
            "ip" | "tc" => self.network(arguments),
            "echo" => self.write_file(arguments),
            "dd" => self.copy(arguments),
            "nstat" => self.counter(arguments),
            _ if name.starts_with("sysctl_restore") || name.starts_with('#') => Ok(()),
            _ if PASSED_OVER.contains(&name) => Ok(()),
            _ => Err(format!("the command `{name}`")),
        }
    }

    /// What Google's suite sets before each of its scripts, as far as it is another value than the kernel's.
    fn defaults(&mut self) -> Result<(), Lacking> {
        self.config.receive_buffer = RECEIVE_BUFFER;
        self.sets_receive_buffer = true;
        self.config.restart_after_idle = false;
        self.ecn = 0;
        Ok(())
    }

    /// `ip route ... initcwnd 10`, `tc qdisc ... fq`: what of it a connection notices.
    fn network(&mut self, arguments: &[String]) -> Result<(), Lacking> {
        // A locked MTU is one that no router lowers, and there is none.
        let words: Vec<&String> = arguments.iter().filter(|word| *word != "lock").collect();
        for pair in words.windows(2) {
            let number = || pair[1].parse::<u32>().map_err(|_| format!("{} {}", pair[0], pair[1]));
            match pair[0].as_str() {
                "initcwnd" => self.config.initial_window = number()?,
                "mtu" => self.mtu = number()?,
                "advmss" => self.offered_segment = Some(number()?),
                "rto_min" => {
                    let digits = pair[1].trim_end_matches("ms");
                    let milliseconds = digits.parse().map_err(|_| format!("rto_min {}", pair[1]))?;
                    self.config.rto_min = Nanos::from_millis(milliseconds);
                }
                "limit" => self.has_full_queue = pair[1] == "0",
                "root" => {
                    self.config.pacing = pair[1] == "fq";
                    self.has_full_queue = false;
                }
                "congctl" => self.algorithm(pair[1])?,
                "features" | "quickack" | "window" | "ssthresh" | "cwnd" => {
                    return Err(format!("the route's {} {}", pair[0], pair[1]));
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// `echo VALUE > FILE`, one of the kernel's settings.
    fn write_file(&mut self, words: &[String]) -> Result<(), Lacking> {
        match words {
            [value, arrow, file] if arrow == ">" => {
                if let Some(name) = file.strip_prefix("/proc/sys/") {
                    return self.system_setting(&name.replace('/', "."), value);
                }
                let is_known = PARAMETERS.contains(&(file.as_str(), value.as_str()));
                if is_known { Ok(()) } else { Err(format!("{value} in {file}")) }
            }
            _ => Ok(()),
        }
    }

    /// `dd bs=1 count=5 of=FILE`.
    fn copy(&mut self, arguments: &[String]) -> Result<(), Lacking> {
        let value = |name: &str| arguments.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| value(name).and_then(|number| number.parse::<u64>().ok());
        match (value("if"), value("of"), number("bs"), number("count")) {
            (Some("/dev/zero"), Some(file), Some(block), Some(count)) => {
                self.files.insert(file.to_owned(), block.saturating_mul(count));
                Ok(())
            }
            _ => Err("`dd` of something other than zeroes with `bs` and `count`".to_owned()),
        }
    }

    /// `nstat -n`, which begins to count, as a script does at its beginning, and `nstat | grep COUNTER | grep -q " N "`.
    fn counter(&mut self, arguments: &[String]) -> Result<(), Lacking> {
        match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["-n"] => return Ok(()),
            ["|", "grep", "TcpExtBeyondWindow", "|", "grep", "-q", number] => {
                self.expected_beyond_window = number.trim().parse().ok();
            }
            _ => (),
        }
        let is_known = self.expected_beyond_window.is_some();
        if is_known { Ok(()) } else { Err("`nstat` of something other than TcpExtBeyondWindow".to_owned()) }
    }
}
