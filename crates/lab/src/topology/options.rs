//! How a laboratory is built: names, sizes and settings of the hosts.

use super::role::Role;
use super::wires::{self, WireInterface};
use crate::impairments::{BackupLink, ImpairmentError, Impairments};
use linkmend_diagnose::Diagnose;
use linkmend_protocol::paths::Path;
use serde::{Deserialize, Serialize};

/// The smallest MTU of a host, which IPv6 requires (RFC 8200, section 5).
pub const HOST_MTU_MIN: u32 = 1280;
/// The largest MTU of a host.
pub const HOST_MTU_MAX: u32 = 9000;
/// The longest prefix, so that the names stay readable.
pub const PREFIX_MAX: usize = 24;

/// An option that no laboratory can be built with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOption {
    /// The prefix cannot be used in names.
    #[error("lab prefix `{prefix}` is not 1 to {PREFIX_MAX} of a-z, 0-9 and `-`, not starting with `-`")]
    Prefix { prefix: String },
    /// The MTU is out of range.
    #[error("host MTU {host_mtu} is not within {HOST_MTU_MIN} to {HOST_MTU_MAX} bytes")]
    Mtu { host_mtu: u32 },
    /// See [`ImpairmentError`].
    #[error(transparent)]
    Impairment(#[from] ImpairmentError),
}

impl Diagnose for BadOption {
    fn hint(&self) -> Option<String> {
        match self {
            BadOption::Prefix { .. } => Some("try `lm`".to_owned()),
            BadOption::Mtu { .. } => Some("1500 is usual".to_owned()),
            BadOption::Impairment(error) => error.hint(),
        }
    }
}

/// How a laboratory is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabOptions {
    /// First part of the namespaces' names: lower-case letters, digits and dashes. Default `lm`.
    pub prefix: String,
    /// MTU of the hosts in bytes, [`HOST_MTU_MIN`] to [`HOST_MTU_MAX`]. Default 1500. Above about 3,500, the link ends'
    /// ports do not take an XDP program without multi-buffer support.
    pub host_mtu: u32,
    /// Generic receive offload at the hosts' ends. Default on, because on veth this is what switches NAPI on, and
    /// without NAPI at the far end the kernel drops what an XDP program redirects into a veth (seen on 6.18: all or
    /// nothing).
    pub host_gro: bool,
    /// Leave segmentation and checksum offload on everywhere, as it is by default. Default off: a link end with
    /// ordinary ports needs frames as they are on a wire. With it, [`LinkEnds`](crate::LinkEnds) opens its inner ports for offloads.
    pub host_offloads: bool,
    /// Queues of each interface in each direction. Default 1.
    pub queues: u32,
    /// `rto_min` of the hosts' routes in milliseconds; `None` for the kernel's 200. Default 1, as in the paper (section
    /// 4.1). It is a lower bound for the retransmission timeout of data. The timer itself still ticks with the kernel's
    /// HZ, and the first SYN's timeout stays 1 s.
    pub rto_min_ms: Option<u32>,
    /// Keep no metrics of finished connections, so that one flow does not affect the next. Default on.
    pub tcp_no_metrics_save: bool,
    /// Shrink the window of a connection that was idle for one retransmission timeout. Default off (the kernel's
    /// default is on), because with a timeout of milliseconds every pause between flows would count as idle.
    pub tcp_slow_start_after_idle: bool,
    /// Upper limit of the TCP send and receive buffers in bytes. Default 16 MiB.
    pub tcp_buffer_max_bytes: u32,
    /// Length of the queue in front of every port, in frames; `None` leaves veth without one. Default 1000. With a
    /// queue, a full veth slows its sender down (kernel 6.16 and later); without one it drops silently.
    pub queue_frames: Option<u32>,
    /// Rate and delays of the path. Default none. With any, the laboratory has a fifth namespace, and nothing passes
    /// until [`crate::DelayLines`] have been started.
    pub impairments: Impairments,
    /// A second link between the link ends, on their ports `backup`. Default none. With one, either link can be cut
    /// ([`Lab::cut`](super::Lab::cut)), because both pass through the fifth namespace: through delay lines where they have a
    /// rate or a delay, and through a bridge otherwise.
    pub backup: Option<BackupLink>,
    /// Take the laboratory down when the [`Lab`](super::Lab) is dropped. Default off.
    pub remove_on_drop: bool,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            prefix: "lm".to_owned(),
            host_mtu: 1500,
            host_gro: true,
            host_offloads: false,
            queues: 1,
            rto_min_ms: Some(1),
            tcp_no_metrics_save: true,
            tcp_slow_start_after_idle: false,
            tcp_buffer_max_bytes: 16 << 20,
            queue_frames: Some(1000),
            impairments: Impairments::default(),
            backup: None,
            remove_on_drop: false,
        }
    }
}

impl LabOptions {
    /// The name of the namespace for `role`.
    pub fn namespace_name(&self, role: Role) -> String {
        format!("{}-{}", self.prefix, role.suffix())
    }

    /// The name of the fifth namespace, if there is one.
    pub fn wires_name(&self) -> Option<String> {
        let is_needed = !self.impairments.is_none() || self.backup.is_some();
        is_needed.then(|| format!("{}-{}", self.prefix, wires::SUFFIX))
    }

    /// The pairs of interfaces in the fifth namespace that delay lines join, left and right.
    pub fn lines(&self) -> Vec<[WireInterface; 2]> {
        let path = self.impairments.on_path().then_some(WireInterface::PATH);
        path.into_iter().chain(self.links(true)).collect()
    }

    /// The pairs there that bridges join.
    pub(crate) fn bridges(&self) -> Vec<[WireInterface; 2]> {
        if self.backup.is_some() { self.links(false) } else { Vec::new() }
    }

    /// The links that have a rate or a delay, or those that have not.
    fn links(&self, impaired: bool) -> Vec<[WireInterface; 2]> {
        let primary = (self.impairments.on_link() == impaired).then_some(Path::Primary);
        let backup = self.backup.as_ref().filter(|backup| backup.impairments().on_link() == impaired);
        primary.into_iter().chain(backup.map(|_| Path::Backup)).map(WireInterface::of_link).collect()
    }

    /// The names of all namespaces.
    pub(crate) fn namespace_names(&self) -> Vec<String> {
        Role::ALL.iter().map(|role| self.namespace_name(*role)).chain(self.wires_name()).collect()
    }

    /// Checks everything before anything is touched.
    pub(crate) fn validate(&self) -> Result<(), BadOption> {
        self.impairments.validate()?;
        self.backup.as_ref().map_or(Ok(()), BackupLink::validate)?;
        let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let prefix = &self.prefix;
        let bad = prefix.is_empty() || prefix.len() > PREFIX_MAX || prefix.starts_with('-');
        if bad || !prefix.chars().all(ok) {
            return Err(BadOption::Prefix { prefix: prefix.clone() });
        }
        if !(HOST_MTU_MIN..=HOST_MTU_MAX).contains(&self.host_mtu) {
            return Err(BadOption::Mtu { host_mtu: self.host_mtu });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_what_is_impaired_has_a_line() {
        let mut options = LabOptions::default();
        assert!(options.lines().is_empty() && options.wires_name().is_none());
        options.impairments.link_delay = Duration::from_micros(100);
        assert_eq!(options.lines(), [WireInterface::of_link(Path::Primary)]);
        options.impairments = Impairments { delay: Duration::from_millis(1), ..Impairments::default() };
        assert_eq!(options.lines(), [WireInterface::PATH]);
        options.impairments.rate_bps = Some(1_000_000_000);
        assert_eq!(options.lines().len(), 2);
        assert!(options.bridges().is_empty());
    }

    #[test]
    fn with_a_second_link_both_pass_through_the_fifth_namespace() {
        let [primary, backup] = [Path::Primary, Path::Backup].map(WireInterface::of_link);
        let mut options = LabOptions { backup: Some(BackupLink::default()), ..LabOptions::default() };
        assert!(options.wires_name().is_some());
        assert_eq!((options.lines(), options.bridges()), (vec![], vec![primary, backup]));
        options.backup = Some(BackupLink { rate_bps: Some(100_000_000), ..BackupLink::default() });
        assert_eq!((options.lines(), options.bridges()), (vec![backup], vec![primary]));
        options.impairments.link_delay = Duration::from_millis(1);
        assert_eq!((options.lines(), options.bridges()), (vec![primary, backup], vec![]));
    }
}
