//! What hosts and switches add so that timeouts become retransmissions.

use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Most copies and dummies of one kind.
pub const COPIES_MAX: u8 = 15;

/// Copies and dummies. The default has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mechanisms {
    /// Copies of each NAK, made by the responder's first switch (section 4.1).
    pub nak_replicas: u8,
    /// Copies of the packet that a NAK asks for, made by the requester's first switch (section 4.2).
    pub packet_replicas: u8,
    /// Messages without bytes behind each flow, sent by the requester (section 4.3).
    pub dummies: u8,
    /// Copies of each flow's last packet, sent by the requester ("Repeat" in section 6.3).
    pub tail_replicas: u8,
}

impl Mechanisms {
    /// Nothing added.
    pub const NONE: Mechanisms =
        Mechanisms { nak_replicas: 0, packet_replicas: 0, dummies: 0, tail_replicas: 0 };
    /// "All" of section 6.3.
    pub const ALL: Mechanisms =
        Mechanisms { nak_replicas: 1, packet_replicas: 3, dummies: 2, tail_replicas: 0 };
    /// "All Optimized" of section 6.3.
    pub const ALL_OPTIMIZED: Mechanisms =
        Mechanisms { nak_replicas: 2, packet_replicas: 4, dummies: 3, tail_replicas: 0 };
    /// What the testbed had (section 6.3, Figure 11b).
    pub const TESTBED: Mechanisms =
        Mechanisms { nak_replicas: 1, packet_replicas: 1, dummies: 2, tail_replicas: 0 };
    /// The names under which they are asked for, in the order of Figure 12.
    pub const NAMED: [(&'static str, Mechanisms); 8] = [
        ("none", Mechanisms::NONE),
        ("nak", Mechanisms { nak_replicas: 1, ..Mechanisms::NONE }),
        ("twice", Mechanisms { packet_replicas: 3, ..Mechanisms::NONE }),
        ("dummy", Mechanisms { dummies: 2, ..Mechanisms::NONE }),
        ("repeat", Mechanisms { tail_replicas: 2, ..Mechanisms::NONE }),
        ("all", Mechanisms::ALL),
        ("all-optimized", Mechanisms::ALL_OPTIMIZED),
        ("testbed", Mechanisms::TESTBED),
    ];

    /// Whether nothing is added.
    pub fn is_none(&self) -> bool {
        *self == Mechanisms::NONE
    }

    /// The name of these mechanisms, if the paper has them.
    pub fn name(&self) -> Option<&'static str> {
        Mechanisms::NAMED.iter().find(|(_, mechanisms)| mechanisms == self).map(|(name, _)| *name)
    }

    /// # Errors
    /// The first number that is too large.
    pub fn validate(&self) -> Result<(), ParameterError> {
        for (name, value) in [
            ("nak-replicas", self.nak_replicas),
            ("packet-replicas", self.packet_replicas),
            ("dummies", self.dummies),
            ("tail-replicas", self.tail_replicas),
        ] {
            if value > COPIES_MAX {
                return Err(ParameterError::new(name, value, "must be at most 15"));
            }
        }
        Ok(())
    }
}

impl FromStr for Mechanisms {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Mechanisms, ParameterError> {
        let named = Mechanisms::NAMED.iter().find(|(name, _)| *name == text);
        named.map(|(_, mechanisms)| *mechanisms).ok_or_else(|| {
            let names = Mechanisms::NAMED.map(|(name, _)| name).join(", ");
            ParameterError::new("mechanisms", text, format!("must be one of {names}"))
        })
    }
}
