//! Shows what a running `corruptd` knows.

use super::StatusArgs;
use crate::failure::Result;
use crate::output::{print, terminal};
use linkmend_monitor::agent::{AgentStatus, PortStatus};
use linkmend_monitor::daemon::ask;
use linkmend_monitor::detection::State;
use linkmend_monitor::exchange::Effect;
use linkmend_report::quantity::{count, duration, loss_rate};
use linkmend_report::{Alignment, Cell, Column, Table};
use std::time::{SystemTime, UNIX_EPOCH};

/// Width of tables where there is no terminal.
const WIDTH: usize = 120;

pub(super) fn execute(arguments: &StatusArgs) -> Result<()> {
    let status = ask(&arguments.control)?;
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&status)?,
        false => table(&status, arguments.all),
    };
    Ok(print(&text)?)
}

/// The ports as a table: all, or those about which there is something to say.
pub(super) fn table(status: &AgentStatus, all: bool) -> String {
    let title = title(status);
    let mut table = Table::new(title.clone());
    for name in ["port", "sender"] {
        table = table.column(Column::name(name));
    }
    table = table.column(Column::text("state"));
    for name in ["loss rate", "corrupted", "of frames"] {
        table = table.column(Column::text(name).align(Alignment::Right));
    }
    for name in ["requested", "done", ""] {
        table = table.column(Column::text(name));
    }
    let shown: Vec<&PortStatus> = status.ports.iter().filter(|port| all || has_news(port)).collect();
    for port in &shown {
        table.push_row(cells(port));
    }
    let (width, colour) = terminal(WIDTH);
    let rendered =
        if shown.is_empty() { String::new() } else { table.note(note(status)).to_text(width, colour) };
    let rendered = if rendered.is_empty() { format!("{title}: {}\n", note(status)) } else { rendered };
    rendered + &alarms(status).iter().map(|alarm| format!("  ! {alarm}\n")).collect::<String>()
}

fn title(status: &AgentStatus) -> String {
    let dry_run = if status.dry_run { "  (dry run: no changes are made)" } else { "" };
    format!("corruptd at {}{dry_run}", status.agent)
}

/// What nobody should overlook.
fn alarms(status: &AgentStatus) -> Vec<String> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut alarms = status.troubles.clone();
    let Some(plan) = &status.plan else { return alarms };
    alarms.extend(plan.disabled.iter().map(|link| {
        let what = match (status.dry_run, link.failing) {
            (true, _) => "WOULD BE DISABLED",
            (false, true) => "COULD NOT BE DISABLED, retrying,",
            (false, false) => "DISABLED",
        };
        let [one, other] = &link.ports;
        let since = link.since_s.map_or_else(String::new, |since| format!(" for {}", ago(now_s, since)));
        let next = match link.trial_at_s {
            _ if link.on_trial => "; on trial now".to_owned(),
            Some(at) => format!("; next trial in {}", ago(at, now_s)),
            None => String::new(),
        };
        let failed = match link.failed_trials {
            0 => String::new(),
            1 => ", after 1 failed trial".to_owned(),
            many => format!(", after {many} failed trials"),
        };
        format!("{what}{since}: {one} - {other} {}{next}{failed}", link.link)
    }));
    alarms.extend(plan.held.iter().map(|link| {
        let [one, other] = &link.ports;
        let until = link.until_s.map_or_else(String::new, |until| format!("; in {}", ago(until, now_s)));
        let what = if link.unsure { "not disabled" } else { "SHOULD BE DISABLED" };
        format!("{what}: {one} - {other}: {}{until}", link.reason)
    }));
    alarms
}

/// The time between two moments in seconds.
fn ago(later_s: u64, earlier_s: u64) -> String {
    duration(later_s.saturating_sub(earlier_s) as f64)
}

fn has_news(port: &PortStatus) -> bool {
    let quiet = matches!(port.state, Some(State::Healthy) | None);
    let asked = port.request.as_ref().is_some_and(|request| request.protection.is_some());
    let is_abnormal = port.optics.as_ref().is_some_and(|optics| !optics.abnormal.is_empty());
    let speaks = port.irregularity.is_some() || port.expected_loss_rate.is_some() || is_abnormal;
    !quiet || asked || has_failed(port) || speaks
}

/// Whether what was asked for could not be done.
fn has_failed(port: &PortStatus) -> bool {
    port.acknowledgement.as_ref().is_some_and(|done| done.effect == Effect::Failed)
}

fn note(status: &AgentStatus) -> String {
    let is_unsettled = |port: &&PortStatus| port.state == Some(State::Healthy) && has_failed(port);
    let works = |port: &&PortStatus| !port.down && !is_unsettled(port);
    let states = |state| status.ports.iter().filter(works).filter(|port| port.state == Some(state)).count();
    let watched = status.ports.iter().filter(|port| port.state.is_some()).count();
    let mut note = format!("{watched} port{}", if watched == 1 { "" } else { "s" });
    for state in [State::Healthy, State::Suspect, State::Corrupting, State::Severe, State::Unknown] {
        if states(state) > 0 {
            note.push_str(&format!(", {} {}", states(state), state.name()));
        }
    }
    let down = status.ports.iter().filter(|port| port.down).count();
    let failed = status.ports.iter().filter(is_unsettled).count();
    for (count, what) in [(down, "down"), (failed, "healthy with a failed request")] {
        if count > 0 {
            note.push_str(&format!(", {count} {what}"));
        }
    }
    if !status.synchronised {
        note.push_str("; the bus is unreachable, so no new protection is requested");
    }
    let corrupt = status.ports.iter().any(|port| port.state.is_some_and(State::corrupts));
    if corrupt && !status.knows_topology {
        note.push_str(
            "; frames may have been corrupted upstream; to find out, give a network file with --cables-from",
        );
    }
    if status.refused_ports > 0 {
        note.push_str(&format!(
            "; {} cannot be monitored; see the log for their names",
            status.refused_ports
        ));
    }
    note
}

fn cells(port: &PortStatus) -> [Cell; 9] {
    let state = port.state.map_or_else(Cell::missing, |state| {
        if port.down {
            return Cell::text("down").neutral();
        }
        let cell = Cell::text(state.name());
        match state {
            State::Healthy => cell.good(),
            State::Corrupting | State::Severe => cell.bad(),
            State::Suspect | State::Unknown => cell.neutral(),
        }
    });
    let rate = match port.loss_rate {
        Some(rate) if port.corrupted_frames > 0 => Cell::text(loss_rate(rate)),
        Some(_) => Cell::text("0"),
        None => Cell::missing(),
    };
    let asked = port.request.as_ref().map(|request| match (request.protection, &request.downstream_of) {
        (_, Some(upstream)) => format!("nothing: downstream of {upstream}"),
        (Some(protection), None) => format!("{}, copies {}", protection.mode, protection.copies),
        (None, None) => "nothing".to_owned(),
    });
    let asked = asked.map(|asked| if port.recorded { format!("{asked} (recorded)") } else { asked });
    let done = match (&port.request, &port.acknowledgement) {
        (Some(request), Some(done)) if done.generation == request.generation => done.effect.name(),
        (Some(_), _) if port.recorded => "once confirmed",
        (Some(_), _) if port.sender.is_none() => "its sender is unknown",
        (Some(_), _) => "not yet",
        (None, _) => "-",
    };
    [
        Cell::text(port.port.to_string()),
        port.sender.as_ref().map_or_else(Cell::missing, |sender| Cell::text(sender.to_string())),
        state,
        rate,
        Cell::text(count(port.corrupted_frames as f64)),
        Cell::text(count(port.frames as f64)),
        Cell::text(asked.unwrap_or_else(|| "-".to_owned())),
        Cell::text(done),
        Cell::text(remark(port)),
    ]
}

fn remark(port: &PortStatus) -> String {
    let error = port.acknowledgement.as_ref().and_then(|done| done.error.clone());
    let disable =
        port.request.as_ref().filter(|request| request.disable).map(|_| "should be disabled".to_owned());
    let ends = port.hold_down_s.map(|time| match time > 0.0 {
        true => format!("may end in {}", duration(time)),
        false => "waiting for frames".to_owned(),
    });
    let expected =
        port.forecast.filter(|_| port.expected_loss_rate.is_some()).map(|forecast| forecast.to_string());
    let why = port.irregularity.clone().filter(|_| !port.down);
    let abnormal = port.optics.as_ref().map(|optics| optics.abnormal.join("; "));
    let optics = match &port.advice {
        Some(advice) => Some(advice.to_string()),
        None => abnormal.filter(|abnormal| !abnormal.is_empty()),
    };
    let remarks = [disable.filter(|_| !port.down), error, optics, expected, why, ends];
    remarks.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A status with these ports, and more.
    fn status(ports: &[Value], more: &Value) -> AgentStatus {
        let mut status = json!({ "agent": "tor1", "synchronised": true, "refused_ports": 0, "ports": ports });
        let fields = status.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        serde_json::from_value(status).expect("a status")
    }

    fn port(name: &str, state: &str, more: &Value) -> Value {
        let mut port = json!({ "port": name, "sender": "agg1/Ethernet128", "state": state, "corrupted_frames": 0, "frames": 9 });
        port.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        port
    }

    #[test]
    fn names_are_whole_and_a_port_whose_request_failed_is_not_simply_healthy() {
        let protection = json!({ "mode": "ordered", "loss-rate": 1e-3, "target": 1e-8, "copies": 2 });
        let request = json!({ "generation": 3, "reason": "a test", "protection": protection });
        let failed = json!({ "generation": 3, "effect": "failed", "error": "the hook /usr/local/sbin/protect failed: no such port" });
        let ports = [
            port("tor1/Ethernet128", "corrupting", &json!({ "request": request, "acknowledgement": failed })),
            port(
                "tor1/Ethernet132",
                "healthy",
                &json!({ "request": { "generation": 3, "reason": "" }, "acknowledgement": failed }),
            ),
            port("tor1/Ethernet136", "unknown", &json!({ "down": true })),
            port("tor1/Ethernet140", "healthy", &json!({})),
        ];
        let text = table(&status(&ports, &json!({})), false);
        for name in ["tor1/Ethernet128", "tor1/Ethernet132", "tor1/Ethernet136", "agg1/Ethernet128"] {
            assert!(text.contains(name), "{name}: {text}");
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = "4 ports, 1 healthy, 1 corrupting, 1 down, 1 healthy with a failed request";
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn a_suggestion_is_beside_its_port_and_abnormal_optics_are_news() {
        let advice = json!({ "repair": "clean-connectors", "at": "tor1/Ethernet0", "ground": "receive power -9.0 dBm" });
        let module = json!({ "vendor": "ACME", "part": "LR4", "serial": "1" });
        let optics = json!({ "module": module, "finding": {}, "abnormal": ["temperature 81.0 °C"] });
        let ports = [
            port("tor1/Ethernet0", "corrupting", &json!({ "advice": advice })),
            port("tor1/Ethernet4", "healthy", &json!({ "optics": optics })),
        ];
        let text = table(&status(&ports, &json!({})), false);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["clean the connectors of the cable", "(receive power -9.0 dBm)", "temperature 81.0 °C"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_is_disabled_and_what_does_not_work_is_below_the_table_of_healthy_ports() {
        let ports = ["tor1/Ethernet0", "agg1/Ethernet0"];
        let disabled = json!([{ "ports": ports, "link": "tor1--agg1", "reason": "", "since_s": 0, "on_trial": true, "failed_trials": 2 }]);
        let failing = json!({ "ports": ports, "link": "L5", "reason": "", "since_s": 0, "on_trial": false, "failed_trials": 0, "failing": true });
        let disabled = json!([disabled[0], failing]);
        let held = json!([{ "ports": ports, "reason": "it waits" }]);
        let plan = json!({ "disabled": disabled, "held": held });
        let more = json!({ "troubles": ["the hook /x cannot be run"], "plan": plan });
        let text = table(&status(&[port("tor1/Ethernet4", "healthy", &json!({}))], &more), false);
        let alarms: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ! ")).collect();
        assert_eq!(alarms[0], "the hook /x cannot be run");
        assert!(
            alarms[1].starts_with("DISABLED for ")
                && alarms[1].contains("on trial now, after 2 failed trials")
        );
        assert!(alarms[2].starts_with("COULD NOT BE DISABLED, retrying, for "), "{alarms:?}");
        assert_eq!(alarms[3], "SHOULD BE DISABLED: tor1/Ethernet0 - agg1/Ethernet0: it waits");
    }
}
