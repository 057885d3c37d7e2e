//! How flows begin, make progress and end, and their connections with them.

use super::endpoint::Endpoint;
use super::flow::Active;
use super::progress::Progress;
use super::{Disturbance, End, FlowIdentity, FlowRecord, QUARANTINE, Start, TransportHosts, timeouts};
use crate::network::Changed;
use crate::node::Flow;
use crate::time::Time;
use linkmend_rdma::Kind;
use std::collections::VecDeque;

impl TransportHosts {
    /// Begins a flow of a traffic.
    pub(super) fn begin(&mut self, now: Time, number: u16, start: &Start, flows: &mut Vec<Flow>) {
        let pair = match self.traffic[usize::from(number)].connections.next(start) {
            Some(pair) => pair,
            None => self.connect(now, number, start, flows),
        };
        let [End(sending), _] = End::of_pair(pair);
        if let Some(endpoint) = &mut self.endpoints[sending as usize] {
            endpoint.write(now, start.bytes);
        }
        let record = FlowRecord {
            source: start.source,
            destination: start.destination,
            bytes: start.bytes,
            began: now,
            delivered: Time::NEVER,
            acknowledged: Time::NEVER,
            retransmissions: 0,
            timeouts: 0,
            failed: false,
            traffic: number,
            disturbance: Disturbance::default(),
        };
        let traffic = &mut self.traffic[usize::from(number)];
        let of_traffic = traffic.begun;
        traffic.begun += 1;
        traffic.active_flows += 1;
        let [source, destination] = traffic.config.requester_and_responder(start);
        self.identities[pair as usize] = FlowIdentity { number: self.begun, source, destination };
        self.begun += 1;
        let active = Active { record, number: of_traffic, missing: start.bytes, is_acknowledged: false };
        self.active[pair as usize].push_back(active);
        self.active_flows += 1;
        self.make_ready(sending);
    }

    /// Sets up both ends of a connection for a flow, and for those that share it.
    fn connect(&mut self, now: Time, number: u16, start: &Start, flows: &mut Vec<Flow>) -> u32 {
        let pair = self.new_pair(now);
        let traffic = &mut self.traffic[usize::from(number)];
        traffic.connections.add(start, pair);
        let [sender, receiver] = traffic.config.endpoints(now, start);
        let [requesting, responding] = traffic.config.requester_and_responder(start);
        let [End(sending), End(receiving)] = End::of_pair(pair);
        let first_hash = traffic.connections.hash_of(self.records.len() as u64);
        for (number, endpoint) in [(sending, sender), (receiving, receiver)] {
            let [from, to] =
                if number == sending { [requesting, responding] } else { [responding, requesting] };
            let flow = Flow::between(
                self.hosts[from as usize].node,
                self.hosts[to as usize].node,
                first_hash.wrapping_add(u64::from(number)),
            );
            let number = number as usize;
            if number == flows.len() {
                flows.push(flow);
            } else {
                flows[number] = flow;
            }
            self.endpoints[number] = Some(endpoint);
        }
        pair
    }

    /// The number of a pair of ends that is not in use.
    fn new_pair(&mut self, now: Time) -> u32 {
        if let Some((since, pair)) = self.free.front().copied()
            && now >= since + QUARANTINE
        {
            self.free.pop_front();
            return pair;
        }
        self.endpoints.push(None);
        self.endpoints.push(None);
        self.active.push(VecDeque::new());
        self.identities.push(FlowIdentity { number: 0, source: 0, destination: 0 });
        (self.active.len() - 1) as u32
    }

    /// Counts a timeout of a requester of RDMA by its cause, if there was one.
    pub(super) fn note_timeout(&mut self, number: u32) {
        let [sending, receiving] = End::of_pair(End(number).pair()).map(|End(end)| end as usize);
        let Some(writes) = self.endpoints[sending].as_mut().and_then(Endpoint::writes) else { return };
        if writes.take_timeout() {
            let (requester, is_idle) = (writes.queue_pair.info(), writes.is_idle());
            let Some(peer) = self.endpoints[receiving].as_mut().and_then(Endpoint::writes) else { return };
            let is_read_again = requester.unread.is_some_and(|psn| peer.queue_pair.has_read_again(psn));
            let responder = peer.queue_pair.info();
            let pair = End(number).pair() as usize;
            let flows = &self.active[pair];
            // Dummies behind a flow that has arrived may be missing.
            let has_arrived = flows.iter().all(|flow| flow.missing == 0);
            let kind = if has_arrived {
                Kind::TailAck
            } else {
                timeouts::kind(&requester, &responder, is_read_again)
            };
            let host = self.identities[pair].source;
            let traffic = self.hosts[host as usize].traffic;
            self.traffic[usize::from(traffic)].timeouts.count((!is_idle).then_some(kind));
        }
    }

    /// Records what an end reports, and ends flows when both ends are done with them.
    pub(super) fn note_progress(&mut self, now: Time, number: u32) {
        let pair = End(number).pair();
        loop {
            let Some(endpoint) = &mut self.endpoints[number as usize] else { return };
            let Some(progress) = endpoint.poll_progress() else { return };
            let active = &mut self.active[pair as usize];
            match progress {
                Progress::Delivered(bytes) => {
                    let Some(flow) = active.iter_mut().find(|flow| flow.missing > 0) else { return };
                    flow.missing = flow.missing.saturating_sub(bytes);
                    if flow.missing == 0 {
                        flow.record.delivered = now;
                        let (traffic, number) = (usize::from(flow.record.traffic), flow.number);
                        self.traffic[traffic].workload.delivered(now, number);
                        self.changed.push(Changed::Time(self.hosts.len() + traffic));
                    }
                }
                Progress::Acknowledged => {
                    let Some(flow) = active.iter_mut().find(|flow| !flow.is_acknowledged) else { return };
                    flow.is_acknowledged = true;
                    flow.record.acknowledged = now;
                }
                Progress::Failed => return self.fail(now, pair),
            }
            let is_done = |flow: &mut Active| flow.missing == 0 && flow.is_acknowledged;
            if let Some(flow) = self.active[pair as usize].pop_front_if(is_done) {
                self.end(now, pair, flow);
            }
        }
    }

    /// Ends a flow, and its connection if no others share it.
    fn end(&mut self, now: Time, pair: u32, flow: Active) {
        let mut record = flow.record;
        let [End(sending), _] = End::of_pair(pair);
        if let Some(endpoint) = &mut self.endpoints[sending as usize] {
            (record.retransmissions, record.timeouts) = endpoint.effort(now);
            if let Some(writes) = endpoint.writes() {
                writes.account();
            }
        }
        self.active_flows -= 1;
        self.records.push(record);
        let number = usize::from(record.traffic);
        self.changed.push(Changed::Time(self.hosts.len() + number));
        let traffic = &mut self.traffic[number];
        traffic.active_flows -= 1;
        traffic.ended_at = now;
        traffic.workload.ended(now);
        if !traffic.connections.are_shared() {
            self.disconnect(now, pair);
        }
    }

    /// A transport has given up: the flows over its connection fail, and the next one needs a new one.
    fn fail(&mut self, now: Time, pair: u32) {
        let flows = std::mem::take(&mut self.active[pair as usize]);
        let traffic = self.hosts[self.identities[pair as usize].source as usize].traffic;
        for mut flow in flows {
            flow.record.failed = true;
            self.end(now, pair, flow);
        }
        if self.traffic[usize::from(traffic)].connections.remove(pair) {
            self.disconnect(now, pair);
        }
    }

    /// Removes both ends of a connection.
    fn disconnect(&mut self, now: Time, pair: u32) {
        for End(number) in End::of_pair(pair) {
            self.endpoints[number as usize] = None;
        }
        self.free.push_back((now, pair));
    }
}
