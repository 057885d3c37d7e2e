//! A receiver that does not give up by the clock: its sender tells it which frames it waits for in vain.

use linkmend_protocol::{Config, Control, Copies, FallbackConfig, Format, Mode, Tick, Ticks};
use linkmend_random::Random;
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::scheme::{AnyConfig, AnyControl, LinkGuardianConfig};
use linkmend_sim::measure::{GivenUp, LinkMeasures, Measured};
use linkmend_sim::network::{
    Balance, Frame, LinkId, Network, Observer, Opening, PORT_QUEUE, Plan, PortConfig, PortId, Received, Side,
    Traffic,
};
use linkmend_sim::time::{Rate, Time};

const SENDER: PortId = PortId::new(LinkId(0), Side::A);
const RECEIVER: PortId = SENDER.peer();
const FRAMES: u64 = 60;
/// This frame is corrupted, and so is every copy.
const LOST: u64 = 30;

/// When frames were delivered, and when the latest dummy had arrived by then.
#[derive(Default)]
struct Deliveries {
    dummy_at: Time,
    all: Vec<(u64, Time, Time)>,
}

impl Observer for Deliveries {
    fn received(&mut self, port: PortId, at: Time, received: &Received<'_>) {
        let dummy = matches!(received.control, Some(AnyControl::LinkGuardian(Control::Dummy { .. })));
        if port == RECEIVER && dummy {
            self.dummy_at = at;
        }
    }

    fn delivered(&mut self, _: PortId, at: Time, frame: &Frame) {
        self.all.push((frame.id, at, self.dummy_at));
    }
}

const fn micros(us: u64) -> Ticks {
    // The simulator counts in picoseconds.
    Tick::Picosecond.micros(us)
}

/// Without a clock: two rounds of one copy each, and a feedback that is repeated.
fn config() -> Config {
    Config {
        format: Format::Compact,
        window_frames: 1_024,
        window_bytes: 1 << 20,
        rx_buffer_bytes: 1 << 20,
        pause_bytes: 1 << 20,
        resume_bytes: 1 << 19,
        recovery_timeout: micros(5_000),
        max_rounds: 2,
        give_up_by_clock: false,
        ack_gap: Ticks::ZERO,
        ack_interval: micros(10),
        explicit_acks: false,
        dummy_delay: Ticks::ZERO,
        dummy_copies: 1,
        dummy_interval_min: micros(10),
        dummy_interval_max: micros(10_000),
        keepalive: micros(100_000),
        peer_timeout: micros(1_000_000),
        session_expiry: micros(1_000_000),
        handshake_min: micros(100),
        handshake_max: micros(1_000),
        hello_interval: micros(1_000_000),
        loss_window_frames: 100_000,
        fallback: FallbackConfig { enabled: false, ..FallbackConfig::new(Tick::Picosecond) },
    }
}

fn run(mode: Mode, recirculates: bool) -> Network<Measured<Deliveries>> {
    let rate = Rate::from_bits_per_second(100_000_000_000).expect("exact");
    let mut plan = Plan::new();
    let switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
    let ports = [Some(Copies::Fixed(1)), None].map(|protect| PortConfig {
        rate,
        wire_latency: Time::from_nanos(500),
        ingress_latency: Time::from_nanos(500),
        corruption: Corruption::None,
        copy_corruption: protect.map(|_| Corruption::iid(1.0)),
        frame_bytes: linkmend_sim::network::FULL_FRAME_BYTES,
        pipeline_latency: Time::ZERO,
        scheme: AnyConfig::LinkGuardian(LinkGuardianConfig {
            protocol: config(),
            protect,
            begins_dormant: false,
            recirculation: recirculates.then(|| plan.recirculation((rate, Time::from_nanos(500)))),
            timer_interval: Time::ZERO,
        }),
        queue: PORT_QUEUE,
    });
    plan.link(switches, ports);
    plan.traffic(SENDER, switches[1], Traffic::LineRate { frames: FRAMES, bytes: 1_500, mode });
    let observer = Measured { links: LinkMeasures::new([1_500; 2]), watch: Deliveries::default() };
    let mut network = plan.build(1, observer).expect("valid");
    assert!(matches!(network.open_sessions(&mut || true), Opening::Open));
    let lost = Corruption::Recorded([LOST].into());
    network.set_corruption(SENDER, &lost, Random::new(1, "corruption")).expect("valid");
    network.start_traffic();
    network.drain(&mut || true);
    network.observer.links.finish();
    network
}

/// What waits behind a withdrawn frame must not wait for the next arrival, since there may be none.
#[test]
fn frames_released_by_a_withdrawal_are_delivered_at_once() {
    let network = run(Mode::Ordered, false);
    let stats = network.link_end(RECEIVER).expect("protected").stats();
    assert_eq!((stats.withdrawn_frames, stats.recovery_timeouts), (1, 0));
    let expected: Vec<u64> = (0..FRAMES).filter(|&id| id != LOST).collect();
    let deliveries = &network.observer.watch.all;
    assert_eq!(deliveries.iter().map(|&(id, ..)| id).collect::<Vec<_>>(), expected);
    for &(id, at, dummy_at) in deliveries.iter().filter(|&&(id, ..)| id > LOST) {
        assert_eq!(at, dummy_at, "frame {id} goes with the dummy that withdraws the one before it");
    }
}

/// A withdrawn frame is counted at once and as withdrawn, not by a clock as one that came too late.
#[test]
fn a_withdrawn_frame_is_counted_once_as_corrupted_with_its_copies() {
    for mode in Mode::ALL {
        for recirculates in [false, true] {
            let network = run(mode, recirculates);
            let stats = network.link_end(RECEIVER).expect("protected").stats();
            assert_eq!(stats.given_up_frames(), 1, "{mode}, recirculates: {recirculates}");
            let expected = GivenUp { corrupted: 1, ..GivenUp::default() };
            assert_eq!(
                network.observer.links.given_up(SENDER),
                expected,
                "{mode}, recirculates: {recirculates}"
            );
            assert_eq!(network.observer.links.deliveries(RECEIVER).frames, FRAMES - 1);
        }
    }
}
