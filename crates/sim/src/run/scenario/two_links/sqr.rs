//! The same failures and frames with SQR: a host's frames, two switches, and two links between these.

use super::config::Setting;
use super::report::{CutRow, Delivered, TwoLinksRow};
use super::tally::Tally;
use super::world::micros;
use crate::link::{Frame, LinkConfig, LinkId, Observer, PortId, QueueLimits, Side, Traffic};
use crate::network::{Balance, Changed, Hosts, Network, Plan};
use crate::node::{Flow, NodeId};
use crate::scenario::{ParameterError, Progress};
use crate::time::Time;
use linkmend_protocol::Mode;

/// The links that fail and stand by, and those of the hosts.
const PRIMARY: LinkId = LinkId(0);
const BACKUP: LinkId = LinkId(1);
const SENDING_HOST: LinkId = LinkId(2);

/// Follows what the far switch gets.
#[derive(Debug, Default)]
struct Watch {
    tally: Tally,
}

impl Observer for Watch {
    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        if [PRIMARY, BACKUP].iter().any(|&link| port == PortId::new(link, Side::B)) {
            self.tally.deliver(at, frame.id);
        }
    }
}

/// Hosts of which nothing is asked: a generator sends.
#[derive(Debug, Default)]
struct SilentHosts {
    /// Frames that links corrupted.
    corrupted: u64,
}

impl Hosts for SilentHosts {
    const ANY: bool = true;

    fn sources(&self) -> usize {
        1
    }

    fn next_time(&self, _: usize) -> Time {
        Time::NEVER
    }

    fn act(&mut self, _: Time, _: usize, _: &mut Vec<Flow>) {}

    fn receive(&mut self, _: Time, _: NodeId, _: Frame) -> usize {
        0
    }

    fn poll_changed(&mut self) -> Option<Changed> {
        None
    }

    fn poll_frame(&mut self, _: Time, _: PortId) -> Option<Frame> {
        None
    }

    fn corrupted(&mut self, _: &Frame) {
        self.corrupted += 1;
    }

    fn dropped(&mut self, _: &Frame) {}
}

type SqrNetwork = Network<Watch, crate::link::Schemes, SilentHosts>;

/// Simulates; the result has what SQR has of a row.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(setting: &Setting<'_>, progress: &mut Progress<'_>) -> Result<TwoLinksRow, ParameterError> {
    let mut network = build(setting)?;
    let source = PortId::new(SENDING_HOST, Side::A);
    network.start_traffic();
    let mut times = setting.failures(PRIMARY, Time::ZERO);
    let (mut rows, mut counted): (Vec<CutRow>, u64) = (Vec::new(), 0);
    let last = setting.lasts();
    let mut wanted = true;
    while wanted && rows.len() < setting.config.cuts as usize && times.at() <= last {
        let at = times.at();
        wanted = run_until(&mut network, Time(at.0 + 1), source, progress);
        end_row(&mut rows, &network);
        // Where a switch is still busy with the failure before, the link has not been used again and does not fail.
        let cuts = network.failover_stats().cuts;
        if cuts > counted {
            counted = cuts;
            network.observer.tally.cut(at + setting.link.ingress_latency());
            rows.push(CutRow { at_us: micros(at), in_use: true, ..CutRow::default() });
        }
        times.skip_to(at);
    }
    let until = last + setting.config.every;
    wanted = wanted && run_until(&mut network, until, source, progress);
    end_row(&mut rows, &network);
    let stats = network.failover_stats();
    let queue = |link| network.normal_queue(PortId::new(link, Side::A)).2;
    let forward = Delivered::new(network.produced(source), &network.observer.tally);
    Ok(TwoLinksRow {
        forward,
        frames_cut: stats.lost_frames,
        // What a failed link has is corrupted as well.
        frames_corrupted: network.hosts.corrupted.saturating_sub(stats.lost_frames),
        frames_resent: stats.recovered_frames + stats.duplicate_frames,
        copies_sent: stats.recovered_frames + stats.duplicate_frames,
        steady_buffer_bytes: stats.steady_bytes_max,
        // Until it knows of a failure, a switch keeps what it always keeps.
        failed_buffer_bytes: stats.failed_bytes_max.max(stats.steady_bytes_max),
        queue_bytes: queue(PRIMARY).max(queue(BACKUP)),
        failovers: rows.len() as u64,
        drained: wanted && network.produced(source) == setting.frames(),
        interrupted: !wanted,
        ..TwoLinksRow::new(setting, "sqr", rows)
    })
}

fn build(setting: &Setting<'_>) -> Result<SqrNetwork, ParameterError> {
    let mut plan = Plan::new();
    let switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
    let hosts = [plan.host(), plan.host()];
    let queue = QueueLimits::UNLIMITED;
    let failing = LinkConfig { protection: None, queue, ..setting.link.clone() };
    let others = LinkConfig { queue, ..LinkConfig::clean(failing.rate) };
    plan.link(switches, failing.ports([0, 1]));
    plan.link(switches, failing.ports([0, 1]));
    plan.link([hosts[0], switches[0]], others.ports([0, 1]));
    plan.link([switches[1], hosts[1]], others.ports([0, 1]));
    plan.failing(setting.failing(PRIMARY));
    let traffic = Traffic::Paced {
        frames: setting.frames(),
        bytes: setting.link.frame_bytes as u16,
        modes: vec![setting.link.protection.map_or(Mode::Ordered, |protection| protection.mode)],
        interval: setting.interval(setting.config.load),
    };
    plan.traffic(PortId::new(SENDING_HOST, Side::A), hosts[1], traffic);
    Ok(plan.build_with_hosts(setting.config.seed, Watch::default(), SilentHosts::default())?)
}

/// Simulates up to a moment. `false` if it is not wanted any more.
fn run_until(network: &mut SqrNetwork, until: Time, source: PortId, progress: &mut Progress<'_>) -> bool {
    let produced = network.produced(source);
    network.run_while(until, |_| true, &mut || progress(produced)) && progress(network.produced(source))
}

fn end_row(rows: &mut [CutRow], network: &SqrNetwork) {
    if let Some(row) = rows.last_mut() {
        row.recovery_us = network.observer.tally.recovery().map(micros);
    }
}
