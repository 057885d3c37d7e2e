//! Ports that flap because of what they have in common over hours: the type of their transceivers.

use super::{Agent, Decision, DecisionKind};
use std::collections::BTreeSet;
use std::time::Duration;

/// Flaps of a port within 24 hours that make it one that flaps.
const FLAPS_LEAST: u32 = 2;
/// Ports of one type that flap by chance, if they are fewer.
const PORTS_LEAST: u64 = 3;

/// Maker and part number.
type Kind = (String, String);

/// Types of which it was told that they flap.
#[derive(Debug, Default)]
pub(super) struct ModuleFlaps {
    told: BTreeSet<Kind>,
}

/// Ports that flap, of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share {
    flapping: u64,
    of: u64,
}

/// Whether it is the type: at least half of its ports flap, and a port of another type does so at most half as often.
fn is_common(of_kind: Share, others: Share) -> bool {
    let is_most = of_kind.flapping >= PORTS_LEAST && 2 * of_kind.flapping >= of_kind.of;
    // Both shares with the product of the denominators.
    is_most && 2 * others.flapping * of_kind.of <= of_kind.flapping * others.of
}

impl Agent {
    /// Tells that ports of one type flap, after `port` has.
    pub(super) fn tell_module_flaps(&mut self, now: Duration, port: &str) {
        let Some(kind) = self.optics.kind(port) else { return };
        let (mut of_kind, mut others) = (Share::default(), Share::default());
        for (name, of) in self.optics.kinds() {
            let share = if of == kind { &mut of_kind } else { &mut others };
            share.of += 1;
            share.flapping += u64::from(self.flapping.count(now, name) >= FLAPS_LEAST);
        }
        let kind = (kind.0.to_owned(), kind.1.to_owned());
        if !is_common(of_kind, others) {
            self.module_flaps.told.remove(&kind);
        } else if self.module_flaps.told.insert(kind.clone())
            && let Some(watched) = self.ports.get(port)
        {
            let (vendor, part) = kind;
            let Share { flapping: ports, of } = of_kind;
            let kind = DecisionKind::FlapsOfModules { vendor, part, ports, of };
            self.decisions.push_back(Decision::of_flaps(now, watched.name().clone(), kind));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cabling;
    use crate::agent::Policy;
    use crate::counters::Reading;
    use crate::optics::{Module, OpticsReading};

    #[test]
    fn most_of_a_type_and_few_of_the_others_make_it_the_type() {
        let share = |flapping, of| Share { flapping, of };
        assert!(is_common(share(12, 14), share(0, 0)) && is_common(share(12, 14), share(5, 14)));
        assert!(!is_common(share(12, 14), share(7, 14)), "it is the switch");
        assert!(!is_common(share(2, 2), share(0, 14)) && !is_common(share(6, 14), share(0, 14)));
    }

    /// Polls of eight ports; those with even numbers have the first type. The given ports flap once each hour.
    fn told(flapping: &[usize], hours: u64) -> Vec<String> {
        let cabling = Cabling::new([]).expect("no contradiction");
        let mut agent = Agent::new("a", Policy::default(), cabling);
        let mut readings =
            [Reading { corrupted_frames: Some(0), carrier_changes: Some(0), ..Reading::default() }; 8];
        let (mut now, mut told) = (Duration::ZERO, Vec::new());
        for poll in 0..hours * 60 {
            now += Duration::from_mins(1);
            for (port, reading) in readings.iter_mut().enumerate() {
                reading.good_frames += 1_000;
                // A minute apart, so that they do not flap at once.
                let flaps = flapping.contains(&port) && poll % 60 == 5 * port as u64 + 3;
                reading.carrier_changes =
                    reading.carrier_changes.map(|changes| changes + 2 * u64::from(flaps));
            }
            let name = |port: usize| format!("p{port}");
            agent.handle_readings(now, (0..8).map(|port| (name(port), readings[port])));
            let optics = (0..8).map(|port| {
                let part = if port % 2 == 0 { "SR4" } else { "LR4" };
                let module = Module::new("ACME", part, &port.to_string());
                (name(port), Some(OpticsReading { module, ..OpticsReading::default() }))
            });
            agent.handle_optics(now, optics);
            while let Some(decision) = agent.poll_decision() {
                if matches!(decision.kind, DecisionKind::FlapsOfModules { .. }) {
                    told.push(decision.to_string());
                }
            }
        }
        told
    }

    #[test]
    fn ports_of_one_type_that_flap_are_told_once() {
        let text = "3 of 4 ports with ACME SR4 have flapped within 24 h, others rarely: suspect that type of transceiver";
        let of_type = told(&[0, 2, 4], 12);
        assert_eq!(of_type.len(), 1, "{of_type:?}");
        assert!(of_type[0].starts_with("a/p") && of_type[0].ends_with(text), "{of_type:?}");
        assert_eq!(told(&[0, 2, 1, 3], 12), [""; 0], "two of each");
        assert_eq!(told(&[0, 2], 12), [""; 0]);
    }
}
