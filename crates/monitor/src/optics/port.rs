//! One port's optics over days.

use super::condition::{Condition, Deviation, OpticsFinding, Reference, Side};
use super::history::{BLOCK, History};
use super::{LANES_MOST, Lane, Limits, Module, NO_LIGHT_DBM, OpticsReading};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A power so far below its median is abnormal. Healthy links vary by a fraction of that over months.
const DROP_DB: f32 = 2.0;
/// A laser is at the end of its life once its current has risen by half (Telcordia GR-468-CORE).
const BIAS_RISE: f32 = 1.5;
/// An abnormality ends once no reading has shown it for so long.
const CALM: Duration = Duration::from_mins(10);
/// Readings in a row that make an abnormality: one may be from before the link came up.
const READINGS_LEAST: u8 = 2;
/// What has been abnormal for so long compared with its median is what is usual here.
const ABNORMAL_MOST: Duration = Duration::from_hours(28 * 24);
/// A module was handled recently for so long, as far as repairs are concerned.
const RECENTLY: Duration = Duration::from_hours(7 * 24);

/// What is shown of a port's optics.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpticsStatus {
    pub module: Module,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voltage_v: Option<f32>,
    #[serde(default)]
    pub lanes: Vec<Lane>,
    pub finding: OpticsFinding,
    /// What is abnormal, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abnormal: Vec<String>,
}

/// A quantity that lanes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Light {
    Received,
    Sent,
    Bias,
}

const LIGHTS: [Light; 3] = [Light::Received, Light::Sent, Light::Bias];

impl Light {
    fn of(self, lane: &Lane) -> Option<f32> {
        match self {
            Light::Received => lane.received_dbm,
            Light::Sent => lane.sent_dbm,
            Light::Bias => lane.bias_ma,
        }
    }

    /// Whether a lane is dark. Modules may have lanes that are not used.
    fn is_dark(self, value: f32) -> bool {
        match self {
            Light::Received | Light::Sent => value <= NO_LIGHT_DBM,
            Light::Bias => value <= 0.0,
        }
    }

    /// Whether a value is abnormal compared with its median.
    fn deviates(self, value: f32, median: f32) -> Option<Side> {
        match self {
            Light::Received | Light::Sent => (value <= median - DROP_DB).then_some(Side::Low),
            Light::Bias => (median > 0.0 && value >= median * BIAS_RISE).then_some(Side::High),
        }
    }
}

/// For how long a quantity has been abnormal.
#[derive(Debug, Clone, Copy, Default)]
struct Course {
    since: Duration,
    /// Abnormal readings in a row, at most [`READINGS_LEAST`].
    readings: u8,
    latest: Option<Deviation>,
    normal_since: Option<Duration>,
}

impl Course {
    /// Takes what one reading says; `None` if that is nothing.
    fn handle(&mut self, now: Duration, condition: Option<Condition>) -> Option<Condition> {
        match condition? {
            Condition::Abnormal(deviation) => {
                if self.latest.is_none_or(|latest| latest.side != deviation.side) {
                    *self = Course { since: now, ..Course::default() };
                }
                self.readings = (self.readings + 1).min(READINGS_LEAST);
                (self.latest, self.normal_since) = (Some(deviation), None);
            }
            Condition::Normal => {
                let since = *self.normal_since.get_or_insert(now);
                if self.readings < READINGS_LEAST || now.saturating_sub(since) >= CALM {
                    *self = Course::default();
                }
            }
        }
        let latest = self.latest.filter(|_| self.readings >= READINGS_LEAST);
        Some(latest.map_or(Condition::Normal, |deviation| {
            let for_s = now.saturating_sub(self.since).as_secs();
            Condition::Abnormal(Deviation { for_s, ..deviation })
        }))
    }
}

/// Watches one port. Call [`handle_reading`](Self::handle_reading) for each reading, and
/// [`handle_absence`](Self::handle_absence) when the port has no module.
#[derive(Debug, Default)]
pub struct PortOptics {
    latest: OpticsReading,
    /// For each lane, of each [`Light`].
    histories: Vec<[History; 3]>,
    /// Lanes that have had light, of each [`Light`], as bits.
    lit: [u8; 3],
    block_began: Duration,
    courses: [Course; 5],
    finding: OpticsFinding,
    is_absent: bool,
    handled_at: Option<Duration>,
}

impl PortOptics {
    /// Takes a reading of a port that is up or not, at a time that never goes back; whether what is abnormal has changed.
    pub fn handle_reading(&mut self, now: Duration, is_up: bool, mut reading: OpticsReading) -> bool {
        reading.lanes.truncate(LANES_MOST);
        let is_other = reading.module != self.latest.module;
        let had_one = self.latest.module != Module::default();
        if had_one && (is_other || self.is_absent) {
            self.handled_at = Some(now);
        }
        if is_other {
            *self = PortOptics { handled_at: self.handled_at, block_began: now, ..PortOptics::default() };
        }
        self.is_absent = false;
        self.latest = reading;
        self.histories.resize(self.latest.lanes.len(), Default::default());
        let before = self.finding;
        let thresholds = self.latest.thresholds;
        let [received, sent, bias, temperature, voltage] = &mut self.courses;
        let of_module = |value: Option<f32>, limits| value.and_then(|value| beyond(value, limits));
        self.finding.temperature =
            temperature.handle(now, of_module(self.latest.temperature_c, thresholds.temperature));
        self.finding.voltage = voltage.handle(now, of_module(self.latest.voltage_v, thresholds.voltage));
        // A port that is down receives no light for good reasons.
        if is_up {
            let lanes =
                Lanes { lanes: &self.latest.lanes, histories: &mut self.histories, lit: &mut self.lit };
            let mut lanes = lanes;
            self.finding.received = received.handle(now, lanes.judge(Light::Received, thresholds.received));
            self.finding.sent = sent.handle(now, lanes.judge(Light::Sent, thresholds.sent));
            self.finding.bias = bias.handle(now, lanes.judge(Light::Bias, thresholds.bias));
            lanes.remember();
        }
        self.end_block(now);
        !self.finding.is_like(&before)
    }

    /// The port has no module.
    pub fn handle_absence(&mut self) {
        self.is_absent = true;
    }

    /// What is abnormal.
    pub fn finding(&self) -> OpticsFinding {
        if self.is_absent { OpticsFinding::default() } else { self.finding }
    }

    /// The module that was read last, even if it has been taken out since.
    pub fn module(&self) -> &Module {
        &self.latest.module
    }

    /// Whether the module was reseated or replaced recently.
    pub fn was_handled_recently(&self, now: Duration) -> bool {
        self.handled_at.is_some_and(|at| now.saturating_sub(at) < RECENTLY)
    }

    /// For people; `None` if there is no module.
    pub fn status(&self) -> Option<OpticsStatus> {
        let OpticsReading { module, temperature_c, voltage_v, lanes, .. } = self.latest.clone();
        let finding = self.finding;
        let abnormal = finding.abnormalities();
        (!self.is_absent).then_some(OpticsStatus {
            module,
            temperature_c,
            voltage_v,
            lanes,
            finding,
            abnormal,
        })
    }

    fn end_block(&mut self, now: Duration) {
        if now.saturating_sub(self.block_began) < BLOCK {
            return;
        }
        self.block_began = now;
        self.histories.iter_mut().flatten().for_each(History::end_block);
        for (place, course) in self.courses.iter_mut().take(LIGHTS.len()).enumerate() {
            let is_by_median =
                course.latest.is_some_and(|latest| matches!(latest.reference, Reference::Median { .. }));
            if is_by_median && now.saturating_sub(course.since) >= ABNORMAL_MOST {
                *course = Course::default();
                self.histories.iter_mut().for_each(|lane| lane[place] = History::default());
            }
        }
    }
}

/// The lanes of a reading with what they were before.
struct Lanes<'a> {
    lanes: &'a [Lane],
    histories: &'a mut [[History; 3]],
    lit: &'a mut [u8; 3],
}

impl Lanes<'_> {
    /// What is abnormal about a quantity; `None` if no lane can be judged.
    fn judge(&mut self, light: Light, limits: Limits) -> Option<Condition> {
        let place = light as usize;
        let mut worst: Option<(u8, f32, Deviation)> = None;
        let (mut judged, mut deviating, mut of_lanes) = (false, 0, 0);
        for (number, (lane, histories)) in (1_u8..).zip(self.lanes.iter().zip(&*self.histories)) {
            let Some(value) = light.of(lane) else { continue };
            let bit = 1 << (number - 1);
            if !light.is_dark(value) {
                self.lit[place] |= bit;
            }
            if self.lit[place] & bit == 0 {
                continue;
            }
            of_lanes += 1;
            let Some(condition) = abnormality(light, value, limits, &histories[place]) else { continue };
            judged = true;
            let Condition::Abnormal(deviation) = condition else { continue };
            deviating += 1;
            let (rank, distance) = (rank(&deviation), (value - deviation.reference_value).abs());
            if worst.is_none_or(|(worst, far, _)| (rank, distance) > (worst, far)) {
                worst = Some((rank, distance, Deviation { lane: number, ..deviation }));
            }
        }
        let abnormal =
            worst.map(|(_, _, worst)| Condition::Abnormal(Deviation { lanes: deviating, of_lanes, ..worst }));
        abnormal.or_else(|| judged.then_some(Condition::Normal))
    }

    /// Adds values that are not abnormal to their histories: what is compared with must not follow what is compared.
    fn remember(&mut self) {
        for (lane, histories) in self.lanes.iter().zip(self.histories.iter_mut()) {
            for light in LIGHTS {
                let history = &mut histories[light as usize];
                let Some(value) = light.of(lane).filter(|value| !light.is_dark(*value)) else { continue };
                let deviates =
                    history.median().is_some_and(|(median, _)| light.deviates(value, median).is_some());
                if !deviates {
                    history.add(value);
                }
            }
        }
    }
}

/// Alarms first, then what is far from its median, then warnings.
fn rank(deviation: &Deviation) -> u8 {
    match deviation.reference {
        Reference::Warning => 0,
        Reference::Median { .. } => 1,
        Reference::Alarm => 2,
    }
}

/// Whether one lane's value is abnormal; `None` if there is nothing to compare it with.
fn abnormality(light: Light, value: f32, limits: Limits, history: &History) -> Option<Condition> {
    let by_limits = beyond(value, limits);
    let median = history.median();
    let by_median = median.map(|(median, over)| match light.deviates(value, median) {
        Some(side) => {
            let hours = u32::try_from(over.as_secs() / 3_600).unwrap_or(u32::MAX);
            Condition::Abnormal(deviation(side, value, Reference::Median { hours }, median))
        }
        None => Condition::Normal,
    });
    match (by_limits, by_median) {
        (Some(Condition::Abnormal(limit)), Some(Condition::Abnormal(course))) => {
            let more = if rank(&limit) > rank(&course) { limit } else { course };
            Some(Condition::Abnormal(more))
        }
        (Some(Condition::Normal), Some(course)) => Some(course),
        (limit, course) => limit.or(course),
    }
}

/// Whether a value is beyond a module's thresholds; `None` if it has none.
fn beyond(value: f32, limits: Limits) -> Option<Condition> {
    let Limits { low_alarm, low_warning, high_warning, high_alarm } = limits;
    let below = |limit: Option<f32>| limit.filter(|limit| value < *limit);
    let above = |limit: Option<f32>| limit.filter(|limit| value > *limit);
    let found = [
        (Side::Low, Reference::Alarm, below(low_alarm)),
        (Side::High, Reference::Alarm, above(high_alarm)),
        (Side::Low, Reference::Warning, below(low_warning)),
        (Side::High, Reference::Warning, above(high_warning)),
    ];
    let found = found.into_iter().find_map(|(side, reference, limit)| Some((side, reference, limit?)));
    match found {
        Some((side, reference, limit)) => Some(Condition::Abnormal(deviation(side, value, reference, limit))),
        None => (limits != Limits::default()).then_some(Condition::Normal),
    }
}

fn deviation(side: Side, value: f32, reference: Reference, reference_value: f32) -> Deviation {
    Deviation { side, lane: 0, lanes: 0, of_lanes: 0, value, reference, reference_value, for_s: 0 }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
