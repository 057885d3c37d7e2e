//! Ports that Prometheus knows, by whatever exporter.
//!
//! A poll finds what the latest scrape brought: between two scrapes there is nothing new, and afterwards all of it at once.
//! When scrapes are rarer than polls by much, ports seem to receive more than they can, which is refused: let polls be as far
//! apart as scrapes, or farther. Ports of an exporter that is no longer scraped disappear. All queries of a poll are
//! evaluated at the same moment, so that their numbers belong together.
//!
//! Prometheus has numbers of 64 bits with a fraction, which are exact up to 2^53 (9·10^15), and to one in 10^16 beyond.

mod client;
mod queries;
mod settings;

pub use queries::QuerySet;
pub use settings::PrometheusSettings;

use super::complaints::{Complaints, Trouble};
use super::{NAMED_MOST, Source, SourceError};
use crate::PortName;
use crate::agent::PORTS_MOST;
use crate::counters::{FecReading, Reading};
use client::{Client, Sample};
use linkmend_diagnose::ParameterError;
use queries::NamePattern;
use std::collections::BTreeMap;

/// Numbers of ports by their names; `None` where they cannot be used.
type Numbers = BTreeMap<String, Option<u64>>;

/// Asks Prometheus what ports have received. Ports are called as the set of queries says.
pub struct PrometheusSource {
    client: Client,
    queries: [(&'static str, Option<String>); 9],
    pattern: NamePattern,
    complaints: Complaints,
    /// The most ports that were there at any poll.
    ports: usize,
}

impl PrometheusSource {
    /// It connects when it is polled the first time.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &PrometheusSettings) -> Result<PrometheusSource, ParameterError> {
        settings.validate()?;
        let port = &settings.queries.port;
        let pattern =
            NamePattern::new(port).map_err(|rule| ParameterError::new("prometheus.queries", port, rule))?;
        Ok(PrometheusSource {
            client: Client::new(settings.url.clone(), settings.ca.clone()),
            queries: settings.queries.filled(&settings.filter),
            pattern,
            complaints: Complaints::default(),
            ports: 0,
        })
    }

    /// The numbers of a query by the names of ports.
    fn numbers(&mut self, what: &str, samples: Vec<Sample>) -> Numbers {
        let mut numbers = Numbers::new();
        for Sample { metric, value: (_, value) } in samples {
            let name = match self.pattern.name(&metric) {
                Ok(name) if PortName::new("agent", &name).is_ok() => name,
                Ok(name) => {
                    self.complaints.add(&name, &Trouble::new("cannot be the name of a port"));
                    continue;
                }
                Err(label) => {
                    let trouble = Trouble::new(format!("has no label `{label}`, which is part of its name"));
                    self.complaints.add(&format!("a series of {what}"), &trouble);
                    continue;
                }
            };
            if numbers.len() >= PORTS_MOST {
                let what = format!("is left out: at most {PORTS_MOST} ports are read");
                self.complaints.add(&name, &Trouble::new(what));
                continue;
            }
            let mut trouble = None;
            if numbers.contains_key(&name) {
                let rule = "select one with the filter, or name ports by more labels";
                trouble = Some(Trouble::new(format!("has more than one series of {what}; {rule}")));
            }
            let number = number(&value).filter(|_| trouble.is_none());
            if number.is_none() {
                let whole =
                    || Trouble::with(format!("its {what} is not a whole number of at most 64 bits"), value);
                self.complaints.add(&name, &trouble.unwrap_or_else(whole));
            }
            numbers.insert(name, number);
        }
        numbers
    }

    /// What all queries say, evaluated at the moment at which the first one was.
    fn ask(&mut self) -> Result<[Numbers; 9], SourceError> {
        let mut all: [Numbers; 9] = Default::default();
        let mut time = None;
        for (index, numbers) in all.iter_mut().enumerate() {
            let (what, query) = self.queries[index].clone();
            let Some(query) = query else { continue };
            let samples = self.client.ask(&query, time.as_ref())?;
            if index == 0 && samples.is_empty() {
                return Err(SourceError {
                    what: format!("{} has no ports: `{query}` returns no series", self.client.describe()),
                    hint: Some(
                        "check that the exporter is scraped and that the filter matches its labels"
                            .to_owned(),
                    ),
                });
            }
            time = time.or_else(|| samples.first().map(|sample| sample.value.0.clone()));
            *numbers = self.numbers(what, samples);
        }
        Ok(all)
    }

    fn read_all(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let [good, corrupted, up, changes, speed, symbols, corrected, uncorrectable, bits] = self.ask()?;
        let mut readings = Vec::with_capacity(good.len());
        for (name, good_frames) in good {
            let of = |numbers: &Numbers| numbers.get(&name).copied().flatten();
            let Some(good_frames) = good_frames else { continue };
            if !corrupted.contains_key(&name) {
                let trouble = "has no corrupted-frames, so its link cannot be judged";
                self.complaints.add(&name, &Trouble::new(trouble));
            }
            let fec = FecReading {
                corrected_codewords: of(&corrected),
                uncorrectable_codewords: of(&uncorrectable),
                corrected_bits: of(&bits),
                ..FecReading::default()
            };
            let reading = Reading {
                good_frames,
                corrupted_frames: of(&corrupted),
                symbol_errors: of(&symbols),
                up: of(&up).map(|up| up > 0),
                carrier_changes: of(&changes),
                speed: of(&speed),
                fec: (fec != FecReading::default()).then_some(fec),
                ..Reading::default()
            };
            readings.push((name, reading));
        }
        self.say_watched(&readings);
        if readings.is_empty() {
            return Err(SourceError {
                what: format!("{}: frames cannot be read for any port", self.client.describe()),
                hint: Some("see the log for the reasons".to_owned()),
            });
        }
        Ok(readings)
    }

    fn say_watched(&mut self, readings: &[(String, Reading)]) {
        if readings.len() > self.ports {
            self.ports = readings.len();
            let names: Vec<&str> = readings.iter().take(NAMED_MOST).map(|(name, _)| name.as_str()).collect();
            let more = readings.len().saturating_sub(NAMED_MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            tracing::info!("monitoring {}{more}", names.join(", "));
        }
    }
}

impl Source for PrometheusSource {
    fn describe(&self) -> String {
        let [good, corrupted, ..] = &self.queries;
        let query = |of: &(_, Option<String>)| of.1.clone().unwrap_or_default();
        format!(
            "{}: intact frames by `{}`, corrupted ones by `{}`",
            self.client.describe(),
            query(good),
            query(corrupted)
        )
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let readings = self.read_all();
        for complaint in self.complaints.take() {
            tracing::warn!("{complaint}");
        }
        readings
    }
}

/// A count, which is a whole number.
fn number(text: &str) -> Option<u64> {
    // 2^64, which is the first number that does not fit.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && (0.0..BEYOND).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_whole_and_not_negative() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("12", Some(12)),
            ("1.5e+09", Some(1_500_000_000)),
            ("9007199254740993", Some(9_007_199_254_740_992)),
            ("1.8446744073709550e+19", Some(18_446_744_073_709_549_568)),
            ("1.8446744073709552e+19", None),
            ("1e300", None),
            ("0.5", None),
            ("-1", None),
            ("NaN", None),
            ("+Inf", None),
            ("-Inf", None),
            ("", None),
            ("many", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
