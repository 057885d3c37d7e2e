//! What is known of one interface, and the reading that follows from it.

use super::clock::{DeviceClock, Fault};
use super::path::Leaf;
use super::subscription::Group;
use super::value::Scalar;
use crate::counters::{FecCode, FecReading, LANES_MOST, Lanes, Reading};
use crate::source::complaints::Trouble;
use crate::source::names::Counter;
use std::collections::BTreeMap;
use std::time::Duration;

/// A sample is complete once nothing of it has come for this long: devices send it in several messages.
const SETTLED: Duration = Duration::from_millis(200);
/// A port of which something comes all the time is read this long after the first of it.
const HELD_MOST: Duration = Duration::from_secs(2);

/// The type of interfaces that are the end of a cable (IANA).
const ETHERNET: &str = "ethernetCsmacd";
/// Longest name of a transceiver.
const NAME_LENGTH_MOST: usize = 255;

/// A value, and which subscription it came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub value: u64,
    pub by: By,
}

/// A subscription, and how often it had been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct By {
    pub group: Group,
    pub session: u64,
}

/// Numbers by their leaves.
pub(super) type Leaves = BTreeMap<Leaf, Held>;

/// Which counters a reading was made of, and since when they count. The difference between readings of two kinds would mean
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Origin {
    chosen: Vec<Leaf>,
    transceiver: Option<String>,
    last_clear: Option<u64>,
    boot_time: Option<u64>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Port {
    leaves: Leaves,
    transceiver: Option<String>,
    /// How often it was seen to go up or down.
    flaps: u64,
    /// The same when it was read last.
    flaps_read: u64,
    /// When the first and the latest news came that no reading has yet.
    news: Option<(Duration, Duration)>,
    /// When the latest sample came, and its stamp, if no reading has it yet.
    sample: Option<(Duration, i64)>,
    clock: DeviceClock,
    origin: Origin,
    epoch: u64,
    read: Option<Reading>,
}

impl Port {
    /// Takes a value that came at `now` with this stamp.
    ///
    /// # Errors
    /// If it is not what such a leaf has.
    pub fn handle_value(
        &mut self,
        now: Duration,
        stamp_ns: i64,
        leaf: Leaf,
        scalar: &Scalar,
        by: By,
    ) -> Result<(), Trouble> {
        if leaf == Leaf::Transceiver {
            self.transceiver =
                scalar.identity().filter(|name| name.len() <= NAME_LENGTH_MOST).map(str::to_owned);
            return Ok(());
        }
        let value = number(leaf, scalar)?;
        let before = self.leaves.insert(leaf, Held { value, by });
        if leaf == Leaf::OperStatus && before.is_some_and(|before| (before.value == UP) != (value == UP)) {
            self.flaps += 1;
        }
        if matches!(leaf, Leaf::Counter(..) | Leaf::Lane(_)) {
            self.sample = Some((now, self.sample.map_or(stamp_ns, |(_, before)| before.max(stamp_ns))));
        }
        self.news = Some((self.news.map_or(now, |(first, _)| first), now));
        Ok(())
    }

    /// Forgets the leaves for which this is true.
    pub fn remove(&mut self, now: Duration, mut is_gone: impl FnMut(Leaf, Option<By>) -> bool) {
        let before = self.leaves.len();
        self.leaves.retain(|&leaf, held| !is_gone(leaf, Some(held.by)));
        if self.transceiver.is_some() && is_gone(Leaf::Transceiver, None) {
            self.transceiver = None;
        }
        if self.leaves.len() < before {
            self.news = Some((self.news.map_or(now, |(first, _)| first), now));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    pub fn transceiver(&self) -> Option<&str> {
        self.transceiver.as_deref()
    }

    /// Whether it may be the end of a cable.
    pub fn is_ethernet(&self) -> bool {
        self.value(Leaf::Kind).is_none_or(|kind| kind == 1)
    }

    /// Its latest reading at `now`: a new one if something has come and is complete. `module` has the counters of its
    /// transceiver, if that is no other port's.
    pub fn poll_reading(
        &mut self,
        now: Duration,
        module: Option<&Leaves>,
        boot_time: Option<u64>,
        troubles: &mut Vec<Trouble>,
    ) -> Option<Reading> {
        let is_due = self.news.is_some_and(|(first, latest)| {
            now >= latest.saturating_add(SETTLED) || now >= first.saturating_add(HELD_MOST)
        });
        if is_due {
            self.news = None;
            self.read = self.read_anew(module, boot_time, troubles);
        }
        self.read
    }

    fn read_anew(
        &mut self,
        module: Option<&Leaves>,
        boot_time: Option<u64>,
        troubles: &mut Vec<Trouble>,
    ) -> Option<Reading> {
        if let Some((came, stamp_ns)) = self.sample.take()
            && let Err(fault) = self.clock.handle_stamp(came, stamp_ns)
        {
            troubles.push(of_clock(fault, stamp_ns));
        }
        let mut chosen = Vec::new();
        let reading = self.counted(module, &mut chosen, troubles)?;
        let origin = Origin {
            chosen,
            transceiver: self.transceiver.clone().filter(|_| module.is_some()),
            last_clear: self.value(Leaf::LastClear),
            boot_time,
        };
        if self.origin != origin {
            self.origin = origin;
            self.epoch += 1;
        }
        // A flap is known at once, and what it did to the counters only with the next sample. With the number of the reading
        // before added, the number changes in both readings that may have some of it.
        let seen = self.flaps + std::mem::replace(&mut self.flaps_read, self.flaps);
        let carrier_changes = reading.carrier_changes.unwrap_or_default().wrapping_add(seen);
        let taken_ns = u64::try_from(self.clock.passed().as_nanos()).ok();
        Some(Reading { carrier_changes: Some(carrier_changes), epoch: Some(self.epoch), taken_ns, ..reading })
    }

    /// What the counters say, and which of them were chosen.
    fn counted(
        &self,
        module: Option<&Leaves>,
        chosen: &mut Vec<Leaf>,
        troubles: &mut Vec<Trouble>,
    ) -> Option<Reading> {
        let mut of = |counter: Counter| {
            let paths = 0..u8::try_from(counter.names().openconfig.len()).unwrap_or(u8::MAX);
            let (leaf, held) = paths.map(|at| Leaf::Counter(counter, at)).find_map(|leaf| {
                let held = self.leaves.get(&leaf).or_else(|| module?.get(&leaf))?;
                Some((leaf, held.value))
            })?;
            chosen.push(leaf);
            Some(held)
        };
        let errors = of(Counter::Errors);
        let usual = of(Counter::CheckSequenceUsualLength);
        let others = [Counter::Fragments, Counter::Jabbers].map(&mut of);
        // The same frames, counted by two models. A device that has both may leave one of them at 0.
        let wrong = usual.map(|usual| others.into_iter().flatten().fold(usual, u64::saturating_add));
        let wrong = of(Counter::CheckSequence).max(wrong);
        let lengths = [Counter::Oversize, Counter::Undersize].map(&mut of).into_iter().flatten();
        let lengths = lengths.reduce(u64::saturating_add).filter(|_| wrong.is_none());
        // `in-pkts` has bad frames among them, and the other three do not.
        let apart = [Counter::Unicast, Counter::Multicast, Counter::Broadcast].map(&mut of);
        let apart = apart.into_iter().try_fold(0_u64, |sum, count| sum.checked_add(count?));
        let all = of(Counter::AllFrames).map(|all| all.saturating_sub(errors.or(wrong).unwrap_or_default()));
        let Some(good_frames) = apart.or(all) else {
            troubles.push(Trouble::new(
                "has neither in-pkts nor in-unicast-pkts, in-multicast-pkts and in-broadcast-pkts",
            ));
            return None;
        };
        if wrong.or(errors).is_none() {
            let rule = "has no in-fcs-errors, in-crc-errors or in-errors, so its link cannot be judged";
            troubles.push(Trouble::new(rule));
        }
        let fec = FecReading {
            corrected_codewords: of(Counter::CorrectedCodewords),
            uncorrectable_codewords: of(Counter::Uncorrectable),
            corrected_bits: of(Counter::CorrectedBits),
            lane_corrected_bits: self.lanes(),
            ..FecReading::default()
        };
        Some(Reading {
            good_frames,
            corrupted_frames: wrong.or(errors),
            symbol_errors: of(Counter::SymbolErrors),
            not_corrupted: lengths,
            up: self.value(Leaf::OperStatus).filter(|&status| status <= UP).map(|status| status == UP),
            carrier_changes: of(Counter::Transitions),
            speed: [Leaf::NegotiatedSpeed, Leaf::Speed]
                .into_iter()
                .filter_map(|leaf| self.value(leaf))
                .find(|&speed| speed > 0),
            code: self.value(Leaf::FecMode).and_then(code_of),
            fec: (fec != FecReading::default()).then_some(fec),
            ..Reading::default()
        })
    }

    fn lanes(&self) -> Option<Lanes> {
        let lane = |(leaf, held): (&Leaf, &Held)| matches!(leaf, Leaf::Lane(_)).then_some(held.value);
        Lanes::new(self.leaves.iter().filter_map(lane).take(LANES_MOST + 1))
    }

    fn value(&self, leaf: Leaf) -> Option<u64> {
        self.leaves.get(&leaf).map(|held| held.value)
    }
}

/// States of a port, as they are held.
const DOWN: u64 = 0;
const UP: u64 = 1;
const UNKNOWN: u64 = 2;

/// A leaf's value as a number.
fn number(leaf: Leaf, scalar: &Scalar) -> Result<u64, Trouble> {
    let named = |of: fn(&str) -> Option<u64>, what: &str| {
        let value = scalar.identity().and_then(of);
        value
            .ok_or_else(|| Trouble::with(format!("its {what} is none that OpenConfig knows"), scalar.shown()))
    };
    match leaf {
        Leaf::OperStatus => named(status, "oper-status"),
        Leaf::Kind => named(|name| Some(u64::from(name == ETHERNET)), "type"),
        Leaf::Speed | Leaf::NegotiatedSpeed => named(speed, "port-speed"),
        Leaf::FecMode => named(mode, "fec-mode"),
        _ => scalar.number().ok_or_else(|| {
            let name = match leaf {
                Leaf::Counter(counter, at) => counter.names().openconfig[usize::from(at)],
                Leaf::Lane(_) => "raw-errors",
                _ => "last-clear",
            };
            Trouble::with(format!("its {name} is not a whole number of at most 64 bits"), scalar.shown())
        }),
    }
}

fn status(name: &str) -> Option<u64> {
    Some(match name {
        "UP" => UP,
        "UNKNOWN" => UNKNOWN,
        "DOWN" | "TESTING" | "DORMANT" | "NOT_PRESENT" | "LOWER_LAYER_DOWN" => DOWN,
        _ => return None,
    })
}

/// `SPEED_100GB` in bit/s; 0 if the device does not know.
fn speed(name: &str) -> Option<u64> {
    let speed = name.strip_prefix("SPEED_")?;
    if speed == "UNKNOWN" {
        return Some(0);
    }
    let unit = [("MB", 1_000_000), ("GB", 1_000_000_000)].into_iter();
    unit.filter_map(|(unit, bits)| speed.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(bits)).next()
}

/// Modes of forward error correction, as they are held.
const RS528: u64 = 1;
const RS544: u64 = 2;
const OTHER: u64 = 3;
const AUTOMATIC: u64 = 4;

fn mode(name: &str) -> Option<u64> {
    Some(match name {
        "FEC_RS528" => RS528,
        "FEC_FC" | "FEC_DISABLED" => OTHER,
        "FEC_AUTO" => AUTOMATIC,
        name if name.starts_with("FEC_RS544") => RS544,
        _ => return None,
    })
}

fn code_of(mode: u64) -> Option<FecCode> {
    match mode {
        RS528 => Some(FecCode::Rs528),
        RS544 => Some(FecCode::Rs544),
        OTHER => Some(FecCode::Other),
        _ => None,
    }
}

fn of_clock(fault: Fault, stamp_ns: i64) -> Trouble {
    let what = match fault {
        Fault::WentBack => {
            "its device's clock was set back, so this machine's is used for the sample after it"
        }
        Fault::JumpedAhead => {
            "its device's clock was set forward, so this machine's is used for the sample after it"
        }
        Fault::NoTime => "its device's time stamps do not advance, so this machine's clock is used",
    };
    Trouble::with(what, stamp_ns.to_string())
}
