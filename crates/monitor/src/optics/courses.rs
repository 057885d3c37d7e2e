//! Drawn links with known faults: what is suggested for them.

use super::*;
use crate::PortName;
use linkmend_random::Random;
use std::time::Duration;

const LINKS: u64 = 40;
const LANES: usize = 4;
const INTERVAL: Duration = Duration::from_mins(5);
const HEALTHY_FOR: Duration = Duration::from_hours(3 * 24);
const SICK_FOR: Duration = Duration::from_hours(2);
/// Standard deviation of readings of an unchanged power, and what one reading may be off, in dB.
const NOISE_DB: f64 = 0.15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A dirty connector takes light from one direction.
    Dirt,
    /// A bent fibre takes it from both.
    Bend,
    WeakLaser,
    /// A laser that needs more and more current for the same light.
    WornLaser,
    Heat,
    Loose,
    /// A copper cable, of which nothing is measured.
    Copper,
}

/// A link: `sender` to `receiver`, and back.
struct Link {
    random: Random,
    has_thresholds: bool,
    sent_dbm: [f32; LANES],
    lost_db: [f32; LANES],
    /// How much the fault takes, and from which lane; from all if that is none of them.
    depth_db: f32,
    lane: usize,
    fault: Option<Fault>,
}

impl Link {
    fn new(seed: u64) -> Link {
        let mut random = Random::new(seed, "optics");
        let mut between = |low: f64, high: f64| (low + (high - low) * random.uniform()) as f32;
        let sent_dbm = std::array::from_fn(|_| between(-3.0, 2.0));
        let lost_db = std::array::from_fn(|_| between(0.5, 3.5));
        let depth_db = between(3.0, 12.0);
        let lane = between(0.0, 2.0 * LANES as f64) as usize;
        Link {
            random,
            has_thresholds: seed.is_multiple_of(2),
            sent_dbm,
            lost_db,
            depth_db,
            lane,
            fault: None,
        }
    }

    fn noise(&mut self) -> f32 {
        // The sum of twelve uniform numbers is nearly normal, with variance 1.
        let sum: f64 = (0..12).map(|_| self.random.uniform()).sum();
        ((sum - 6.0) * NOISE_DB) as f32
    }

    /// What the receiver and the sender read.
    fn readings(&mut self) -> [OpticsReading; 2] {
        [true, false].map(|is_receiver| self.reading(is_receiver))
    }

    fn reading(&mut self, is_receiver: bool) -> OpticsReading {
        let is_hit = |lane| self.lane >= LANES || lane == self.lane;
        let fault = |lane| self.fault.filter(|_| is_hit(lane));
        let (depth, sent_dbm, lost_db) = (self.depth_db, self.sent_dbm, self.lost_db);
        let exact: [Lane; LANES] = std::array::from_fn(|lane| {
            let (mut received, mut sent, mut bias) = (sent_dbm[lane] - lost_db[lane], sent_dbm[lane], 7.0);
            match (fault(lane), is_receiver) {
                (Some(Fault::Dirt | Fault::WeakLaser), true) => received -= depth,
                (Some(Fault::WeakLaser), false) => sent -= depth,
                (Some(Fault::WornLaser), false) => bias *= 1.7,
                _ => {}
            }
            if self.fault == Some(Fault::Bend) {
                received -= depth;
            }
            Lane { received_dbm: Some(received), sent_dbm: Some(sent), bias_ma: Some(bias) }
        });
        let mut lanes = exact.to_vec();
        for lane in &mut lanes {
            lane.received_dbm = lane.received_dbm.map(|power| power + self.noise());
            lane.sent_dbm = lane.sent_dbm.map(|power| power + self.noise());
        }
        let is_hot = self.fault == Some(Fault::Heat) && !is_receiver;
        let limits =
            |low, high| Limits { low_warning: Some(low), high_alarm: Some(high), ..Limits::default() };
        let thresholds = Thresholds {
            temperature: limits(-5.0, 75.0),
            received: if self.has_thresholds { limits(-9.5, 4.0) } else { Limits::default() },
            sent: if self.has_thresholds { limits(-6.5, 5.0) } else { Limits::default() },
            ..Thresholds::default()
        };
        if self.fault == Some(Fault::Copper) {
            lanes.clear();
        }
        let temperature_c = Some(if is_hot { 81.0 } else { 44.0 });
        OpticsReading {
            module: Module::new("ACME", "SR4", "1"),
            temperature_c,
            voltage_v: None,
            lanes,
            thresholds,
        }
    }
}

/// What is suggested for a link that has this fault after some days: at the receiver or at the sender.
fn suggested(seed: u64, fault: Fault) -> Option<(Repair, bool)> {
    let mut link = Link::new(seed);
    link.fault = (fault == Fault::Copper).then_some(fault);
    let mut ends = [PortOptics::default(), PortOptics::default()];
    let mut now = Duration::ZERO;
    while now < HEALTHY_FOR + SICK_FOR {
        if now >= HEALTHY_FOR {
            link.fault = Some(fault);
        }
        for (end, reading) in ends.iter_mut().zip(link.readings()) {
            let changes = end.handle_reading(now, true, reading);
            assert!(!changes || now >= HEALTHY_FOR, "seed {seed}: {:?}", end.finding().abnormalities());
        }
        now += INTERVAL;
    }
    let [receiver, sender]: [PortName; 2] = ["leaf/a", "spine/b"].map(|name| name.parse().expect("a port"));
    let case = Case {
        receiver: &receiver,
        sender: Some(&sender),
        own: &ends[0].finding(),
        peer: Some(&ends[1].finding()),
        was_handled: false,
        ports_of_module: 1,
        both_directions: fault == Fault::Bend,
    };
    advise(&case).map(|advice| (advice.repair, advice.at == receiver))
}

#[test]
fn each_fault_has_its_repair_at_its_end_with_and_without_thresholds() {
    for (fault, expected) in [
        (Fault::Dirt, Some((Repair::CleanConnectors, true))),
        (Fault::Bend, Some((Repair::ReplaceCable, true))),
        (Fault::WeakLaser, Some((Repair::ReplaceTransceiver, false))),
        (Fault::WornLaser, Some((Repair::ReplaceTransceiver, false))),
        (Fault::Heat, Some((Repair::CheckCooling, false))),
        (Fault::Loose, Some((Repair::ReseatTransceiver, true))),
        (Fault::Copper, None),
    ] {
        for seed in 0..LINKS {
            assert_eq!(suggested(seed, fault), expected, "seed {seed}: {fault:?}");
        }
    }
}
