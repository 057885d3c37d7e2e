//! What a host's kernel counts about TCP.

use std::io;

use super::FailoverError;
use crate::namespace::Namespace;

/// Counters since the namespace was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpCounters {
    pub(super) retransmitted_segments: u64,
    pub(super) timeouts: u64,
    pub(super) loss_probes: u64,
}

impl TcpCounters {
    pub(super) fn read(host: &Namespace) -> Result<TcpCounters, FailoverError> {
        // The files of the thread are those of its namespace; those of the process are not.
        let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        let texts = host.run(|| Ok::<_, io::Error>((read("snmp")?, read("netstat")?)))?;
        let (snmp, netstat) = texts.map_err(FailoverError::Counters)?;
        Ok(TcpCounters {
            retransmitted_segments: counter(&snmp, "Tcp:", "RetransSegs"),
            timeouts: counter(&netstat, "TcpExt:", "TCPTimeouts"),
            loss_probes: counter(&netstat, "TcpExt:", "TCPLossProbes"),
        })
    }

    pub(super) fn since(self, before: TcpCounters) -> TcpCounters {
        TcpCounters {
            retransmitted_segments: self.retransmitted_segments - before.retransmitted_segments,
            timeouts: self.timeouts - before.timeouts,
            loss_probes: self.loss_probes - before.loss_probes,
        }
    }
}

/// A counter of a group: a line of names, and a line of values. 0 if this kernel does not have it.
fn counter(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)).map(str::split_whitespace);
    let (Some(mut names), Some(mut values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.position(|other| other == name);
    at.and_then(|at| values.nth(at)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_group_and_name() {
        let text = "Ip: RetransSegs\nIp: 7\nTcp: ActiveOpens RetransSegs\nTcp: 12 34\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), 34);
        assert_eq!((counter(text, "Tcp:", "None"), counter(text, "Udp:", "RetransSegs")), (0, 0));
    }
}
