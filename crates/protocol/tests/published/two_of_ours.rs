//! Two ends of ours in the published program's protocol.

use super::frame;
use super::random::Random;
use super::sender::{Sender, Settings};
use super::world::{self, End, LinkmendEnd, World, config, fates};
use linkmend_protocol::{CloseReason, Config, Event, Mode, Tick, effective_loss};

/// Everything may be corrupted, in both directions: nothing arrives twice or out of order, and a frame is lost only if
/// all its transmissions or its notification were. Each of those is counted.
#[test]
fn both_directions_under_loss_of_everything() {
    for seed in 0..12 {
        let modes = [Mode::ALL[seed as usize & 1], Mode::ALL[seed as usize >> 1 & 1]];
        let end = |mode| {
            let mut ours = LinkmendEnd::new(config(), mode);
            ours.protect(0, 3);
            End::Linkmend(Box::new(ours))
        };
        let mut world = World::new(end(modes[0]), end(modes[1]));
        world.run_until(2_000, |world| (0..2).all(|end| world.ends[end].ours().is_active()));
        // The probes have used up two numbers.
        world.run(2 * Tick::Nanosecond.micros(100).0 / 100);
        let before = [0, 1].map(|end| world.ends[end].ours().end.stats());
        for end in [0, 1] {
            fates(&mut world, end, seed * 2 + end as u64, 0.01);
            world.offer(end, 0..10_000);
        }
        world.run_until_idle(500_000);
        for end in [0, 1] {
            let mut delivered = world.ends[1 - end].delivered();
            if modes[end] == Mode::NonBlocking {
                delivered.sort_unstable();
            }
            assert!(delivered.is_sorted_by(|a, b| a < b), "seed {seed}: twice or out of order");
            let stats = world.ends[1 - end].ours().end.stats();
            let lost = 10_000 - delivered.len() as u64;
            let given_up = stats.recovery_timeouts - before[1 - end].recovery_timeouts;
            assert!(lost <= given_up && given_up < 100, "seed {seed}: {lost} of {given_up}: {stats:?}");
            assert_eq!(world.ends[end].ours().end.stats().peers_lost, 0, "seed {seed}");
        }
    }
}

/// The numbers continue while a frame whose copies were lost is still missing. A window that such a frame keeps from
/// sliding ends before the clock gives the frame up; the next original is then no sign that the peer has restarted.
#[test]
fn equation_1_holds_although_the_window_ends_before_the_clock() {
    const FRAMES: u32 = 200_000;
    const LOSS: f64 = 0.02;
    for (seed, mode) in [(1, Mode::Ordered), (2, Mode::NonBlocking)] {
        // A window lasts 0.4 ms, a round trip 0.2 ms.
        let config = Config { recovery_timeout: Tick::Nanosecond.millis(20), ..config() };
        let [mut sender, receiver] = [0, 1].map(|_| LinkmendEnd::new(config, mode));
        sender.protect(0, 1);
        let mut world = World::new(End::Linkmend(Box::new(sender)), End::Linkmend(Box::new(receiver)));
        world.delay_ticks = 1_000;
        world.run_until(20_000, |world| world.ends[0].ours().is_active());
        fates(&mut world, 0, seed, LOSS);
        world.offer(0, 0..FRAMES);
        world.run_until_idle(3_000_000);
        assert_eq!(world.ends[0].ours().end.stats().sessions_opened, 1, "{mode}");
        let delivered = world.ends[1].delivered();
        assert!(mode == Mode::NonBlocking || delivered.is_sorted_by(|a, b| a < b));
        let lost = f64::from(FRAMES) - delivered.len() as f64;
        let expected = effective_loss(LOSS, 1) * f64::from(FRAMES);
        // Four standard deviations.
        let margin = 4.0 * expected.sqrt();
        assert!(
            (lost - expected).abs() < margin,
            "{mode}: {lost} lost, {expected:.1} +- {margin:.1} expected"
        );
        let restarts = world.ends[1]
            .ours()
            .events
            .iter()
            .filter(|event| matches!(event, Event::SessionEnded { reason: CloseReason::Replaced, .. }));
        assert_eq!(restarts.count(), 0, "{mode}: an original was taken for a restart");
    }
}

/// Whoever can write to the wire can lose frames, but no more than that: bounds hold, no handle is returned twice, and
/// the next honest frames pass.
#[test]
fn forged_frames_break_no_bound() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut ours = LinkmendEnd::new(config(), Mode::ALL[seed as usize & 1]);
        ours.protect(0, 2);
        let theirs = Sender::new(Settings { blocking: seed & 2 == 0, copies: 1, dummies: 1, loop_ticks: 3 });
        let mut world =
            World::new(End::TheirSender(Box::new(theirs), Vec::new()), End::Linkmend(Box::new(ours)));
        let mut next = 0;
        for _ in 0..60 {
            world.offer(0, next..next + 20);
            world.offer(1, next..next + 20);
            next += 20;
            world.run(random.below(60));
            let mut bytes = world::plain(u32::MAX);
            if random.chance(0.1) {
                bytes = frame::priority_pause(random.chance(0.5));
            } else {
                bytes[12..14].copy_from_slice(&frame::ETHERTYPE);
                let near = (random.below(400) as u16).wrapping_add(next as u16).wrapping_sub(200);
                let number = if random.chance(0.2) { random.next() as u16 } else { near };
                // No header of an unknown kind.
                bytes[14] = random.below(0xc0) as u8;
                bytes[15..17].copy_from_slice(&number.to_be_bytes());
                bytes[17] = random.next() as u8;
                bytes[18..20].copy_from_slice(&near.wrapping_sub(random.below(9) as u16).to_be_bytes());
            }
            let tick = world.tick;
            let ours = world.ends[1].ours();
            ours.take(tick, &bytes);
            let stats = ours.end.stats();
            assert!(stats.rx_buffer.max <= config().rx_buffer_bytes && stats.missing_frames <= 4_096);
            assert!(ours.end.status().outstanding_frames <= 4_096);
        }
        world.run(60_000);
        let before = world.ends[1].delivered().len();
        world.offer(0, 1_000_000..1_000_050);
        world.run(20_000);
        assert!(world.ends[1].delivered().len() >= before + 50, "seed {seed}");
    }
}
