//! From what a switch says of its transceivers to a reading.
//!
//! Tables and fields are those of SONiC's transceiver daemon in STATE_DB (sonic-net/SONiC,
//! `doc/platform_api/CMIS_Diagnostic_Monitoring_Overview_in_SONiC.md`, section 3.1).

use super::Trouble;
use super::session::{Fields, Session, Table};
use crate::optics::{LANES_MOST, Lane, Limits, Module, NO_LIGHT_DBM, OpticsReading, Thresholds};
use ::redis::{RedisError, Value};
use std::time::Duration;

/// How often the transceiver daemon reads modules by default.
pub(super) const INTERVAL: Duration = Duration::from_mins(1);

pub(super) const INFO: Table = ("TRANSCEIVER_INFO", &["manufacturer", "model", "serial"]);
/// Temperature and voltage, and for each lane received power, transmitted power and bias.
pub(super) const SENSOR: Table = (
    "TRANSCEIVER_DOM_SENSOR",
    &[
        "temperature",
        "voltage",
        "rx1power",
        "tx1power",
        "tx1bias",
        "rx2power",
        "tx2power",
        "tx2bias",
        "rx3power",
        "tx3power",
        "tx3bias",
        "rx4power",
        "tx4power",
        "tx4bias",
        "rx5power",
        "tx5power",
        "tx5bias",
        "rx6power",
        "tx6power",
        "tx6bias",
        "rx7power",
        "tx7power",
        "tx7bias",
        "rx8power",
        "tx8power",
        "tx8bias",
    ],
);
const LANES: usize = 2;
/// For each quantity of [`Thresholds`], low alarm and warning, high warning and alarm.
pub(super) const THRESHOLD: Table = (
    "TRANSCEIVER_DOM_THRESHOLD",
    &[
        "templowalarm",
        "templowwarning",
        "temphighwarning",
        "temphighalarm",
        "vcclowalarm",
        "vcclowwarning",
        "vcchighwarning",
        "vcchighalarm",
        "rxpowerlowalarm",
        "rxpowerlowwarning",
        "rxpowerhighwarning",
        "rxpowerhighalarm",
        "txpowerlowalarm",
        "txpowerlowwarning",
        "txpowerhighwarning",
        "txpowerhighalarm",
        "txbiaslowalarm",
        "txbiaslowwarning",
        "txbiashighwarning",
        "txbiashighalarm",
    ],
);

/// Units that older daemons write behind values.
const UNITS: [&str; 4] = ["dBm", "mA", "Volts", "C"];

/// What transceivers of ports measure; `None` for ports without one.
pub(super) fn read(
    session: &mut Session,
    names: &[&str],
    mut complain: impl FnMut(&str, Trouble),
) -> Result<Vec<(String, Option<OpticsReading>)>, RedisError> {
    let infos = session.transceivers(INFO, names)?;
    let sensors = session.transceivers(SENSOR, names)?;
    let thresholds = session.transceivers(THRESHOLD, names)?;
    let shared = session.subports(names)?;
    let read = names.iter().zip(infos).zip(sensors).zip(thresholds).zip(shared);
    let reading = read.map(|((((name, info), sensor), threshold), is_shared)| {
        let is_there = info.iter().flatten().any(|field| !matches!(field, Value::Nil));
        let mut values = |fields: &Fields, (table, names): Table| {
            let fields = fields.as_ref().map(Vec::as_slice).unwrap_or_default();
            let known = fields.iter().zip(names).map(|(field, field_name)| {
                value(field).unwrap_or_else(|text| {
                    complain(name, Trouble::with(format!("has no usable {field_name} in {table}"), text));
                    None
                })
            });
            known.collect::<Vec<Option<f32>>>()
        };
        let (sensor, threshold) = (values(&sensor, SENSOR), values(&threshold, THRESHOLD));
        let reading = is_there.then(|| OpticsReading {
            module: module(&info.unwrap_or_default()),
            temperature_c: sensor.first().copied().flatten(),
            voltage_v: sensor.get(1).copied().flatten(),
            // The lanes of a module that several ports share are all under the first of them.
            lanes: if is_shared { Vec::new() } else { lanes(&sensor) },
            thresholds: thresholds_of(&threshold),
        });
        ((*name).to_owned(), reading)
    });
    Ok(reading.collect())
}

fn module(info: &[Value]) -> Module {
    let text = |place: usize| match info.get(place) {
        Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    Module::new(&text(0), &text(1), &text(2))
}

fn lanes(sensor: &[Option<f32>]) -> Vec<Lane> {
    let power = |value: Option<f32>| value.map(|power| power.max(NO_LIGHT_DBM));
    let lanes = sensor.get(LANES..).unwrap_or_default().chunks_exact(3);
    let mut lanes: Vec<Lane> = lanes
        .map(|lane| Lane {
            received_dbm: power(lane[0]),
            sent_dbm: power(lane[1]),
            bias_ma: lane[2].filter(|bias| bias.is_finite()),
        })
        .take(LANES_MOST)
        .collect();
    let used = lanes.iter().rposition(|lane| *lane != Lane::default()).map_or(0, |last| last + 1);
    lanes.truncate(used);
    lanes
}

fn thresholds_of(values: &[Option<f32>]) -> Thresholds {
    let value = |place: usize| values.get(place).copied().flatten();
    let limits = |quantity: usize| {
        let first = 4 * quantity;
        Limits {
            low_alarm: value(first),
            low_warning: value(first + 1),
            high_warning: value(first + 2),
            high_alarm: value(first + 3),
        }
        .plausible()
    };
    Thresholds {
        temperature: limits(0),
        voltage: limits(1),
        received: limits(2),
        sent: limits(3),
        bias: limits(4),
    }
}

/// A number, which may be minus infinity, or none.
///
/// # Errors
/// The text, if it is neither.
fn value(field: &Value) -> Result<Option<f32>, String> {
    let Value::BulkString(bytes) = field else { return Ok(None) };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if text.is_empty() || text == "N/A" || text == "None" {
        return Ok(None);
    }
    let digits = UNITS.iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text).trim_end();
    let number =
        digits.parse().ok().filter(|number: &f32| number.is_finite() || *number == f32::NEG_INFINITY);
    number.map(Some).ok_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_units_be_missing_or_be_no_light_at_all() {
        let read = |text: &str| value(&Value::BulkString(text.as_bytes().to_vec()));
        for (text, number) in
            [("-2.5", -2.5), ("-2.5dBm", -2.5), ("6.75 mA", 6.75), ("3.3Volts", 3.3), ("35.1C", 35.1)]
        {
            assert_eq!(read(text), Ok(Some(number)));
        }
        assert_eq!(read("-inf"), Ok(Some(f32::NEG_INFINITY)));
        for none in ["N/A", "", "None"] {
            assert_eq!(read(none), Ok(None));
        }
        assert_eq!(value(&Value::Nil), Ok(None));
        for wrong in ["inf", "NaN", "many", "1e99"] {
            assert_eq!(read(wrong), Err(wrong.to_owned()));
        }
    }
}
