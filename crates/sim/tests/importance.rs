//! Importance sampling finds what plain counting finds, with far fewer frames.

use linkmend_sim::link::config::{Copies, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::run;
use linkmend_sim::time::Rate;

fn config(mode: Mode, copies: u8) -> LinksConfig {
    let rate = Rate::from_bits_per_second(100_000_000_000).expect("a byte lasts 80 ps");
    let mut config = LinksConfig::paper(rate, 1e-2, mode);
    config.links[0].protection.as_mut().expect("protected").copies = Copies::Fixed(copies);
    config
}

#[test]
fn importance_sampling_agrees_with_plain_counting_and_with_equation_1() {
    for mode in [Mode::Ordered, Mode::NonBlocking] {
        let plain =
            run(&LinksConfig { frames: 2_000_000, ..config(mode, 1) }, &mut |_| true).expect("it runs");
        for copies in [1, 2, 3] {
            let sampled = LinksConfig { frames: 200_000, copy_loss: Some(0.3), ..config(mode, copies) };
            let sampled = run(&sampled, &mut |_| true).expect("it runs");
            let (low, high) = sampled.effective_loss_rate_interval;
            let expected = sampled.effective_loss_rate_expected.expect("it has copies");
            assert!(
                low < expected && expected < high,
                "{mode:?}, {copies} copies: {expected} in {low}..{high}"
            );
            if copies == 1 {
                let (plain_low, plain_high) = plain.effective_loss_rate_interval;
                assert!(
                    low < plain_high && plain_low < high,
                    "{mode:?}: {low}..{high}, {plain_low}..{plain_high}"
                );
            }
        }
    }
}

/// Frames that are given up although a copy is on its way are no samples of anything rare.
#[test]
fn frames_lost_for_another_reason_count_once() {
    let mut hasty = LinksConfig { frames: 100_000, copy_loss: Some(0.3), ..config(Mode::Ordered, 1) };
    hasty.links[0].protection.as_mut().expect("protected").recovery_timeout_ns = 1_000;
    let report = run(&hasty, &mut |_| true).expect("it runs");
    assert!(report.effective_loss_rate > 0.5 * report.actual_loss_rate, "{}", report.effective_loss_rate);
}

#[test]
fn importance_sampling_needs_copies_to_corrupt() {
    for refused in [
        LinksConfig { copy_loss: Some(0.5), ..config(Mode::Ordered, 1) }
            .with_link(|link| link.protection = None),
        LinksConfig { copy_loss: Some(1e-3), ..config(Mode::Ordered, 1) },
    ] {
        assert_eq!(refused.validate().expect_err("refused").parameter, "copy-loss");
    }
}
