//! What audit files say of weeks: how often each link was sick, and what was done about it, or would have been.

use crate::PortName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ports that are told apart; decisions about more are only counted.
const PORTS_MOST: usize = 200_000;

/// What is read of a line; unknown fields are passed over.
#[derive(Debug, Deserialize)]
struct Line {
    time_s: f64,
    uptime_s: f64,
    port: PortName,
    #[serde(default)]
    dry_run: bool,
    kind: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    protection: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    downstream_of: Option<String>,
    #[serde(default)]
    effect: String,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    peer: Option<String>,
    #[serde(default)]
    flaps: u64,
    #[serde(default)]
    advice: Option<serde_json::Value>,
    #[serde(default)]
    text: String,
}

/// How often something was so, and for how long in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    pub times: u64,
    pub seconds: f64,
    /// Whether it still is so at the end.
    pub is_on: bool,
    #[serde(skip)]
    since_s: f64,
    #[serde(skip)]
    is_dry_run: bool,
}

impl Times {
    fn set(&mut self, is_on: bool, line: &Line) {
        if is_on && !self.is_on {
            self.times += 1;
            (self.since_s, self.is_dry_run) = (line.time_s, line.dry_run);
        }
        if !is_on {
            self.end(line.time_s);
        }
        self.is_on = is_on;
    }

    /// Adds the time up to now; what is on stays so.
    fn end(&mut self, now_s: f64) {
        if self.is_on {
            // Clocks may be set back.
            self.seconds += (now_s - self.since_s).max(0.0);
            self.since_s = now_s;
        }
    }
}

/// What happened at one port.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PortReport {
    /// Its link was found corrupting.
    pub corrupting: Times,
    /// Protection was requested, or would have been.
    pub protection: Times,
    /// Its link was disabled by a plan, or would have been. Times on trial are not among the seconds.
    pub disabled: Times,
    /// The other end of that link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    pub failed_trials: u64,
    pub returns: u64,
    /// Actions of the sending end that failed.
    pub failures: u64,
    /// The most flaps within 24 hours that were told.
    pub flaps: u64,
    /// What was suggested last, as it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl PortReport {
    /// Whether there is anything to tell.
    pub fn has_news(&self) -> bool {
        *self != PortReport { peer: self.peer.clone(), ..PortReport::default() }
    }

    fn all(&mut self) -> [&mut Times; 3] {
        [&mut self.corrupting, &mut self.protection, &mut self.disabled]
    }

    fn handle(&mut self, line: &Line) {
        match line.kind.as_str() {
            "state" => self.corrupting.set(matches!(line.to.as_str(), "corrupting" | "severe"), line),
            "request" => {
                let is_protected = line.protection.is_some() && line.downstream_of.is_none();
                self.protection.set(is_protected, line);
            }
            "effect" if line.effect == "failed" => self.failures += 1,
            "flaps" => self.flaps = self.flaps.max(line.flaps),
            "plan" => self.handle_plan(line),
            _ => {}
        }
        if line.advice.is_some() {
            let (_, suggestion) = line.text.split_once("; suggestion: ").unwrap_or_default();
            self.suggestion = Some(suggestion.to_owned());
        }
    }

    fn handle_plan(&mut self, line: &Line) {
        self.peer.clone_from(&line.peer);
        match line.verdict.as_str() {
            "disabled" => self.disabled.set(true, line),
            "tried" => self.disabled.set(false, line),
            "trial-failed" => {
                self.failed_trials += 1;
                self.disabled.set(true, line);
                // It is the same time that it was disabled for.
                self.disabled.times = self.disabled.times.saturating_sub(1).max(1);
            }
            "returned" => {
                self.returns += 1;
                self.disabled.set(false, line);
            }
            _ => {}
        }
    }
}

/// Reads lines in the order in which they were written: call [`handle_line`](Self::handle_line) for each, and then
/// [`finish`](Self::finish).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AuditReport {
    /// Seconds since 1970 of the first and the last decision.
    pub first_s: Option<f64>,
    pub last_s: Option<f64>,
    pub decisions: u64,
    pub dry_run_decisions: u64,
    /// Starts of corruptd, as far as they show.
    pub starts: u64,
    /// Lines that are none of an audit file, and decisions about ports beyond those that are told apart.
    pub unreadable_lines: u64,
    pub ports_left_out: u64,
    /// How often ports flapped at once, so that it was not their links.
    pub flaps_at_once: u64,
    pub ports: BTreeMap<PortName, PortReport>,
    #[serde(skip)]
    uptime_s: f64,
}

impl AuditReport {
    /// Takes the next line.
    pub fn handle_line(&mut self, text: &str) {
        let Ok(line) = serde_json::from_str::<Line>(text) else {
            self.unreadable_lines += 1;
            return;
        };
        if self.decisions == 0 || line.uptime_s < self.uptime_s {
            self.starts += 1;
            let before_s = self.last_s.unwrap_or(line.time_s);
            self.forget_rehearsals(before_s);
        }
        self.uptime_s = line.uptime_s;
        self.first_s.get_or_insert(line.time_s);
        self.last_s = Some(line.time_s);
        self.decisions += 1;
        self.dry_run_decisions += u64::from(line.dry_run);
        self.flaps_at_once += u64::from(line.kind == "flaps-at-once");
        if self.ports.len() >= PORTS_MOST && !self.ports.contains_key(&line.port) {
            self.ports_left_out += 1;
            return;
        }
        self.ports.entry(line.port.clone()).or_default().handle(&line);
    }

    /// Ends what is on at the last decision.
    pub fn finish(&mut self) {
        let last_s = self.last_s.unwrap_or_default();
        self.ports.values_mut().flat_map(PortReport::all).for_each(|times| times.end(last_s));
    }

    /// A dry run remembers nothing when it starts again.
    fn forget_rehearsals(&mut self, at_s: f64) {
        for times in self.ports.values_mut().flat_map(PortReport::all) {
            if times.is_on && times.is_dry_run {
                times.end(at_s);
                times.is_on = false;
            }
        }
    }

    /// For how long links were disabled, added up.
    pub fn disabled_seconds(&self) -> f64 {
        self.ports.values().map(|port| port.disabled.seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn line(time_s: f64, port: &str, kind: &str, more: &Value) -> String {
        let mut line = json!({ "time_s": 1e9 + time_s, "uptime_s": time_s, "port": port, "kind": kind, "dry_run": true });
        line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line.to_string()
    }

    fn of(lines: &[String]) -> AuditReport {
        let mut report = AuditReport::default();
        lines.iter().for_each(|line| report.handle_line(line));
        report.finish();
        report
    }

    #[test]
    fn times_are_counted_and_added_up() {
        let a = "leaf/a";
        let request = |protection: Value| json!({ "protection": protection });
        let plan = |verdict: &str| json!({ "verdict": verdict, "peer": "spine/b" });
        let suggestion =
            json!({ "to": "corrupting", "advice": {}, "text": "leaf/a: x; suggestion: replace it" });
        let report = of(&[
            line(0.0, a, "state", &json!({ "to": "healthy" })),
            line(10.0, a, "state", &suggestion),
            line(10.0, a, "request", &request(json!({ "copies": 2 }))),
            line(20.0, a, "state", &json!({ "to": "severe" })),
            line(310.0, a, "plan", &plan("disabled")),
            line(3_910.0, a, "plan", &plan("tried")),
            line(4_000.0, a, "plan", &plan("trial-failed")),
            line(4_500.0, a, "plan", &plan("tried")),
            line(4_600.0, a, "plan", &plan("returned")),
            line(4_600.0, a, "request", &request(Value::Null)),
            line(4_700.0, a, "state", &json!({ "to": "healthy" })),
            line(4_800.0, a, "state", &json!({ "to": "corrupting" })),
            line(4_900.0, "leaf/c", "flaps", &json!({ "flaps": 10 })),
            "no line".to_owned(),
        ]);
        assert_eq!((report.decisions, report.unreadable_lines, report.starts), (13, 1, 1));
        let port = &report.ports[&a.parse::<PortName>().expect("a port")];
        let told = |times: Times| (times.times, times.seconds, times.is_on);
        assert_eq!(told(port.corrupting), (2, 4_690.0 + 100.0, true));
        assert_eq!(told(port.protection), (1, 4_590.0, false));
        assert_eq!(told(port.disabled), (1, 3_600.0 + 500.0, false));
        assert_eq!((port.failed_trials, port.returns), (1, 1));
        assert_eq!(port.suggestion.as_deref(), Some("replace it"));
        assert_eq!(report.ports.values().map(|port| port.flaps).sum::<u64>(), 10);
        assert_eq!(report.disabled_seconds(), 4_100.0);
    }

    #[test]
    fn a_dry_run_that_starts_again_has_forgotten_and_a_real_one_has_not() {
        let lines = |dry_run: bool| {
            let more = json!({ "to": "corrupting", "dry_run": dry_run, "protection": { "copies": 1 } });
            let mut late = line(5.0, "leaf/b", "state", &json!({ "to": "healthy", "dry_run": dry_run }));
            late = late.replace("1000000005", "1000000500");
            let end = line(100.0, "leaf/b", "state", &json!({ "to": "suspect", "dry_run": dry_run }));
            [line(10.0, "leaf/a", "request", &more), end, late]
        };
        let protection = |report: &AuditReport| report.ports.values().next().expect("a port").protection;
        let dry = of(&lines(true));
        assert_eq!((dry.starts, protection(&dry).seconds, protection(&dry).is_on), (2, 90.0, false));
        let real = of(&lines(false));
        assert_eq!((real.starts, protection(&real).seconds, protection(&real).is_on), (2, 490.0, true));
    }
}
