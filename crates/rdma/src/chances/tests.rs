//! Probabilities and costs against what is computed by hand, and against each other.

use super::*;
use crate::{Flows, Path, Sizes};
use proptest::prelude::*;

fn model(links: u32, corrupting: f64, loss: f64, bytes: u64) -> Model {
    let sizes = Sizes::default();
    Model {
        path: Path::losing(links, corrupting, loss, sizes.packet()),
        sizes,
        flows: Flows::of_size(bytes, sizes.mtu),
    }
}

/// Section 6.2: at 1/128, a round trip of two packets waits once in 64; with the probabilities of its four kinds.
#[test]
fn the_ping_pong_of_the_testbed_is_what_the_paper_computes() {
    let chances = model(1, 1.0, 1.0 / 128.0, 1_024).chances(&Mechanisms::NONE);
    let beta = 1.0 / 128.0;
    let close = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value:e}");
    close(chances.tail.published, beta);
    close(chances.tail_ack.published, 0.06 * beta);
    close(chances.nak.published, 0.06 * beta * beta);
    close(chances.twice.published, beta * beta);
    // A lost packet is retransmitted when the timer runs out, and may be lost again.
    close(chances.tail.exact, beta / (1.0 - beta));
    // One packet: nobody notices its loss.
    assert_eq!((chances.nak.per_flow, chances.twice.per_flow), (0.0, 0.0));
}

/// By hand, for small corruption: L beta for the first loss, beta for each further one where one link of two corrupts.
#[test]
fn exact_chances_approach_the_published_ones_where_little_is_corrupted() {
    let model = model(2, 1e-6, 1e-4, 100 * 1_024);
    for mechanisms in [Mechanisms::NONE, Mechanisms::TESTBED, Mechanisms::ALL] {
        let chances = model.chances(&mechanisms);
        let ratio = |kind| chances.of(kind).exact / chances.of(kind).published;
        // Without dummies, nobody notices the loss of the last of 100 packets.
        let noticed = if mechanisms.dummies > 0 { 1.0 } else { 0.99 };
        // 62 of 1,086 are 0.0571 instead of 0.06, and 68 are 0.0626.
        let power = |base: f64, count: u8| base.powi(count.into());
        let nak = power(68.0 / 1_086.0 / 0.06, 1 + mechanisms.nak_replicas);
        assert!((ratio(Kind::Nak) / (nak * noticed) - 1.0).abs() < 1e-3, "{}", ratio(Kind::Nak));
        assert!((ratio(Kind::Twice) / noticed - 1.0).abs() < 1e-3, "{}", ratio(Kind::Twice));
        let tail = power(62.0 / 1_086.0 / 0.06, mechanisms.dummies);
        assert!((ratio(Kind::Tail) / tail - 1.0).abs() < 1e-3, "{}", ratio(Kind::Tail));
        let ack = power(68.0 / 1_086.0 / 0.06, 1 + mechanisms.dummies);
        assert!((ratio(Kind::TailAck) / ack - 1.0).abs() < 1e-2, "{}", ratio(Kind::TailAck));
    }
}

#[test]
fn a_dummy_lets_the_tail_be_noticed() {
    let model = model(1, 1.0, 1e-2, 1_024);
    let dummy = model.chances(&Mechanisms { dummies: 1, ..Mechanisms::NONE });
    let [nak_lost, dummy_lost] = [68, 62].map(|bytes| model.path.loss(bytes));
    // Both are lost: the timer runs out, and everything begins anew.
    let silent = 1e-2 * dummy_lost;
    let close = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value:e}");
    close(dummy.tail.per_flow, silent / (1.0 - silent));
    // The dummy arrives alone, the NAK is lost, and the timer runs out until the packet arrives.
    close(dummy.nak.per_flow, (1e-2 - silent) / (1.0 - silent) * nak_lost / 0.99);
}

/// 100 packets of 1,086 B, of which 1 % are lost; the last is noticed by the dummies.
#[test]
fn costs_are_counted_as_by_hand() {
    let model = model(1, 1.0, 1e-2, 100 * 1_024);
    let costs = model.costs(&Mechanisms { tail_replicas: 1, ..Mechanisms::ALL });
    let wire = 100.0 * 1_086.0;
    let close = |value: f64, bytes: f64| assert!((value / (bytes / wire) - 1.0).abs() < 1e-9, "{value}");
    close(costs.nak, 68.0);
    close(costs.twice, 3.0 * 1_086.0);
    close(costs.dummies, 2.0 * 62.0);
    close(costs.tail, 1_086.0);
    let published = model.published_costs(&Mechanisms::ALL);
    assert!((published.twice - 0.03).abs() < 1e-12);
    assert!((published.dummies - 0.01 * 2.0 * 62.0 / 1_086.0).abs() < 1e-12);
}

proptest! {
    #[test]
    fn every_copy_makes_timeouts_rarer_and_costs_more(
        links in 1_u32..8, corrupting in 0.01..1.0, loss in 1e-6..0.2, bytes in 1_u64..1_000_000,
        nak_replicas in 0_u8..4, packet_replicas in 0_u8..4, dummies in 1_u8..4, tail_replicas in 0_u8..4,
    ) {
        let model = model(links, corrupting, loss, bytes);
        let few = Mechanisms { nak_replicas, packet_replicas, dummies, tail_replicas };
        let base = model.chances(&few);
        for kind in Kind::ALL {
            let chance = base.of(kind);
            for value in [chance.exact, chance.per_flow] {
                prop_assert!(value >= 0.0 && value.is_finite());
            }
            let more = match kind {
                Kind::Nak => Mechanisms { nak_replicas: nak_replicas + 1, ..few },
                Kind::Twice => Mechanisms { packet_replicas: packet_replicas + 1, ..few },
                Kind::Tail | Kind::TailAck => Mechanisms { dummies: dummies + 1, ..few },
            };
            let after = model.chances(&more).of(kind);
            prop_assert!(after.exact <= chance.exact && after.per_flow <= chance.per_flow);
            prop_assert!(model.costs(&more).sum() > model.costs(&few).sum());
        }
    }
}
