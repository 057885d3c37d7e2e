//! Links of three schemes in a row, of which one is defined here, in a set that this test makes.

use linkmend_protocol::ConfigError;
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::link::scheme::{
    Acknowledgement, Admission, AnyConfig, ControlFrames, Header, LinkGuardian, PortSeed, Reception, Scheme,
    SchemeContext, Unprotected,
};
use linkmend_sim::measure::{LinkMeasures, Measured};
use linkmend_sim::network::{
    Balance, Frame, LinkId, NoObserver, Observer, Opening, Plan, PortConfig, PortId, Side, Traffic,
};
use linkmend_sim::time::{Rate, Time};
use std::convert::Infallible;

/// Stop and wait: one frame at a time, sent again and again until it is acknowledged.
#[derive(Debug)]
struct StopAndWait {
    /// Time until it is retransmitted.
    timeout: Time,
    /// The frame that is not yet acknowledged, and when it was last sent.
    sending: Option<(Frame, Time)>,
    /// Its number, and the one that is expected from the peer.
    number: u64,
    expected: u64,
    /// Whether the copy is due.
    overdue: bool,
    /// A number that must be acknowledged.
    owed: Option<u64>,
    copies_sent: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Numbered {
    number: u64,
    again: bool,
}

/// The number that is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Acknowledged(u64);

impl Scheme for StopAndWait {
    type Config = Time;
    type Header = Numbered;
    type Ack = Acknowledged;
    type Control = Infallible;

    fn new(&timeout: &Time, _: &Time, _: PortSeed) -> Result<Self, ConfigError> {
        Ok(StopAndWait {
            timeout,
            sending: None,
            number: 0,
            expected: 0,
            overdue: false,
            owed: None,
            copies_sent: 0,
        })
    }

    fn header_bytes(&self) -> u32 {
        8
    }

    fn admission(&self, _: Mode, _: u32) -> Admission {
        if self.sending.is_some() { Admission::Held } else { Admission::Protected }
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> Numbered {
        self.sending = Some((frame, context.now()));
        context.wake_at(context.now() + self.timeout);
        Numbered { number: self.number, again: false }
    }

    fn handle_data<C: SchemeContext>(&mut self, _: &mut C, header: &Numbered, _: Frame) -> Reception {
        self.owed = Some(header.number);
        if header.number != self.expected {
            return Reception::Dropped;
        }
        self.expected += 1;
        Reception::Deliver
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        let Some((frame, sent_at)) = self.sending else { return };
        if sent_at + self.timeout <= context.now() {
            self.sending = Some((frame, context.now()));
            self.overdue = true;
            context.request_service();
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.sending.map(|(_, sent_at)| sent_at + self.timeout)
    }

    fn poll_retransmission(&mut self) -> Option<(Numbered, Frame)> {
        let (frame, _) = self.sending?;
        std::mem::take(&mut self.overdue).then(|| {
            self.copies_sent += 1;
            (Numbered { number: self.number, again: true }, frame)
        })
    }

    fn is_drained(&self) -> bool {
        self.sending.is_none()
    }

    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Acknowledged, Infallible>> {
        Some(self)
    }
}

impl ControlFrames<Acknowledged, Infallible> for StopAndWait {
    fn handle_ack<C: SchemeContext>(&mut self, _: &mut C, ack: Acknowledged) {
        if ack.0 == self.number && self.sending.take().is_some() {
            self.number += 1;
        }
    }

    fn poll_ack(&mut self, _: Time) -> Option<Acknowledged> {
        self.owed.take().map(Acknowledged)
    }
}

impl Header for Numbered {
    fn is_copy(&self) -> bool {
        self.again
    }
}

impl Acknowledgement for Acknowledged {}

linkmend_sim::schemes! {
    /// The schemes of this test.
    enum Three: ThreeConfig, ThreeHeader, ThreeAck, ThreeControl {
        Unprotected(Unprotected),
        LinkGuardian(LinkGuardian),
        StopAndWait(StopAndWait),
    }
}

const FRAMES: u64 = 5_000;
const TIMEOUT: Time = Time(20_000_000);

/// A link as in the paper that loses frames in both directions; its ports use one of the three schemes.
fn ports(loss: f64, scheme: &str) -> [PortConfig<Three>; 2] {
    let rate = Rate::from_bits_per_second(100_000_000_000).expect("exact");
    let mut link = LinkConfig::paper(rate, loss, Mode::Ordered).buffered(Buffering::Direct);
    link.reverse_corruption = Corruption::iid(loss);
    let schemes = link.ports([0, 0]).map(|port| match (scheme, port.scheme) {
        ("LinkGuardian", AnyConfig::LinkGuardian(config)) => ThreeConfig::LinkGuardian(config),
        ("stop and wait", _) => ThreeConfig::StopAndWait(TIMEOUT),
        _ => ThreeConfig::Unprotected(()),
    });
    link.ports_with(schemes)
}

#[derive(Debug, Default)]
struct Order {
    sink: Option<PortId>,
    ids: Vec<u64>,
}

impl Observer<Three> for Order {
    fn delivered(&mut self, port: PortId, _: Time, frame: &Frame) {
        if Some(port) == self.sink {
            self.ids.push(frame.id);
        }
    }
}

#[test]
fn three_schemes_work_in_a_row_one_of_them_defined_here() {
    let mut plan = Plan::new();
    let source = plan.host();
    let mut from = source;
    for (loss, scheme) in [(0.0, "unprotected"), (0.2, "stop and wait"), (1e-3, "LinkGuardian")] {
        let to = if scheme == "LinkGuardian" { plan.host() } else { plan.switch(Balance::Static) };
        plan.link([from, to], ports(loss, scheme));
        from = to;
    }
    let sent_by = PortId::new(LinkId(0), Side::A);
    let sink = PortId::new(LinkId(2), Side::B);
    // Slower than stop and wait progresses, so that no queue overflows.
    let interval = Time(15_000_000);
    plan.traffic(
        sent_by,
        from,
        Traffic::Paced { frames: FRAMES, bytes: 1_518, modes: vec![Mode::Ordered], interval },
    );
    let watch = Order { sink: Some(sink), ids: Vec::new() };
    let mut network = plan.build(7, Measured { links: LinkMeasures::new([1_518; 6]), watch }).expect("valid");
    assert_eq!(network.open_sessions(&mut || true), Opening::Open);
    network.start_traffic();
    assert!(network.drain(&mut || true));
    network.observer.links.finish();
    let expected: Vec<u64> = (0..FRAMES).collect();
    assert_eq!(network.observer.watch.ids, expected, "all of them, each once, in order");
    let lost = |link: u32| network.observer.links.losses(PortId::new(LinkId(link), Side::A)).0;
    assert_eq!(lost(0), 0);
    assert!((800..1_200).contains(&lost(1)), "{} of {FRAMES} originals are lost at 0.2", lost(1));
    let Three::StopAndWait(scheme) = network.scheme(PortId::new(LinkId(1), Side::A)) else {
        panic!("as planned")
    };
    // 0.8 of the originals and copies pass; an idle port repeats an acknowledgement until it passes.
    let copies = scheme.copies_sent as f64 / FRAMES as f64;
    assert!((0.22..0.28).contains(&copies), "{copies} copies a frame, and 1 / 0.8 - 1 = 0.25 are expected");
    let Three::LinkGuardian(scheme) = network.scheme(sink.peer()) else { panic!("as planned") };
    assert_eq!(scheme.link_end().stats().protected_frames, FRAMES);
}

#[test]
#[should_panic(expected = "the two ends of a link have the same scheme")]
fn a_link_has_one_scheme() {
    let mut plan = Plan::new();
    let hosts = [plan.host(), plan.host()];
    let [one, _] = ports(0.0, "unprotected");
    let [_, other] = ports(0.0, "stop and wait");
    plan.link(hosts, [one, other]);
    let _ = plan.build(1, NoObserver);
}
