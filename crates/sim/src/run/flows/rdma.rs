//! How a run's applications use RDMA, and its cards.

use crate::host::{HostsConfig, RdmaConfig, RdmaVerb, Transport};
use crate::link::config::{ParameterError, check};
use crate::time::Time;
use linkmend_rdma::{COPIES_MAX, Mechanisms};
use linkmend_transport::roce;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What differs from one connection for each flow, between cards of LinkGuardian's testbed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RdmaSetup {
    /// Connections from each host to each other that its flows share; `None` for one of its own for each flow.
    pub queue_pairs: Option<u32>,
    /// What hosts and switches add against timeouts.
    pub mechanisms: Mechanisms,
    /// Send dummies after a flow only if the flow before it on the same connection was written longer ago than this; always
    /// by default.
    pub dummy_gap: Option<Time>,
    /// How flows are transferred.
    pub verb: RdmaVerb,
    /// Exponent of the transport timer, 4.096 us x 2^t.
    pub timeout_exponent: Option<u8>,
    /// Payload of full packets, bytes.
    pub path_mtu: Option<u16>,
    /// Most packets outstanding.
    pub window_packets: Option<u32>,
}

impl RdmaSetup {
    /// Changes hosts so.
    ///
    /// # Errors
    /// If something is set and the transport is not RDMA.
    pub(super) fn apply(&self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        let RdmaSetup { queue_pairs, mechanisms, dummy_gap, verb, .. } = *self;
        hosts.rdma = RdmaConfig { queue_pairs, mechanisms, dummy_gap: dummy_gap.unwrap_or(Time::ZERO), verb };
        if let Some(gap) = dummy_gap {
            let gap = format!("{} us", gap.as_nanos() / 1e3);
            check(mechanisms.dummies > 0, "dummy-gap", gap, "needs `rdma-mechanisms` with dummies")?;
        }
        let set = [
            ("timeout-exponent", self.timeout_exponent.map(u64::from)),
            ("mtu", self.path_mtu.map(u64::from)),
            ("window", self.window_packets.map(u64::from)),
        ];
        let Transport::Roce(card) = &mut hosts.transport else {
            if !mechanisms.is_none() {
                let given = RdmaMechanisms(mechanisms);
                return Err(ParameterError::new("rdma-mechanisms", given, "needs a transport with RDMA"));
            }
            let first = set.into_iter().find_map(|(name, value)| Some((name, value?)));
            return first.map_or(Ok(()), |(name, value)| {
                Err(ParameterError::new(name, value, "needs a transport with RDMA"))
            });
        };
        let card: &mut roce::Config = Arc::make_mut(card);
        card.timeout_exponent = self.timeout_exponent.unwrap_or(card.timeout_exponent);
        card.path_mtu = self.path_mtu.unwrap_or(card.path_mtu);
        card.window_packets = self.window_packets.unwrap_or(card.window_packets);
        card.check().map_err(|error| ParameterError { parameter: as_asked_for(error.parameter), ..error })
    }
}

/// What a parameter of a card is called where it is asked for.
fn as_asked_for(parameter: &'static str) -> &'static str {
    match parameter {
        "path_mtu" => "mtu",
        "timeout_exponent" => "timeout-exponent",
        "window_packets" => "window",
        other => other,
    }
}

/// Mechanisms as they are asked for: by a name, or by four numbers, `dummies/NAK replicas/packet replicas/tail replicas`, of
/// which the last may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RdmaMechanisms(pub Mechanisms);

impl FromStr for RdmaMechanisms {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<RdmaMechanisms, ParameterError> {
        let refused = |requirement: String| ParameterError::new("rdma-mechanisms", text, requirement);
        let numbers: Option<Vec<u32>> = text.split('/').map(|number| number.parse().ok()).collect();
        let most = numbers.iter().flatten().max().copied().unwrap_or(0);
        if text.contains('/') && most > u32::from(COPIES_MAX) {
            return Err(refused(format!("each number must be at most {COPIES_MAX}")));
        }
        let numbers: Option<Vec<u8>> =
            numbers.map(|numbers| numbers.into_iter().map(|number| number as u8).collect());
        let mechanisms = match numbers.as_deref() {
            Some([dummies, nak_replicas, packet_replicas, rest @ ..]) if rest.len() <= 1 => Mechanisms {
                dummies: *dummies,
                nak_replicas: *nak_replicas,
                packet_replicas: *packet_replicas,
                tail_replicas: rest.first().copied().unwrap_or(0),
            },
            _ => {
                let names = Mechanisms::NAMED.map(|(name, _)| name).join(", ");
                let numbers = "dummies/NAK replicas/packet replicas/tail replicas, such as 2/1/3/0";
                text.parse().map_err(|_| refused(format!("must be one of {names}, or {numbers}")))?
            }
        };
        Ok(RdmaMechanisms(mechanisms))
    }
}

impl fmt::Display for RdmaMechanisms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mechanisms { dummies, nak_replicas, packet_replicas, tail_replicas } = self.0;
        match self.0.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{dummies}/{nak_replicas}/{packet_replicas}/{tail_replicas}"),
        }
    }
}
