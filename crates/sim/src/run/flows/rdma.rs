//! What hosts and switches add to RDMA, by name.

use crate::link::config::ParameterError;
use linkmend_rdma::{COPIES_MAX, Mechanisms};
use std::fmt;
use std::str::FromStr;

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
