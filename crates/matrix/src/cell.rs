//! The checks of one card on one kernel.

use crate::card::Card;
use crate::kernel::{Kernel, Programs};
use crate::machine::{Machine, Setup};
use crate::pair::{Fate, Frames, LINK, Pair};
use linkmend_control::LinkReport;
use linkmend_control::report::{Path as Cable, PortReport, TransmitState};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The loss rate of the link, injected by the daemons at its ends.
const LOSS: &str = "1e-2";
/// Bytes that a frame may grow on the link.
const GROWTH: u32 = 8;
const USUAL_MTU: u32 = 1_500;
const ETHERNET_BYTES: u32 = 14;
/// Priority 5, VLAN 100.
const TAG: u16 = 5 << 13 | 100;
const TAG_BYTES: usize = 4;
/// Longer than usual, because the clocks of two machines that wait for one processor do not pass together.
const PEER_TIMEOUT: &str = "3s";
const ARGUMENTS: [&str; 4] = ["--loss", LOSS, "--peer-timeout", PEER_TIMEOUT];
/// How often frames are sent if daemons are stalled meanwhile.
const ATTEMPTS: u32 = 4;
/// How long a daemon stays dead.
const DEAD: Duration = Duration::from_secs(1);
/// Frames that are delivered before something is broken.
const BEFORE: u64 = 500;

/// What is checked, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Numbered frames in ordered mode.
    Ordered,
    /// Numbered frames in non-blocking mode.
    NonBlocking,
    /// Frames with a VLAN tag.
    Vlan,
    /// `kill -9` of the receiving daemon, and its restart.
    Kill,
    /// A dormant link, on which the kernel forwards, with daemons and without.
    Dormant,
    /// Frames of the card's largest MTU.
    Jumbo,
    /// A host port with offloads, which leaves the card its native XDP.
    Offloads,
    /// Numbered frames through AF_PACKET ports.
    Packet,
    /// A cable is pulled, and the other one takes over.
    Failover,
}

/// The checks of a full run, in their order.
pub const CHECKS: [Check; 9] = [
    Check::Ordered,
    Check::NonBlocking,
    Check::Vlan,
    Check::Kill,
    Check::Dormant,
    Check::Jumbo,
    Check::Offloads,
    Check::Packet,
    Check::Failover,
];

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// With its figures.
    Passed(String),
    /// With the reason.
    Failed(String),
}

/// The results of one card on one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Release of the kernel.
    pub kernel: String,
    pub card: String,
    /// Receive queues of the card.
    pub queues: u32,
    /// How the daemon uses the card, such as `native, copy`.
    pub port: String,
    /// The daemon's own description of this port.
    pub description: String,
    /// How it uses the card for jumbo frames.
    pub jumbo_port: Option<String>,
    /// How it uses the card beside a host port with offloads.
    #[serde(default)]
    pub offloads_port: Option<String>,
    pub checks: Vec<(Check, Outcome)>,
    /// How long everything took, in seconds.
    pub seconds: u64,
}

/// How much is checked.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub checks: &'a [Check],
    /// Frames of each of the first two checks; the others send a fifth of them.
    pub frames: u64,
}

impl Cell {
    /// Takes over the results of a later run of some checks.
    pub fn update(&mut self, later: Cell) {
        let is_kept = |check: &Check| later.checks.iter().all(|(other, _)| other != check);
        self.checks.retain(|(check, _)| is_kept(check));
        let Cell { checks, jumbo_port, offloads_port, port, description, queues, seconds, .. } = later;
        self.checks.extend(checks);
        self.checks.sort_by_key(|(check, _)| *check);
        self.jumbo_port = jumbo_port.or(self.jumbo_port.take());
        self.offloads_port = offloads_port.or(self.offloads_port.take());
        (self.port, self.description, self.queues, self.seconds) = (port, description, queues, seconds);
    }

    /// Whether every check has passed.
    pub fn is_passed(&self) -> bool {
        self.checks.iter().all(|(_, outcome)| matches!(outcome, Outcome::Passed(_)))
    }
}

/// Whether a kernel has what a host port with offloads requires: Linux 6.6.
fn has_offloads(release: &str) -> bool {
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(6))
}

/// How a port gets its frames, in a word or two.
pub fn port_kind(port: &PortReport) -> String {
    let Some(mode) = &port.xdp_mode else { return "AF_PACKET".to_owned() };
    let copies = if port.description.contains("AF_XDP zero-copy") { "zero-copy" } else { "copy" };
    format!("{mode}, {copies}")
}

/// Starts two machines and runs the checks of a plan. `said` is called with the result of each.
///
/// # Errors
/// If the machines or daemons cannot be started at all.
pub fn run(
    emulator: &Path,
    kernel: &Kernel,
    programs: &Programs,
    card: Card,
    plan: &Plan,
    mut said: impl FnMut(Check, &Outcome),
) -> io::Result<Cell> {
    let began = Instant::now();
    let folder = Folder::new()?;
    let cables = 2;
    let setup = Setup { emulator, kernel, programs, card, cables, folder: &folder.0 };
    let machines = Machine::pair(&setup)?;
    let release = machines[0].release.clone();
    let mut test = Test { pair: Pair::new(machines, card.driver(), cables)?, card, frames: plan.frames };
    test.pair.bring_up(USUAL_MTU + GROWTH)?;
    test.start(0, &[])?;
    test.start(1, &[])?;
    test.pair.wait_for(TransmitState::Active)?;
    let port = test.pair.status(1)?.link;
    let mut cell = Cell {
        kernel: release,
        card: card.name.to_owned(),
        queues: test.pair.cards[1][0].queues,
        port: port_kind(&port),
        description: port.description,
        jumbo_port: None,
        offloads_port: None,
        checks: Vec::new(),
        seconds: 0,
    };
    let possible = |check: &&Check| **check != Check::Offloads || has_offloads(&cell.kernel);
    let checks: Vec<Check> = plan.checks.iter().filter(possible).copied().collect();
    for check in &checks {
        let outcome = match test.check(*check, &mut cell) {
            Ok(figures) => Outcome::Passed(figures),
            Err(error) => Outcome::Failed(error.to_string()),
        };
        said(*check, &outcome);
        cell.checks.push((*check, outcome));
    }
    cell.seconds = began.elapsed().as_secs();
    Ok(cell)
}

struct Test {
    pair: Pair,
    card: Card,
    frames: u64,
}

impl Test {
    fn check(&mut self, check: Check, cell: &mut Cell) -> io::Result<String> {
        match check {
            Check::Ordered => self.numbered("ordered", None, self.frames),
            Check::NonBlocking => self.numbered("non-blocking", None, self.frames),
            Check::Vlan => self.numbered("ordered", Some(TAG), self.frames / 5),
            Check::Kill => self.kill(),
            Check::Dormant => self.dormant(),
            Check::Jumbo => self.jumbo(cell),
            Check::Offloads => self.offloads(cell),
            Check::Packet => self.packet(),
            Check::Failover => self.failover(),
        }
    }

    fn start(&mut self, which: usize, more: &[&str]) -> io::Result<()> {
        self.pair.start(which, &[&ARGUMENTS, more].concat())
    }

    fn restart(&mut self, mtu: u32, more: &[&str]) -> io::Result<()> {
        self.stop(mtu)?;
        (0..2).try_for_each(|which| self.start(which, more))?;
        self.protect("ordered")
    }

    /// Stops both daemons, and leaves the cards to themselves.
    fn stop(&mut self, mtu: u32) -> io::Result<()> {
        for which in 0..2 {
            self.pair.machines[which].ask(&crate::request::Request::Stop)?;
            // What an ended daemon has left would keep the ports in its way of using them.
            let cards: Vec<String> = self.pair.cards[which].iter().map(|card| card.name.clone()).collect();
            let names: Vec<&str> = cards.iter().map(String::as_str).collect();
            let _ = self.pair.run(which, &[&["detach"], &names[..]].concat());
        }
        self.pair.bring_up(mtu)
    }

    fn corrupt(&mut self, rate: &str) -> io::Result<()> {
        (0..2).try_for_each(|which| self.pair.run(which, &["corrupt", LINK, rate]).map(drop))
    }

    fn protect(&mut self, mode: &str) -> io::Result<()> {
        for which in 0..2 {
            self.pair.run(which, &["protect", LINK, "--mode", mode, "--loss", LOSS])?;
        }
        self.pair.wait_for(TransmitState::Active)
    }

    fn frames(&self, count: u64) -> Frames {
        Frames { count, bytes_max: (USUAL_MTU + ETHERNET_BYTES) as usize, vlan: None }
    }

    fn numbered(&mut self, mode: &str, vlan: Option<u16>, count: u64) -> io::Result<String> {
        self.protect(mode)?;
        self.corrupt(LOSS)?;
        // A tag counts towards the MTU that a header must fit into. Longer frames would pass unprotected.
        let tag_bytes = vlan.map_or(0, |_| TAG_BYTES);
        let frames = self.frames(count);
        let bytes_max = frames.bytes_max - tag_bytes;
        self.deliver(Frames { vlan, bytes_max, ..frames }, mode == "ordered")
    }

    /// Sends frames over the corrupting link, all of which must arrive. If a daemon was stalled meanwhile, the kernel has
    /// forwarded without it, and they are sent again.
    fn deliver(&mut self, frames: Frames, is_ordered: bool) -> io::Result<String> {
        let mut repeated = String::new();
        for attempt in 1.. {
            let before = [self.pair.status(0)?, self.pair.status(1)?];
            let executed = self.instructions()?;
            let fate = self.pair.send(frames, |_, _| Ok(()))?;
            let executed =
                self.instructions()?.into_iter().zip(executed).map(|(after, before)| after - before);
            let after = [self.pair.status(0)?, self.pair.status(1)?];
            let counted = |count: fn(&LinkReport) -> u64| count(&after[1]) - count(&before[1]);
            let corrupted = counted(|report| report.counters.corrupted_frames);
            let recovered = counted(|report| report.counters.recovered_frames);
            let a_frame: Vec<String> =
                executed.map(|count| (count / fate.received.received.max(1)).to_string()).collect();
            let figures = format!(
                "{}, {corrupted} corrupted, {recovered} recovered, {} instructions a frame{repeated}",
                described(&fate),
                a_frame.join(" and "),
            );
            let is_complete = fate.sent.sent == frames.count && fate.lost() == 0;
            let is_clean = fate.received.duplicated == 0 && fate.received.changed == 0;
            if is_complete && is_clean && (fate.received.reordered == 0 || !is_ordered) && corrupted > 0 {
                return Ok(figures);
            }
            let is_disturbed =
                before.iter().zip(&after).any(|(before, after)| stalls(before) != stalls(after));
            if !is_disturbed || attempt == ATTEMPTS {
                let changed = [0, 1].map(|which| changes(&before[which], &after[which]).join(", "));
                let changed = changed.join("; receiver: ");
                return Err(io::Error::other(format!("{figures}; sender: {changed}")));
            }
            repeated = format!("; {attempt} disturbed before");
        }
        unreachable!("the last attempt returns");
    }

    fn kill(&mut self) -> io::Result<String> {
        self.protect("ordered")?;
        self.corrupt(LOSS)?;
        let mut killed = None;
        let mut is_back = false;
        let frames = self.frames(self.frames / 2);
        let fate = self.pair.send(frames, |pair, arrived| {
            match killed {
                None if arrived >= BEFORE => {
                    pair.machines[1].ask(&crate::request::Request::Kill)?;
                    killed = Some(Instant::now());
                }
                Some(at) if !is_back && at.elapsed() >= DEAD => {
                    pair.start(1, &ARGUMENTS)?;
                    is_back = true;
                }
                _ => (),
            }
            Ok(())
        })?;
        if killed.is_none() {
            return Err(io::Error::other(format!("nothing was killed: {}", described(&fate))));
        }
        if !is_back {
            self.start(1, &[])?;
        }
        self.pair.wait_for(TransmitState::Active)?;
        let figures = format!("{} lost, {} duplicated", fate.lost(), fate.received.duplicated);
        if fate.received.duplicated > 0 || fate.received.changed > 0 {
            return Err(io::Error::other(figures));
        }
        self.corrupt(LOSS)?;
        let again = self.deliver(self.frames(self.frames / 5), true)?;
        Ok(format!("{figures}; then {again}"))
    }

    /// Frames pass a dormant link in the kernel, whether daemons live or not. Without AF_XDP they pass through the daemon.
    fn dormant(&mut self) -> io::Result<String> {
        self.corrupt("off")?;
        for which in 0..2 {
            self.pair.run(which, &["unprotect", LINK])?;
        }
        self.pair.wait_for(TransmitState::Dormant)?;
        let count = self.frames / 5;
        let before = self.pair.status(1)?.link;
        let fate = self.pair.send(self.frames(count), |_, _| Ok(()))?;
        let after = self.pair.status(1)?.link;
        let forwarded = after.bypassed_frames - before.bypassed_frames;
        let figures = format!("{}, {forwarded} by the kernel", described(&fate));
        let is_bypassed = before.xdp_mode.is_none() || forwarded >= count;
        if fate.lost() > 0 || fate.received.duplicated > 0 || fate.received.reordered > 0 || !is_bypassed {
            return Err(io::Error::other(figures));
        }
        let mut dead = String::new();
        if before.xdp_mode.is_some() {
            for machine in &mut self.pair.machines {
                machine.ask(&crate::request::Request::Kill)?;
            }
            let fate = self.pair.send(self.frames(count), |_, _| Ok(()))?;
            dead = format!("; without daemons {}", described(&fate));
            if fate.lost() > 0 || fate.received.duplicated > 0 {
                return Err(io::Error::other(format!("{figures}{dead}")));
            }
            (0..2).try_for_each(|which| self.start(which, &[]))?;
        }
        Ok(format!("{figures}{dead}"))
    }

    fn jumbo(&mut self, cell: &mut Cell) -> io::Result<String> {
        self.restart(self.card.mtu_max, &[])?;
        let port = self.pair.status(1)?.link;
        cell.jumbo_port = Some(port_kind(&port));
        self.corrupt(LOSS)?;
        let bytes_max = (self.card.mtu_max - GROWTH + ETHERNET_BYTES) as usize;
        let frames = Frames { count: self.frames / 5, bytes_max, vlan: None };
        self.deliver(frames, true).or_else(|error| {
            self.stop(self.card.mtu_max)?;
            let alone = described(&self.pair.send_without_daemons(frames)?);
            Err(io::Error::other(format!("{error}; between the cards alone: {alone}")))
        })
    }

    fn offloads(&mut self, cell: &mut Cell) -> io::Result<String> {
        self.restart(USUAL_MTU + GROWTH, &["--offloads"])?;
        cell.offloads_port = Some(port_kind(&self.pair.status(1)?.link));
        self.corrupt(LOSS)?;
        self.deliver(self.frames(self.frames), true)
    }

    fn packet(&mut self) -> io::Result<String> {
        self.restart(USUAL_MTU + GROWTH, &["--ports", "packet"])?;
        self.corrupt(LOSS)?;
        self.deliver(self.frames(self.frames), true)
    }

    /// What everything in either machine has executed so far, traffic included.
    fn instructions(&mut self) -> io::Result<[u64; 2]> {
        let [first, second] = &mut self.pair.machines;
        Ok([first.instructions()?, second.instructions()?])
    }

    fn failover(&mut self) -> io::Result<String> {
        let backup = self.pair.cards[0][1].name.clone();
        self.restart(USUAL_MTU + GROWTH, &["--backup", &backup])?;
        let hears_both =
            |report: &LinkReport| report.failover.as_ref().is_some_and(|two| two.heard == [true; 2]);
        (0..2).try_for_each(|which| self.pair.wait(which, hears_both).map(drop))?;
        self.corrupt(LOSS)?;
        let mut is_pulled = false;
        let fate = self.pair.send(self.frames(self.frames / 2), |pair, arrived| {
            if !is_pulled && arrived >= BEFORE {
                is_pulled = true;
                pair.machines.iter_mut().try_for_each(|machine| machine.plug(0, false))?;
            }
            Ok(())
        })?;
        let two = self.pair.status(1)?.failover.unwrap_or_default();
        let figures = format!("{}, on the {:?} link", described(&fate), two.active);
        let is_clean = fate.lost() == 0 && fate.received.duplicated == 0 && fate.received.reordered == 0;
        if is_pulled && is_clean && two.active == Cable::Backup {
            Ok(figures)
        } else {
            Err(io::Error::other(figures))
        }
    }
}

/// Every counter of a daemon that has changed, with the difference.
fn changes(before: &LinkReport, after: &LinkReport) -> Vec<String> {
    let numbers = |report: &LinkReport| {
        let value = serde_json::to_value(report).unwrap_or_default();
        let of = |part: &str| value.get(part).and_then(|part| part.as_object()).cloned().unwrap_or_default();
        let parts = ["inner", "link", "counters", "daemon"];
        parts
            .into_iter()
            .flat_map(|part| of(part).into_iter().map(move |(name, value)| (part, name, value)))
            .collect::<Vec<_>>()
    };
    let pairs = numbers(before).into_iter().zip(numbers(after));
    let changed = pairs.filter_map(|((part, name, before), (.., after))| {
        let difference = after.as_u64()?.checked_sub(before.as_u64()?)?;
        (difference > 0).then(|| format!("{part}.{name} {difference}"))
    });
    changed.collect()
}

/// What changes when a daemon is stalled for so long that the kernel forwards, or its peer gives it up.
fn stalls(report: &LinkReport) -> [u64; 3] {
    let forwarded = report.link.bypassed_frames + report.inner.bypassed_frames;
    [report.counters.stalls, report.counters.peers_lost, forwarded]
}

fn described(fate: &Fate) -> String {
    let Fate { sent, received } = fate;
    let mut text = format!("{} of {} arrived", received.received, sent.sent);
    for (count, what) in [
        (received.duplicated, "duplicated"),
        (received.reordered, "out of order"),
        (received.changed, "changed"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// A temporary folder.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("linkmend-matrix-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
