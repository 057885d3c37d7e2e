//! `linkmend status`: the state of links, for people and for programs.

mod both_links;
mod in_time;
mod udp;
mod watch;

use crate::commands::arguments::StatusArgs;
use crate::failure::Result;
use crate::output::print;
use linkmend_control::health::BACKLOG_HINT;
use linkmend_control::report::{
    BufferReport, CountersReport, DaemonReport, FailoverReport, FallbackLevel, Format, KeyTrouble,
    PortReport, PortState, Steering, ThirdEndReport, TransmitState,
};
use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_report::quantity::{bytes, count, duration, loss_rate, percent};
use std::fmt::Write;

/// Share of stolen processor time from which on `status` reports it.
const STOLEN_SHARE_TOLD: f64 = 0.02;

/// Executes the command.
pub(crate) fn execute(arguments: &StatusArgs) -> Result<()> {
    if let Some(interval_s) = arguments.watch {
        return watch::execute(arguments, interval_s);
    }
    let reports = reports(arguments)?;
    if !arguments.json {
        let blocks: Vec<String> = reports.iter().map(describe).collect();
        return Ok(print(&blocks.join("\n"))?);
    }
    let text = match (&arguments.name, &reports[..]) {
        (Some(_), [report]) => serde_json::to_string_pretty(report)?,
        _ => serde_json::to_string_pretty(&reports)?,
    };
    Ok(print(&text)?)
}

/// The reports of the links that were asked for.
fn reports(arguments: &StatusArgs) -> Result<Vec<LinkReport>> {
    let name = arguments.name.as_deref();
    let clients = match name {
        Some(name) => vec![arguments.daemons.serving(name)?],
        None => arguments.daemons.all()?,
    };
    let mut reports = Vec::new();
    for mut client in clients {
        reports.extend(client.status(name)?);
        if arguments.reset_extremes {
            client.reset_extremes(name)?;
        }
    }
    Ok(reports)
}

/// Describes a link in about a dozen lines of at most 80 columns.
pub fn describe(report: &LinkReport) -> String {
    let mut text = String::new();
    let LinkReport { name, inner, link, pid, counters, parameters, .. } = report;
    if let Some(why) = &report.gone {
        let _ = writeln!(text, "{name}: {} <-> {}, pid {pid}", inner.interface, link.interface);
        let _ = writeln!(text, "  {:<12} OUT OF OPERATION: {why}", "state");
        return text;
    }
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{name}: {} <-> {}, pid {pid}, up {}",
        inner.interface,
        link_names(report),
        duration(report.uptime_s)
    );
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<12} {value}");
    };
    line("sending", &sending(report));
    if report.set_at_run_time {
        let restart = if report.restart_forgets { "forgets" } else { "keeps" };
        line("", &format!("set at run time, differs from the configuration; a restart {restart} it"));
    }
    line("receiving", &receiving(report));
    line("peer", &peer(report));
    if let Some(third) = &report.third_end {
        line("", &third_end(third));
    }
    if let Some(failover) = &report.failover {
        for (label, text) in failover_lines(failover) {
            line(label, &text);
        }
    }
    if let Some(corruption) = report.corruption {
        let dropped = count(counters.corrupted_frames as f64);
        line("corruption", &format!("on purpose: {}; {dropped} frames dropped", model(corruption)));
    }
    if let Some(corruption) = report.failover.as_ref().and_then(|failover| failover.backup_corruption) {
        line("", &format!("on purpose on the backup: {}", model(corruption)));
    }
    line("loss before", &loss(counters.lost_frames, counters));
    line("loss after", &loss(counters.given_up_frames(), counters));
    for (place, text) in report.in_time.iter().flat_map(in_time::lines).enumerate() {
        line(if place == 0 { "in time" } else { "" }, &text);
    }
    let latency = &report.recovery_latency_ns;
    if latency.count > 0 {
        let [p50, p99, max] = [latency.p50, latency.p99, latency.max].map(time);
        line("recovery", &format!("within {p50} (half), {p99} (99 %), {max} (all)"));
    }
    if parameters.recovery_timeout_ns > 0 {
        line("timeout", &format!("gives up on a frame after {}", time(parameters.recovery_timeout_ns)));
    }
    for (label, buffer, bound) in [
        ("Tx buffer", report.tx_buffer, Some(parameters.tx_buffer_bytes)),
        ("Rx buffer", report.rx_buffer, Some(parameters.rx_buffer_bytes)),
        ("queue", report.queue, None),
    ] {
        line(label, &fill(buffer, bound));
    }
    for (label, text) in port_lines(report) {
        line(&label, &text);
    }
    for trouble in troubles(counters).into_iter().chain(daemon_troubles(&report.daemon)) {
        line("attention", &trouble);
    }
    text
}

/// The ports: what passed them, and of what kind they are.
fn port_lines(report: &LinkReport) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (side, report) in report.ports() {
        lines.push((format!("{} port", side.word()), port(report)));
        let mode = report.xdp_mode.as_ref().map(|mode| format!("{mode} XDP"));
        let how =
            [Some(report.description.clone()), mode].into_iter().flatten().filter(|text| !text.is_empty());
        let how: Vec<String> = how.collect();
        if !how.is_empty() {
            lines.push((String::new(), how.join(", ")));
        }
        for text in report.udp.iter().flat_map(udp::lines) {
            lines.push((String::new(), text));
        }
        if let Some(steering) = report.steering {
            lines.push((String::new(), steering_text(steering).to_owned()));
        }
    }
    lines
}

/// The interfaces that face the other end.
fn link_names(report: &LinkReport) -> String {
    let links = report.ports().filter(|(side, _)| side.is_on_link());
    links.map(|(_, port)| port.interface.as_str()).collect::<Vec<_>>().join(" and ")
}

/// A link that loses more of its frames is not called ready: three of the 128 probes by which it is judged.
const LOSS_OF_A_READY_LINK: f64 = 0.025;

/// Of a link end with two links: which of them is in use, how the other one is, and what the last change has cost.
pub fn failover_lines(failover: &FailoverReport) -> Vec<(&'static str, String)> {
    let FailoverReport { active, preferred, heard, .. } = failover;
    let wish = if active == preferred { "preferred" } else { "the preferred one is not" };
    let (other, index) = (active.other(), active.other().index());
    let state = match (failover.peer_watches, heard[index], failover.peer_is_deaf[index]) {
        _ if failover.crossed => "is NOT READY: its probes arrive on the other link".to_owned(),
        _ if let Some(stranger) = &failover.strangers[index] => {
            format!("is NOT READY: a different end, {stranger}, answers there")
        }
        (false, ..) => "is not monitored by the peer".to_owned(),
        (true, false, _) => "is NOT READY: nothing arrives from the peer there".to_owned(),
        (true, true, true) => "is NOT READY: nothing from this end reaches the peer there".to_owned(),
        _ if failover.loses_full_size[index] => "is NOT READY: full-size frames are lost there".to_owned(),
        _ if failover.loss[index] > LOSS_OF_A_READY_LINK => {
            format!("is NOT CLEAN: it loses {} of its frames", percent(failover.loss[index]))
        }
        _ => "is ready".to_owned(),
    };
    let mut lines = vec![("links", format!("the {active} is in use ({wish}); the {other} {state}"))];
    lines.extend(both_links::lines(failover).into_iter().map(|text| ("", text)));
    if failover.loses_full_size[active.index()] {
        let text = match failover.loses_full_size[index] {
            false => format!("full-size frames are LOST on the {active}"),
            true => "NEITHER LINK passes full-size frames: raise the MTU between the ends".to_owned(),
        };
        lines.push(("", text));
    }
    if failover.crossed {
        lines.push(("", "the CABLES ARE SWAPPED at one end, or --link and --backup are".to_owned()));
    }
    if let Some(last) = &failover.last {
        let gap = last.gap_ns.map_or("gap not known yet".to_owned(), |gap| format!("gap {}", time(gap)));
        let frames = count(last.resent_frames as f64);
        let (to, reason) = (last.to, last.reason);
        let ago = duration(last.ago_s);
        lines.push((
            "last change",
            format!("to the {to} {ago} ago ({reason}): {frames} frames retransmitted, {gap}"),
        ));
    }
    lines
}

fn steering_text(steering: Steering) -> &'static str {
    match steering {
        Steering::Linkmend => "each flow is pinned to one processor (steering set with the bypass)",
        Steering::Operator => "receive packet steering left as configured",
    }
}

fn sending(report: &LinkReport) -> String {
    if !report.protection_requested {
        return format!("{}: protection is off", report.transmit_state);
    }
    if report.is_suspended {
        return format!("{}: SUSPENDED while there is a third end on the link", report.transmit_state);
    }
    let noun = if report.copies == 1 { "copy" } else { "copies" };
    let mut text =
        format!("{}: {}, {} {noun} of a lost frame", report.transmit_state, report.mode, report.copies);
    if let Some(loss) = report.measured_loss {
        let _ = write!(text, ", measured loss {}", loss_rate(loss));
    }
    if report.fallback_level != FallbackLevel::Full {
        let _ = write!(text, "; FALLBACK to {}", report.fallback_level);
    }
    if report.paused {
        text.push_str("; paused by the peer");
    }
    text
}

fn receiving(report: &LinkReport) -> String {
    let counters = &report.counters;
    let delivered = count(counters.delivered_frames as f64);
    format!("{}: {delivered} protected frames delivered", report.receive_state)
}

fn peer(report: &LinkReport) -> String {
    if let Some(peer) = report.mismatched_format {
        let own = report.parameters.format;
        return format!("uses format {peer}, but this end uses {own}; set the same");
    }
    if let Some(trouble) = report.key_trouble {
        return match trouble {
            KeyTrouble::OtherHasNone => "has no key, but this end has one; set the same key, or none",
            KeyTrouble::KeysDiffer => "has a different key; set the same key at both ends",
            KeyTrouble::OnlyOtherHas => "has a key, but this end has none; set the same key, or none",
        }
        .to_owned();
    }
    if report.parameters.format == Format::Linkguardian {
        // The authors' protocol has no hello.
        let answers = match report.transmit_state {
            TransmitState::Active => "it answers",
            _ => "it has not answered",
        };
        return format!("runs the published program according to the configuration; {answers}");
    }
    match (report.peer_known, report.parameters.link_rtt_ns) {
        (false, _) => "not detected: no Linkmend at the other end, or it is dormant".to_owned(),
        (true, None) => "runs Linkmend".to_owned(),
        (true, Some(rtt)) => format!("runs Linkmend, round trip {}", time(rtt)),
    }
}

fn third_end(third: &ThirdEndReport) -> String {
    match &third.peer_address {
        Some(peer) => format!("A THIRD END, {}, answers as well as {peer}", third.address),
        None => format!("OWN FRAMES of {} come back: the link is a loop", third.address),
    }
}

fn model(corruption: CorruptionModel) -> String {
    match corruption {
        CorruptionModel::Iid { rate } => loss_rate(rate),
        CorruptionModel::GilbertElliott { rate, mean_burst } => {
            format!("{} in bursts of {mean_burst}", loss_rate(rate))
        }
    }
}

/// The share of lost frames among those that should have been delivered.
fn loss(lost: u64, counters: &CountersReport) -> String {
    let expected = counters.expected_frames();
    match (lost, expected) {
        (_, 0) => "no protected frames yet".to_owned(),
        (0, _) => format!("none of {}", count(expected as f64)),
        _ => format!("{} ({} frames)", loss_rate(lost as f64 / expected as f64), count(lost as f64)),
    }
}

fn fill(buffer: BufferReport, bound: Option<u64>) -> String {
    let [now, min, max] = [buffer.now, buffer.min, buffer.max].map(|value| bytes(value as f64));
    let of = bound.map(|bound| format!(" of {}", bytes(bound as f64))).unwrap_or_default();
    format!("{now}{of} (since reset {min} to {max})")
}

fn port(port: &PortReport) -> String {
    let [rx, tx] = [port.rx_frames, port.tx_frames].map(|frames| count(frames as f64));
    let mut text = format!("{rx} in, {tx} out; MTU {}", port.mtu);
    if matches!(port.state, PortState::Down | PortState::NoCarrier) {
        let _ = write!(text, "; {}", port.state.word().to_uppercase());
    }
    if port.bypassed_frames > 0 {
        let _ = write!(text, "; {} bypassed", count(port.bypassed_frames as f64));
    }
    if port.bypass_drops > 0 {
        let _ = write!(text, "; {} unusable frames dropped by the bypass", count(port.bypass_drops as f64));
    }
    if port.drops > 0 {
        let _ = write!(text, "; {} LOST at the socket", count(port.drops as f64));
    }
    for (drops, place) in [
        (port.kernel_rx_drops, "in the kernel on arrival"),
        (port.kernel_queue_drops, "in the port's queue"),
        (port.kernel_tx_drops, "in the driver on departure"),
        (port.bypass_failed_redirects, "between the ports (too long for the other port)"),
    ] {
        if drops > 0 {
            let _ = write!(text, "; {} LOST {place}", count(drops as f64));
        }
    }
    text
}

/// Lists the counters that should be 0 but are not.
fn troubles(counters: &CountersReport) -> Vec<String> {
    [
        (counters.queue_drops, "frames dropped because the queue was full or did not empty"),
        (counters.inner_port_drops, "frames that the inner port did not accept"),
        (counters.oversize_dropped_frames, "frames too long for the link"),
        (
            counters.ambiguous_frames,
            "frames of a host dropped because the other end could mistake them for Linkmend's",
        ),
        (
            counters.oversize_unprotected_frames,
            "frames sent unprotected because a header would make them too long",
        ),
        (counters.rx_buffer_overflows, "frames dropped because the Rx buffer was full"),
        (counters.recovery_timeouts, "frames given up after a timeout"),
        (counters.withdrawn_frames, "frames given up after the peer's last copy was lost"),
        (counters.unrecovered_frames, "frames given up because a session ended"),
        (counters.peers_lost, "times the peer fell silent"),
        (counters.malformed_frames, "malformed frames"),
        (counters.control_rejected, "control frames rejected"),
        (counters.forged_frames, "frames without the peer's tag, dropped"),
        (counters.strange_frames, "control frames that are not from the peer, ignored"),
        (counters.stalls, "stalls of the daemon"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", count(number as f64)))
    .collect()
}

/// Parts of the daemon that do not work, and the processor time that its host takes.
fn daemon_troubles(daemon: &DaemonReport) -> Vec<String> {
    let mut troubles = daemon.troubles.clone();
    if daemon.log_lines_lost > 0 {
        let lines = count(daemon.log_lines_lost as f64);
        troubles.push(format!("{lines} log lines could not be written"));
    }
    if daemon.backlog_drops > 0 {
        let frames = count(daemon.backlog_drops as f64);
        troubles.push(format!("the machine's receive backlog dropped {frames} frames ({BACKLOG_HINT})"));
    }
    if let Some(share) = daemon.stolen_share.filter(|share| *share >= STOLEN_SHARE_TOLD) {
        let percent = (share * 100.0).round();
        troubles.push(format!("the host takes {percent} % of the processor time needed here (steal)"));
    }
    troubles
}

fn time(ns: u64) -> String {
    duration(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_control::report::{HistogramReport, Mode, ReceiveState};

    #[test]
    fn a_link_in_a_dozen_lines() {
        let mut report =
            LinkReport { name: "uplink".to_owned(), pid: 7, uptime_s: 93.0, ..LinkReport::default() };
        report.inner =
            PortReport { interface: "eth1".into(), description: "AF_XDP".into(), mtu: 1500, ..report.inner };
        report.inner.xdp_mode = Some("generic".to_owned());
        report.inner.steering = Some(Steering::Linkmend);
        report.link = PortReport { interface: "eth2".into(), drops: 3, mtu: 1508, ..report.link };
        report.link.state = PortState::NoCarrier;
        (report.transmit_state, report.receive_state) = (TransmitState::Active, ReceiveState::Active);
        (report.mode, report.copies, report.protection_requested) = (Mode::Ordered, 2, true);
        (report.fallback_level, report.measured_loss) = (FallbackLevel::Full, Some(1e-3));
        (report.peer_known, report.parameters.link_rtt_ns) = (true, Some(120_000));
        report.counters.delivered_frames = 1_000_000;
        report.counters.lost_frames = 1_000;
        report.counters.queue_drops = 12;
        report.recovery_latency_ns =
            HistogramReport { count: 9, p50: 131_071, p99: 262_143, max: 300_000, ..Default::default() };
        expect_test::expect_file!["../../../tests/golden/status.txt"].assert_eq(&describe(&report));
    }

    #[test]
    fn a_peer_with_another_format_is_named_with_the_way_out() {
        let mut report = LinkReport { mismatched_format: Some(Format::Compact), ..LinkReport::default() };
        report.parameters.format = Format::Transparent;
        let text = describe(&report);
        assert!(text.contains("uses format compact, but this end uses transparent; set the same"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn an_end_to_which_a_link_leads_by_mistake_is_named_and_suspends_nothing_if_the_other_link_is_clean() {
        let failover = FailoverReport {
            peer_watches: true,
            heard: [true; 2],
            strangers: [None, Some("02:00:00:00:00:03".to_owned())],
            ..FailoverReport::default()
        };
        let mut report =
            LinkReport { failover: Some(failover), protection_requested: true, ..LinkReport::default() };
        let named = "the backup is NOT READY: a different end, 02:00:00:00:00:03, answers there";
        assert!(describe(&report).contains(named), "{}", describe(&report));
        report.third_end = Some(ThirdEndReport::default());
        assert!(!describe(&report).contains("SUSPENDED"), "{}", describe(&report));
        report.is_suspended = true;
        assert!(describe(&report).contains("SUSPENDED"), "{}", describe(&report));
    }

    #[test]
    fn a_backlog_that_dropped_frames_is_named_with_the_way_out() {
        let mut report = LinkReport::default();
        assert!(!describe(&report).contains("backlog"));
        report.daemon.backlog_drops = 1139;
        let text = describe(&report);
        let line =
            text.lines().find(|line| line.contains("backlog dropped 1,139 frames")).unwrap_or_default();
        assert!(line.contains("hint: sysctl -w net.core.netdev_max_backlog="), "{text}");
    }

    #[test]
    fn nothing_yet_is_said_so() {
        let text = describe(&LinkReport::default());
        assert!(text.contains("no protected frames yet") && text.contains("protection is off"), "{text}");
    }
}
