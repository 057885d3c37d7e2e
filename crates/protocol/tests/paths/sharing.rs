//! The driver of an end that spreads frames over both paths.

use crate::common::Wire;
use crate::world::{RING_NS, World};
use linkmend_protocol::paths::Path;
use linkmend_protocol::schedule::{Next, PortRoom, Round};
use linkmend_protocol::share::Outlook;
use linkmend_protocol::{Control, Instant, Tick, Ticks, Transmit};

/// How soon to look again whether a frame that waits for the better path still does.
const LOOK_AGAIN_NS: u64 = 500;

impl World {
    /// When an end has something to send.
    pub fn sends_at(&self, end: usize) -> u64 {
        let wake_at = |path: Path| self.nodes[end].wake_at(self.now, &self.cables[path as usize].links[end]);
        let Some(spreads) = &self.spreads else { return wake_at(self.paths[end].active()) };
        let carrying = Path::ALL.into_iter().filter(|&path| self.can_use(end, path));
        let marks = carrying.clone().filter_map(|path| spreads[end].mark_due(path)).map(|at| at.0);
        // A frame may wait for the better path, so that nothing is to be done about a port that has room.
        carrying.map(wake_at).chain(marks).fold(u64::MAX, u64::min).max(self.now + LOOK_AGAIN_NS)
    }

    /// What is silent while the other path is not has failed.
    pub fn note_silence(&mut self, end: usize) {
        if self.spreads.is_none() {
            return;
        }
        let paths = &self.paths[end];
        for path in Path::ALL {
            if !paths.is_heard(path)
                && paths.is_heard(path.other())
                && let Some(merges) = &mut self.merges
            {
                merges[end].handle_failure(path);
            }
        }
        self.drain(end);
    }

    fn can_use(&self, end: usize, path: Path) -> bool {
        let paths = &self.paths[end];
        let both = self.nodes[end].end.is_confirmed() && paths.peer_uses_both();
        let report = paths.sees(path);
        path == paths.active() || (both && !report.fails && !report.loses_full)
    }

    fn outlook(&self, end: usize, path: Path) -> Option<Outlook> {
        let report = self.paths[end].sees(path);
        let busy_ns = self.cables[path as usize].links[end].busy_until.saturating_sub(self.now);
        self.can_use(end, path).then(|| Outlook {
            room: match busy_ns {
                0 => PortRoom::All,
                1..RING_NS => PortRoom::Urgent,
                RING_NS.. => PortRoom::None,
            },
            backlog: Ticks(busy_ns),
            later: Tick::Nanosecond.micros(report.later_us.into()),
            loss: f64::from(report.lost) / 128.0,
        })
    }

    /// The path of a frame that needs this room.
    fn route(&self, end: usize, room: PortRoom) -> Option<Path> {
        let outlooks = Path::ALL.map(|path| self.outlook(end, path));
        let waited = Ticks(self.waiting_since[end].map_or(0, |since| self.now - since));
        let round_trip = self.nodes[end].end.round_trips().min;
        let in_use = self.paths[end].active();
        self.spreads.as_ref()?[end].choose(outlooks, in_use, room, waited, round_trip)
    }

    pub fn share(&mut self, end: usize) {
        self.nodes[end].before_sending(self.now, &mut self.ledger);
        let mut round = Round::new(Instant(self.now));
        let mut idle = true;
        loop {
            self.waiting_since[end] = match self.nodes[end].queued() {
                0 => None,
                _ => self.waiting_since[end].or(Some(self.now)),
            };
            let [normal, urgent] = [PortRoom::All, PortRoom::Urgent].map(|room| self.route(end, room));
            let room = match (normal, urgent) {
                (Some(_), _) => PortRoom::All,
                (None, Some(_)) => PortRoom::Urgent,
                (None, None) => PortRoom::None,
            };
            let node = &mut self.nodes[end];
            let Some(next) = round.next(&mut node.end, &mut node.queues, room) else {
                idle &= normal.is_some();
                break;
            };
            idle = false;
            self.send_next(end, next, normal, urgent);
        }
        self.mark(end);
        self.nodes[end].after_sending(self.now, idle, &mut self.ledger);
    }

    fn send_next(
        &mut self,
        end: usize,
        next: Next<Transmit, crate::common::FrameId>,
        normal: Option<Path>,
        urgent: Option<Path>,
    ) {
        let (now, active) = (self.now, self.paths[end].active());
        let World { nodes, cables, ledger, random, spreads, .. } = self;
        let node = &mut nodes[end];
        let Some(spreads) = spreads else { return };
        match next {
            Next::Urgent(Transmit::Retransmission { frame, header })
            | Next::Idle(Transmit::Retransmission { frame, header }) => {
                let path = urgent.unwrap_or(active);
                let link = &mut cables[path as usize].links[end];
                node.put(now, Transmit::Retransmission { frame, header }, link, ledger, random);
                node.end.left_on(path, &header);
            }
            Next::Urgent(transmit) | Next::Idle(transmit) => {
                let Transmit::Control(control) = transmit else { return };
                let is_both = node.end.is_confirmed() || !matches!(control, Control::Dummy { .. });
                node.put(now, transmit, &mut cables[active as usize].links[end], ledger, random);
                let other = &mut cables[active.other() as usize].links[end];
                if is_both && other.busy_until <= now + RING_NS {
                    other.send(now, Wire::Control(Box::new(control)), random);
                }
            }
            Next::Normal(waiting, admission) => {
                let path = normal.unwrap_or(active);
                let link = &mut cables[path as usize].links[end];
                let epoch = node.epoch();
                if let Some(header) = node.send_normal(now, waiting, admission, epoch, link, ledger, random) {
                    node.end.left_on(path, &header);
                    spreads[end].left(Instant(now), path);
                }
            }
        }
    }

    /// Says on a path that has carried none of the latest frames how far they have come.
    fn mark(&mut self, end: usize) {
        for path in Path::ALL {
            let due = self.spreads.as_ref().and_then(|spreads| spreads[end].mark_due(path));
            if due.is_none_or(|at| at.0 > self.now) || !self.can_use(end, path) {
                continue;
            }
            let Some(position) = self.nodes[end].end.position() else { continue };
            let wire = Wire::Control(Box::new(position));
            self.cables[path as usize].links[end].send(self.now, wire, &mut self.random);
            if let Some(spreads) = &mut self.spreads {
                spreads[end].marked(path);
            }
        }
    }
}
