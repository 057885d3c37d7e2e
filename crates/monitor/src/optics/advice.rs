//! What to repair, where, and why.
//!
//! The order of the questions is that of CorrOpt's recommendations (Zhuo et al., "Understanding and Mitigating Packet
//! Corruption in Data Center Networks", SIGCOMM 2017, section 5): a weak transmitter, then a path that loses light in both
//! directions (bent or damaged fibre) or in one (dirty connector), then, with enough light, something that links share, and
//! at last a transceiver that is loose or broken.

use super::condition::{Condition, OpticsFinding, Side};
use crate::PortName;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// Clean the connectors of the fibre that ends here, and replace the cable if that does not help.
    CleanConnectors,
    ReplaceCable,
    ReplaceTransceiver,
    /// Take the transceiver out and put it back, and replace it if that does not help.
    ReseatTransceiver,
    CheckCooling,
    /// Too much light arrives: the reach of the optics does not fit the cable.
    Attenuate,
}

impl Repair {
    /// Its name in JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Repair::CleanConnectors => "clean-connectors",
            Repair::ReplaceCable => "replace-cable",
            Repair::ReplaceTransceiver => "replace-transceiver",
            Repair::ReseatTransceiver => "reseat-transceiver",
            Repair::CheckCooling => "check-cooling",
            Repair::Attenuate => "attenuate",
        }
    }
}

/// What to repair at which port, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Advice {
    pub repair: Repair,
    /// The port where.
    pub at: PortName,
    pub ground: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Advice { repair, at, ground } = self;
        match repair {
            Repair::CleanConnectors => {
                write!(f, "clean the connectors of the cable to {at}, else replace it")?
            }
            Repair::ReplaceCable => write!(f, "replace the cable to {at}")?,
            Repair::ReplaceTransceiver => write!(f, "replace the transceiver at {at}")?,
            Repair::ReseatTransceiver => write!(f, "reseat the transceiver at {at}, else replace it")?,
            Repair::CheckCooling => write!(f, "check the cooling at {at}")?,
            Repair::Attenuate => write!(f, "attenuate the light to {at}")?,
        }
        write!(f, " ({ground})")
    }
}

/// What is known of a link that corrupts frames in one direction.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub receiver: &'a PortName,
    pub sender: Option<&'a PortName>,
    /// The optics at the receiver, and at the sender if they are known.
    pub own: &'a OpticsFinding,
    pub peer: Option<&'a OpticsFinding>,
    /// Whether the module at the receiver was reseated or replaced recently.
    pub was_handled: bool,
    /// Ports in that module that corrupt, with this one.
    pub ports_of_module: u32,
    /// Whether the link corrupts frames in the other direction as well.
    pub both_directions: bool,
}

/// What to do about a link that corrupts frames; `None` if its optics say nothing about that.
pub fn advise(case: &Case<'_>) -> Option<Advice> {
    let Case { receiver, sender, own, .. } = *case;
    let peer = case.peer.copied().unwrap_or_default();
    let advice = |repair, at: &PortName, ground| Some(Advice { repair, at: at.clone(), ground });
    if let Some(sender) = sender {
        let sent = peer.sent.and_then(|sent| sent.to(Side::Low).copied());
        let bias = peer.bias.and_then(|bias| bias.to(Side::High).copied());
        if sent.is_some() || bias.is_some() {
            let only = OpticsFinding {
                sent: sent.map(Condition::Abnormal),
                bias: bias.map(Condition::Abnormal),
                ..OpticsFinding::default()
            };
            return advice(Repair::ReplaceTransceiver, sender, told(&only));
        }
    }
    if own.received.is_some_and(|received| received.to(Side::Low).is_some()) {
        return too_little_light(case, &peer);
    }
    let own_received = told(&OpticsFinding { received: own.received, ..OpticsFinding::default() });
    if own.received.is_some_and(|received| received.to(Side::High).is_some()) {
        return advice(Repair::Attenuate, receiver, own_received);
    }
    if case.ports_of_module > 1 {
        let ground = format!("{} ports in this transceiver corrupt frames", case.ports_of_module);
        return advice(Repair::ReplaceTransceiver, receiver, ground);
    }
    for (at, finding) in [(Some(receiver), own), (sender, &peer)] {
        let hot = finding.temperature.filter(|temperature| temperature.to(Side::High).is_some());
        if let (Some(at), Some(_)) = (at, hot) {
            let only = OpticsFinding { temperature: hot, ..OpticsFinding::default() };
            return advice(Repair::CheckCooling, at, told(&only));
        }
    }
    // Without a received power there is no evidence that enough light arrives.
    own.received?;
    let directions = if case.both_directions { ", in both directions" } else { "" };
    match case.was_handled {
        true => {
            let ground =
                format!("enough light arrives{directions}, and the transceiver was reseated recently");
            advice(Repair::ReplaceTransceiver, receiver, ground)
        }
        false => advice(Repair::ReseatTransceiver, receiver, format!("enough light arrives{directions}")),
    }
}

/// The path loses light, in one direction or in both.
fn too_little_light(case: &Case<'_>, peer: &OpticsFinding) -> Option<Advice> {
    let Case { receiver, sender, own, .. } = *case;
    let mut ground = told(&OpticsFinding { received: own.received, ..OpticsFinding::default() });
    let other = peer.received.and_then(|received| received.to(Side::Low).copied());
    let repair = match (other, peer.received) {
        (Some(other), _) => {
            let only =
                OpticsFinding { received: Some(Condition::Abnormal(other)), ..OpticsFinding::default() };
            ground.push_str(&format!("; at the other end, {}", told(&only)));
            Repair::ReplaceCable
        }
        (None, None) if case.both_directions => {
            ground.push_str("; frames are corrupted in both directions");
            Repair::ReplaceCable
        }
        _ => Repair::CleanConnectors,
    };
    ground.push_str(&match (peer.sent, sender) {
        (Some(_), Some(sender)) => format!("; the transmit power of {sender} is normal"),
        _ => "; the transmit power of the other end is unknown".to_owned(),
    });
    Some(Advice { repair, at: receiver.clone(), ground })
}

fn told(finding: &OpticsFinding) -> String {
    finding.abnormalities().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::condition::{Deviation, Reference};
    use super::*;

    fn deviating(side: Side) -> Option<Condition> {
        let deviation = Deviation {
            side,
            lane: 1,
            lanes: 1,
            of_lanes: 1,
            value: -9.0,
            reference: Reference::Warning,
            reference_value: -8.0,
            for_s: 0,
        };
        Some(Condition::Abnormal(deviation))
    }

    const NORMAL: Option<Condition> = Some(Condition::Normal);

    fn finding(received: Option<Condition>, sent: Option<Condition>) -> OpticsFinding {
        OpticsFinding { received, sent, ..OpticsFinding::default() }
    }

    /// What is advised, and at which end.
    fn advised(
        own: OpticsFinding,
        peer: Option<OpticsFinding>,
        change: fn(&mut Case<'_>),
    ) -> Option<(Repair, String)> {
        let [receiver, sender] = ["leaf/a", "spine/b"].map(|name| name.parse().expect("a port"));
        let mut case = Case {
            receiver: &receiver,
            sender: Some(&sender),
            own: &own,
            peer: peer.as_ref(),
            was_handled: false,
            ports_of_module: 1,
            both_directions: false,
        };
        change(&mut case);
        advise(&case).map(|advice| (advice.repair, advice.at.to_string()))
    }

    fn at(repair: Repair, port: &str) -> Option<(Repair, String)> {
        Some((repair, port.to_owned()))
    }

    #[test]
    fn light_that_gets_lost_in_one_direction_is_dirt_and_in_both_a_cable() {
        let (low, as_usual) = (finding(deviating(Side::Low), NORMAL), finding(NORMAL, NORMAL));
        let clean = at(Repair::CleanConnectors, "leaf/a");
        assert_eq!(advised(low, Some(as_usual), |_| {}), clean);
        assert_eq!(advised(low, None, |_| {}), clean);
        let cable = at(Repair::ReplaceCable, "leaf/a");
        assert_eq!(advised(low, Some(low), |_| {}), cable);
        assert_eq!(advised(low, None, |case| case.both_directions = true), cable);
        // The other direction has its light, so it is another fault there.
        assert_eq!(advised(low, Some(as_usual), |case| case.both_directions = true), clean);
    }

    #[test]
    fn a_weak_or_worn_laser_is_replaced_where_it_is() {
        let replace = at(Repair::ReplaceTransceiver, "spine/b");
        let low = finding(deviating(Side::Low), NORMAL);
        assert_eq!(advised(low, Some(finding(NORMAL, deviating(Side::Low))), |_| {}), replace);
        let worn = OpticsFinding { bias: deviating(Side::High), ..finding(NORMAL, NORMAL) };
        assert_eq!(advised(finding(NORMAL, NORMAL), Some(worn), |_| {}), replace);
        // The receiver's own laser is not in this direction.
        let own = OpticsFinding { bias: deviating(Side::High), ..finding(NORMAL, deviating(Side::Low)) };
        assert_eq!(advised(own, None, |_| {}), at(Repair::ReseatTransceiver, "leaf/a"));
    }

    #[test]
    fn enough_light_leaves_the_transceiver_its_cooling_and_what_ports_share() {
        let normal = finding(NORMAL, NORMAL);
        let reseat = at(Repair::ReseatTransceiver, "leaf/a");
        assert_eq!(advised(normal, Some(normal), |_| {}), reseat);
        let replace = at(Repair::ReplaceTransceiver, "leaf/a");
        assert_eq!(advised(normal, None, |case| case.was_handled = true), replace);
        assert_eq!(advised(normal, None, |case| case.ports_of_module = 2), replace);
        let hot = OpticsFinding { temperature: deviating(Side::High), ..normal };
        assert_eq!(advised(normal, Some(hot), |_| {}), at(Repair::CheckCooling, "spine/b"));
        let bright = finding(deviating(Side::High), NORMAL);
        assert_eq!(advised(bright, None, |_| {}), at(Repair::Attenuate, "leaf/a"));
    }

    #[test]
    fn nothing_is_suggested_without_evidence() {
        assert_eq!(advised(OpticsFinding::default(), None, |_| {}), None);
        assert_eq!(advised(OpticsFinding::default(), Some(finding(NORMAL, NORMAL)), |_| {}), None);
        let sent = finding(None, NORMAL);
        assert_eq!(advised(sent, None, |case| case.both_directions = true), None);
    }
}
