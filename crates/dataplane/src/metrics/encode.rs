//! Writes reports as OpenMetrics text.

use super::counters::{COUNTERS, PORT_COUNTERS};
use super::labels::{Label, count, label, port_labels};
use linkmend_control::LinkReport;
use linkmend_control::report::{
    BufferReport, FallbackLevel, HistogramReport, PortReport, PortState, ReceiveState, TransmitState,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// The upper edges of the buckets are `2^n - 1`: of recovery latencies, from 1 us to 17 s,
const LATENCY_EXPONENTS: std::ops::RangeInclusive<u32> = 10..=34;
/// and of hole lengths from one frame to half the sequence space.
const LENGTH_EXPONENTS: std::ops::RangeInclusive<u32> = 1..=15;
const NS_PER_S: f64 = 1e9;

/// Writes the reports of the links that answered; `silent` are the names of those that did not.
pub fn encode(reports: Vec<LinkReport>, silent: Vec<String>) -> String {
    let mut registry = Registry::with_prefix("linkmend");
    registry.register_collector(Box::new(Links { reports, silent }));
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut page, &registry);
    page
}

#[derive(Debug)]
struct Links {
    reports: Vec<LinkReport>,
    silent: Vec<String>,
}

impl Collector for Links {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_up(&mut encoder)?;
        self.encode_counters(&mut encoder)?;
        self.encode_ports(&mut encoder)?;
        self.encode_interfaces(&mut encoder)?;
        super::failover::encode(&self.reports, &mut encoder)?;
        super::udp::encode(&self.reports, &mut encoder)?;
        super::in_time::encode(&self.reports, &mut encoder)?;
        self.encode_daemon(&mut encoder)?;
        self.encode_states(&mut encoder)?;
        self.encode_gauges(&mut encoder)?;
        self.encode_buffers(&mut encoder)?;
        let latency = |report: &LinkReport| report.recovery_latency_ns.clone();
        let help = "Time from the detection of a loss to its recovery";
        self.histogram(&mut encoder, "recovery_latency_seconds", help, latency, LATENCY_EXPONENTS, NS_PER_S)?;
        let length = |report: &LinkReport| report.hole_length_frames.clone();
        let help = "Lengths of holes in the sequence";
        self.histogram(&mut encoder, "hole_length_frames", help, length, LENGTH_EXPONENTS, 1.0)
    }
}

impl Links {
    fn encode_up(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Whether the loop of the link responds";
        let mut up = encoder.encode_descriptor("up", help, None, MetricType::Gauge)?;
        for report in &self.reports {
            up.encode_family(&[label(&report.name)])?.encode_gauge(&1i64)?;
        }
        for name in &self.silent {
            up.encode_family(&[label(name)])?.encode_gauge(&0i64)?;
        }
        Ok(())
    }

    fn encode_counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for counter in COUNTERS {
            let mut family =
                encoder.encode_descriptor(counter.name, counter.help, None, MetricType::Counter)?;
            for report in &self.reports {
                count(&mut family, &[label(&report.name)], (counter.value)(&report.counters))?;
            }
        }
        let help = "Time the sender here was paused";
        let mut family = encoder.encode_descriptor("paused_seconds", help, None, MetricType::Counter)?;
        for report in &self.reports {
            let seconds = report.counters.paused_ns as f64 / NS_PER_S;
            let labels = [label(&report.name)];
            family.encode_family(&labels)?.encode_counter::<[Label; 0], f64, f64>(&seconds, None)?;
        }
        Ok(())
    }

    fn encode_ports(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for counter in PORT_COUNTERS {
            let name = format!("port_{}", counter.name);
            let mut family = encoder.encode_descriptor(&name, counter.help, None, MetricType::Counter)?;
            for report in &self.reports {
                for (side, port) in report.ports() {
                    count(&mut family, &port_labels(report, side, port), (counter.value)(port))?;
                }
            }
        }
        Ok(())
    }

    fn encode_interfaces(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        type Value = fn(&PortReport) -> i64;
        let gauges: [(&str, &str, Value); 2] = [
            ("port_up", "Whether the interface of the port is up and has its carrier", |port| {
                i64::from(port.state == PortState::Up)
            }),
            ("port_mtu_bytes", "MTU of the interface of the port", |port| i64::from(port.mtu)),
        ];
        for (name, help, value) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for report in &self.reports {
                for (side, port) in report.ports() {
                    family.encode_family(&port_labels(report, side, port))?.encode_gauge(&value(port))?;
                }
            }
        }
        Ok(())
    }

    /// The daemon is the same in all reports.
    fn encode_daemon(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(daemon) = self.reports.first().map(|report| &report.daemon) else { return Ok(()) };
        let help = "Lines of the log that could not be written";
        encoder
            .encode_descriptor("log_lines_lost", help, None, MetricType::Counter)?
            .encode_counter::<[Label; 0], u64, f64>(&daemon.log_lines_lost, None)?;
        let help = "Frames of all interfaces of the machine dropped because its receive backlog was full";
        encoder
            .encode_descriptor("machine_backlog_drops", help, None, MetricType::Counter)?
            .encode_counter::<[Label; 0], u64, f64>(&daemon.backlog_drops, None)?;
        let help = "Share of the requested processor time that the hypervisor gave to others, over 10 s";
        let mut stolen = encoder.encode_descriptor("stolen_time_ratio", help, None, MetricType::Gauge)?;
        match &daemon.stolen_share {
            Some(share) => stolen.encode_gauge(share),
            None => Ok(()),
        }
    }

    fn encode_states(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "State of the sending direction; 1 for the current state";
        self.state(encoder, "transmit_state", help, TransmitState::ALL, |report| report.transmit_state)?;
        let help = "State of the receiving direction; 1 for the current state";
        self.state(encoder, "receive_state", help, ReceiveState::ALL, |report| report.receive_state)?;
        let help = "Level of the automatic fallback; 1 for the current level";
        self.state(encoder, "fallback_level", help, FallbackLevel::ALL, |report| report.fallback_level)
    }

    fn state<S: Copy + PartialEq + fmt::Display>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        states: &[S],
        now: fn(&LinkReport) -> S,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for report in &self.reports {
            for state in states {
                let labels = [label(&report.name), ("state", state.to_string())];
                family.encode_family(&labels)?.encode_gauge(&i64::from(now(report) == *state))?;
            }
        }
        Ok(())
    }

    fn encode_gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let flag = |value: bool| Some(f64::from(u8::from(value)));
        let help = "Measured actual loss rate of the sending direction";
        self.gauge(encoder, "measured_loss_ratio", help, |report| report.measured_loss)?;
        let help = "Retransmitted copies per lost frame";
        self.gauge(encoder, "copies", help, |report| Some(f64::from(report.copies)))?;
        let help = "Whether protection was requested";
        self.gauge(encoder, "protection_requested", help, |report| flag(report.protection_requested))?;
        let help = "Whether the peer speaks Linkmend";
        self.gauge(encoder, "peer_known", help, |report| flag(report.peer_known))?;
        let help = "Whether the peer has paused the normal queue";
        self.gauge(encoder, "paused", help, |report| flag(report.paused))?;
        let help = "Measured round trip between the link ends";
        self.gauge(encoder, "link_rtt_seconds", help, |report| {
            report.parameters.link_rtt_ns.map(|ns| ns as f64 / NS_PER_S)
        })?;
        let help = "Time since the link end started";
        self.gauge(encoder, "uptime_seconds", help, |report| Some(report.uptime_s))
    }

    fn gauge(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&LinkReport) -> Option<f64>,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for report in &self.reports {
            if let Some(value) = value(report) {
                family.encode_family(&[label(&report.name)])?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    fn encode_buffers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        type Buffer = fn(&LinkReport) -> BufferReport;
        let buffers: [(&str, &str, Buffer); 3] = [
            ("tx_buffer", "the Tx buffer", |report| report.tx_buffer),
            ("rx_buffer", "the Rx buffer", |report| report.rx_buffer),
            ("queue", "the queue of frames that wait for the link", |report| report.queue),
        ];
        for (name, place, buffer) in buffers {
            let now = |report: &LinkReport| Some(buffer(report).now as f64);
            self.gauge(encoder, &format!("{name}_bytes"), &format!("Bytes in {place} now"), now)?;
            let most = |report: &LinkReport| Some(buffer(report).max as f64);
            let help = format!("Maximum number of bytes in {place} since the extremes were reset");
            self.gauge(encoder, &format!("{name}_max_bytes"), &help, most)?;
        }
        Ok(())
    }

    fn histogram(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        values: impl Fn(&LinkReport) -> HistogramReport,
        exponents: std::ops::RangeInclusive<u32>,
        divisor: f64,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for report in &self.reports {
            let histogram = values(report);
            let buckets = fixed_buckets(&histogram, exponents.clone(), divisor);
            let sum = histogram.sum as f64 / divisor;
            let labels = [label(&report.name)];
            let mut metric = family.encode_family(&labels)?;
            metric.encode_histogram::<[Label; 0]>(sum, histogram.count, &buckets, None)?;
        }
        Ok(())
    }
}

/// Fixed buckets, so that every answer has the same ones. Values beyond them go into the first or the last.
fn fixed_buckets(
    histogram: &HistogramReport,
    exponents: std::ops::RangeInclusive<u32>,
    divisor: f64,
) -> Vec<(f64, u64)> {
    let mut below = 0;
    let mut buckets = Vec::new();
    let up_to = |edge: u64| -> u64 {
        histogram.buckets.iter().filter(|(upper, _)| *upper <= edge).map(|(_, count)| count).sum()
    };
    for exponent in exponents {
        let edge = (1u64 << exponent) - 1;
        let cumulative = up_to(edge);
        buckets.push((edge as f64 / divisor, cumulative - below));
        below = cumulative;
    }
    buckets.push((f64::INFINITY, histogram.count.saturating_sub(below)));
    buckets
}

/// A report in which every number is different, so that a mix-up of two shows.
#[cfg(test)]
pub(super) fn sample() -> LinkReport {
    let mut report = LinkReport { name: "uplink".to_owned(), ..LinkReport::default() };
    let mut value = serde_json::to_value(&report.counters).expect("plain numbers");
    let fields = value.as_object_mut().expect("a struct").values_mut();
    for (number, field) in (1..).zip(fields) {
        *field = serde_json::Value::from(number);
    }
    report.counters = serde_json::from_value(value).expect("the same struct");
    report.counters.paused_ns = 1_500_000_000;
    report.inner.interface = "eth1".to_owned();
    report.inner.rx_frames = 101;
    report.link.interface = "eth2".to_owned();
    report.link.tx_bytes = 102;
    report.transmit_state = TransmitState::Active;
    report.receive_state = ReceiveState::Listening;
    report.fallback_level = FallbackLevel::Full;
    report.measured_loss = Some(1e-3);
    report.copies = 2;
    report.rx_buffer = BufferReport { now: 5, min: 1, max: 9 };
    report.recovery_latency_ns = HistogramReport {
        count: 4,
        sum: 20_000_000_600,
        max: 19_999_999_000,
        p50: 0,
        p99: 0,
        buckets: vec![(511, 1), (65_535, 2), (u64::MAX, 1)],
    };
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_golden_one() {
        let page = encode(vec![sample()], vec!["downlink".to_owned()]);
        expect_test::expect_file!["golden/metrics.txt"].assert_eq(&page);
    }

    #[test]
    fn values_beyond_the_buckets_are_counted() {
        let page = encode(vec![sample()], Vec::new());
        assert!(page.contains(
            "linkmend_recovery_latency_seconds_bucket{le=\"0.000001023\",link=\"uplink\"} 1
"
        ));
        assert!(page.contains("linkmend_recovery_latency_seconds_bucket{le=\"+Inf\",link=\"uplink\"} 4\n"));
    }
}
