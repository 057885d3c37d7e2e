//! What a change of path leaves of Equation 1.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Mode, Ticks, effective_loss};

/// Loses what is on its way in both directions, and goes on as if on another path.
fn change_path(pair: &mut Pair) {
    for end in [A, B] {
        while let Some(wire) = pair.links[end].pop_arrival(u64::MAX) {
            if let Wire::Data { frame, .. } = wire {
                pair.ledger.refused(frame);
            }
        }
    }
    for end in [A, B] {
        pair.ledger.path_changed(end);
        let now = pair.nodes[end].local(pair.now);
        pair.nodes[end].end.change_path(now);
        pair.service(end);
    }
}

/// A path takes frames and their copies with it. On the next one, each frame has its whole round again.
#[test]
fn one_round_satisfies_equation_1_across_changes_of_path() {
    const FRAMES: u64 = 100_000;
    const LOSS: f64 = 0.05;
    for mode in Mode::ALL {
        // What is given up holds the ordered lane for a short time only.
        let config = Config { max_rounds: 1, recovery_timeout: Ticks(300 * MICRO), ..quick_config() };
        let mut pair = Pair::protected(Settings { config, delay_ns: 10 * MICRO, ..Settings::default() }, 2);
        pair.links[A].loss = Loss::Iid(LOSS);
        for _ in 0..FRAMES / 100 {
            pair.offer(A, mode, 100, 100);
            // By then, the copies of what was lost have left and not arrived.
            pair.run_for(28 * MICRO);
            change_path(&mut pair);
            pair.run_for(60 * MICRO);
        }
        pair.run_until_idle(50 * MILLI);
        let expected = effective_loss(LOSS, 2) * FRAMES as f64;
        // Four standard deviations.
        let margin = 4.0 * expected.sqrt();
        let lost = pair.stats(B).given_up_frames() as f64;
        assert!(
            (lost - expected).abs() < margin,
            "{mode}: {lost} lost, {expected:.1} +- {margin:.1} expected"
        );
        assert!(pair.stats(A).resent_frames > FRAMES / 10, "{:?}", pair.stats(A));
    }
}
