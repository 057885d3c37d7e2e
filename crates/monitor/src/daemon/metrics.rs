//! What Prometheus scrapes: five series for each port, and a few about the daemon.

use crate::agent::{AgentStatus, PortStatus};
use crate::detection::State;
use crate::exchange::Effect;
use crate::optics::OpticsStatus;
use linkmend_control::DaemonHealth;
use linkmend_control::metrics::{MetricsError, MetricsServer};
use linkmend_protocol::effective_loss;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

type Value = fn(&PortStatus) -> Option<f64>;

/// Series of each port: name, meaning and value.
const OF_PORTS: [(&str, &str, Value); 5] = [
    ("link_loss_ratio", "Share of corrupted frames among the frames that the port received last", |port| {
        port.loss_rate
    }),
    (
        "link_effective_loss_ratio",
        "The same after recovery: while the link is protected, its effective loss rate by Equation 1",
        effective,
    ),
    (
        "link_expected_loss_ratio",
        "Expected frame loss rate, extrapolated from FEC counters; only where it is certain",
        |port| port.expected_loss_rate,
    ),
    ("link_state", "State of the link: 0 unknown, 1 healthy, 2 suspect, 3 corrupting, 4 severe", |port| {
        port.state.map(|state| f64::from(state as u8))
    }),
    ("link_protected", "Whether the sending end has reported that it protects the link", |port| {
        port.state.map(|_| f64::from(u8::from(is_protected(port))))
    }),
];

type OpticsValue = fn(&OpticsStatus) -> Option<f32>;

/// Series of each port that has a transceiver which measures them.
const OF_OPTICS: [(&str, &str, OpticsValue); 4] = [
    ("link_receive_power_dbm", "Received optical power, of the lane with the least", |optics| {
        optics.lanes.iter().filter_map(|lane| lane.received_dbm).reduce(f32::min)
    }),
    ("link_transmit_power_dbm", "Transmitted optical power, of the lane with the least", |optics| {
        optics.lanes.iter().filter_map(|lane| lane.sent_dbm).reduce(f32::min)
    }),
    ("link_laser_bias_milliamperes", "Current through the laser, of the lane with the most", |optics| {
        optics.lanes.iter().filter_map(|lane| lane.bias_ma).reduce(f32::max)
    }),
    ("link_transceiver_celsius", "Temperature of the transceiver", |optics| optics.temperature_c),
];

/// Serves what was last put into the place that is returned.
pub(super) fn serve(address: SocketAddr) -> Result<(Arc<Mutex<AgentStatus>>, MetricsServer), MetricsError> {
    let shown = Arc::new(Mutex::new(AgentStatus::default()));
    let place = Arc::clone(&shown);
    let page = Box::new(move || {
        let status = place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        encode(status)
    });
    let server = MetricsServer::start(address, page, Arc::new(DaemonHealth::default()))?;
    Ok((shown, server))
}

/// Writes a status in the OpenMetrics text format.
pub(super) fn encode(status: AgentStatus) -> String {
    let mut registry = Registry::with_prefix("linkmend");
    registry.register_collector(Box::new(Page(status)));
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut page, &registry);
    page
}

#[derive(Debug)]
struct Page(AgentStatus);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, value) in OF_PORTS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for port in self.0.ports.iter().filter(|port| !port.absent) {
                if let Some(value) = value(port) {
                    family.encode_family(&[("port", port.port.to_string())])?.encode_gauge(&value)?;
                }
            }
        }
        self.encode_optics(&mut encoder)?;
        self.encode_webhook(&mut encoder)?;
        let help = "Ports in each state";
        let mut family = encoder.encode_descriptor("corruptd_ports", help, None, MetricType::Gauge)?;
        for state in [State::Unknown, State::Healthy, State::Suspect, State::Corrupting, State::Severe] {
            let count = self.0.ports.iter().filter(|port| port.state == Some(state)).count() as i64;
            family.encode_family(&[("state", state.name())])?.encode_gauge(&count)?;
        }
        let help = "Whether everything on the bus has been read";
        encoder
            .encode_descriptor("corruptd_bus_up", help, None, MetricType::Gauge)?
            .encode_gauge(&i64::from(self.0.synchronised))?;
        let plan = self.0.plan.as_ref();
        let gauges = [
            (
                "corruptd_links_disabled",
                "Links that the plan has disabled",
                plan.filter(|_| !self.0.dry_run).map_or(0, |plan| plan.disabled.len()),
            ),
            (
                "corruptd_links_held",
                "Links that should be disabled but are not",
                plan.map_or(0, |plan| plan.held.iter().filter(|link| !link.unsure).count()),
            ),
            (
                "corruptd_troubles",
                "Current problems with sources, bus, files and hooks",
                self.0.troubles.len(),
            ),
        ];
        for (name, help, value) in gauges {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&(value as i64))?;
        }
        let help = "Seconds since counters were read, for the port whose last reading is oldest";
        let ages = || self.0.ports.iter().filter(|port| !port.absent).filter_map(|port| port.age_s);
        // If all are absent, nothing can be read at all.
        let latest = self.0.ports.iter().filter_map(|port| port.age_s).fold(f64::INFINITY, f64::min);
        let oldest =
            if ages().next().is_some() || latest.is_infinite() { ages().fold(0.0, f64::max) } else { latest };
        encoder
            .encode_descriptor("corruptd_oldest_reading_seconds", help, None, MetricType::Gauge)?
            .encode_gauge(&oldest)
    }
}

impl Page {
    fn encode_webhook(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(webhook) = &self.0.webhook else { return Ok(()) };
        let counters = [
            ("corruptd_webhook_delivered", "Decisions that the webhook has taken", webhook.delivered),
            (
                "corruptd_webhook_dropped",
                "Decisions that the webhook was not told, because too many waited or it refused them",
                webhook.dropped,
            ),
        ];
        for (name, help, value) in counters {
            encoder
                .encode_descriptor(name, help, None, MetricType::Counter)?
                .encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        let help = "Decisions that wait for the webhook";
        encoder
            .encode_descriptor("corruptd_webhook_waiting", help, None, MetricType::Gauge)?
            .encode_gauge(&(webhook.waiting as i64))
    }

    /// What transceivers measure, and what to repair.
    fn encode_optics(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, value) in OF_OPTICS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for port in self.0.ports.iter().filter(|port| !port.absent) {
                if let Some(value) = port.optics.as_ref().and_then(value) {
                    let value = f64::from(value);
                    family.encode_family(&[("port", port.port.to_string())])?.encode_gauge(&value)?;
                }
            }
        }
        let help = "1 for what should be repaired about a link that corrupts frames, and at which port";
        let mut family = encoder.encode_descriptor("link_suggested_repair", help, None, MetricType::Gauge)?;
        for port in &self.0.ports {
            if let Some(advice) = &port.advice {
                let labels = [
                    ("port", port.port.to_string()),
                    ("repair", advice.repair.name().to_owned()),
                    ("at", advice.at.to_string()),
                ];
                family.encode_family(&labels)?.encode_gauge(&1_i64)?;
            }
        }
        Ok(())
    }
}

fn is_protected(port: &PortStatus) -> bool {
    port.acknowledgement.as_ref().is_some_and(|done| done.effect == Effect::Active)
}

fn effective(port: &PortStatus) -> Option<f64> {
    let loss_rate = port.loss_rate?;
    let protection = port.request.as_ref().and_then(|request| request.protection);
    let protection = protection.filter(|_| is_protected(port));
    Some(protection.map_or(loss_rate, |protection| effective_loss(loss_rate, protection.copies)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{DisabledStatus, HeldStatus, PlanStatus};
    use crate::exchange::{Acknowledgement, Protection, Request};
    use crate::webhook::WebhookStatus;
    use linkmend_control::ProtectMode;
    use std::path::Path;

    fn status() -> AgentStatus {
        let protection = Protection { mode: ProtectMode::Ordered, loss_rate: 1e-3, target: 1e-8, copies: 2 };
        let port = |name: &str, state| PortStatus {
            port: name.parse().expect("a port"),
            sender: None,
            state: Some(state),
            corrupted_frames: 1,
            frames: 1_000,
            loss_rate: Some(1e-3),
            interval: None,
            forecast: None,
            bit_errors: None,
            expected_loss_rate: None,
            age_s: Some(0.5),
            down: false,
            absent: false,
            flaps: 0,
            irregularity: None,
            hold_down_s: None,
            request: None,
            acknowledgement: None,
            recorded: false,
            optics: None,
            advice: None,
        };
        let protected = PortStatus {
            request: Some(Request { generation: 1, protection: Some(protection), ..Request::default() }),
            acknowledgement: Some(Acknowledgement {
                generation: 1,
                effect: Effect::Active,
                ..Default::default()
            }),
            ..port("leaf1/eth0", State::Corrupting)
        };
        let ports = vec![protected, port("leaf1/eth1", State::Suspect)];
        let webhook = WebhookStatus { delivered: 7, dropped: 2, waiting: 1, ..WebhookStatus::default() };
        let webhook = Some(webhook);
        AgentStatus {
            agent: "leaf1".to_owned(),
            synchronised: true,
            ports,
            webhook,
            ..AgentStatus::default()
        }
    }

    #[test]
    fn a_protected_link_has_the_loss_that_equation_1_leaves() {
        let page = encode(status());
        for line in [
            "linkmend_link_loss_ratio{port=\"leaf1/eth0\"} 0.001",
            "linkmend_link_effective_loss_ratio{port=\"leaf1/eth1\"} 0.001",
            "linkmend_link_state{port=\"leaf1/eth0\"} 3.0",
            "linkmend_link_protected{port=\"leaf1/eth1\"} 0.0",
            "linkmend_corruptd_ports{state=\"corrupting\"} 1",
            "linkmend_corruptd_bus_up 1",
            "linkmend_corruptd_links_disabled 0",
            "linkmend_corruptd_webhook_delivered_total 7",
            "linkmend_corruptd_webhook_dropped_total 2",
            "linkmend_corruptd_webhook_waiting 1",
        ] {
            assert!(page.lines().any(|known| known == line), "{line}: {page}");
        }
        let effective = page.lines().find_map(|line| {
            line.strip_prefix("linkmend_link_effective_loss_ratio{port=\"leaf1/eth0\"} ")?.parse::<f64>().ok()
        });
        assert!((effective.expect("it is there") / 1e-9 - 1.0).abs() < 1e-6, "{page}");
    }

    /// And links of which it is not certain that they should be disabled wait for nothing that people can change.
    #[test]
    fn a_dry_run_has_disabled_nothing() {
        let ports = ["leaf1/a", "spine1/a"].map(|port| port.parse().expect("a port"));
        let disabled = DisabledStatus {
            ports: ports.clone(),
            link: String::new(),
            reason: String::new(),
            since_s: None,
            on_trial: false,
            failed_trials: 0,
            failing: false,
            trial_at_s: None,
        };
        let held = |unsure| HeldStatus { ports: ports.clone(), reason: String::new(), until_s: None, unsure };
        let plan = PlanStatus {
            disabled: vec![disabled],
            held: vec![held(true), held(false)],
            trouble: None,
            stalled: None,
        };
        for (dry_run, count) in [(false, 1), (true, 0)] {
            let page = encode(AgentStatus { dry_run, plan: Some(plan.clone()), ..status() });
            assert!(page.contains(&format!("linkmend_corruptd_links_disabled {count}\n")), "{page}");
            assert!(page.contains("linkmend_corruptd_links_held 1\n"), "{page}");
        }
    }

    /// Names of metrics in a text: words that begin with the prefix.
    fn names(text: &str) -> Vec<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| word.starts_with("linkmend_")).collect()
    }

    #[test]
    fn rules_and_dashboard_ask_for_series_that_there_are() {
        let page = encode(status());
        let known: Vec<&str> = names(&page);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
        let mut asked = 0;
        for file in ["corruptd-alerts.yml", "corruptd-dashboard.json"] {
            let text = std::fs::read_to_string(folder.join(file)).expect("it is delivered");
            for name in names(&text) {
                assert!(known.contains(&name), "{file} asks for {name}");
                asked += 1;
            }
        }
        assert!(asked > 8, "the test finds the names");
        let dashboard = std::fs::read_to_string(folder.join("corruptd-dashboard.json")).expect("delivered");
        let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        assert!(panels.iter().all(|panel| panel["targets"][0]["expr"].is_string()), "{dashboard}");
    }

    #[test]
    fn promtool_accepts_page_and_rules() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/corruptd-alerts.yml");
        let check = Command::new("promtool").args(["check", "rules"]).arg(&rules).output();
        let Ok(check) = check else {
            eprintln!(
                "\n######## SKIPPED: promtool_accepts_page_and_rules needs promtool (Debian: prometheus) ########\n"
            );
            return;
        };
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
        let page = linkmend_control::metrics::from_open_metrics(&encode(status()));
        let mut child = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it ran before");
        child.stdin.take().expect("piped").write_all(page.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
