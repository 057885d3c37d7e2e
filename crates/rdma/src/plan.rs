//! The cheapest mechanisms for a wanted probability.

use crate::mechanisms::COPIES_MAX;
use crate::{Kind, Mechanisms, Model};

/// The cheapest mechanisms with which a flow has at most this many timeouts on average; `None` if even the most copies do
/// not reach it. Of equally cheap ones, those with fewer timeouts.
pub fn cheapest(model: &Model, timeouts_per_flow: f64) -> Option<Mechanisms> {
    let mut best: Option<(f64, f64, Mechanisms)> = None;
    for dummies in 0..=COPIES_MAX {
        for tail_replicas in 0..=COPIES_MAX {
            let tails = Mechanisms { dummies, tail_replicas, ..Mechanisms::NONE };
            let costs = model.costs(&tails).sum();
            if best.is_some_and(|(cheapest, ..)| costs > cheapest) {
                break;
            }
            let chances = model.chances(&tails);
            let left =
                timeouts_per_flow - chances.of(Kind::Tail).per_flow - chances.of(Kind::TailAck).per_flow;
            if left <= 0.0 {
                continue;
            }
            for packet_replicas in 0..=COPIES_MAX {
                let Some(mechanisms) =
                    with_naks(model, Mechanisms { packet_replicas, ..tails }, timeouts_per_flow)
                else {
                    continue;
                };
                let found =
                    (model.costs(&mechanisms).sum(), model.chances(&mechanisms).per_flow(), mechanisms);
                if best.is_none_or(|(costs, timeouts, _)| (found.0, found.1) < (costs, timeouts)) {
                    best = Some(found);
                }
            }
        }
    }
    best.map(|(.., mechanisms)| mechanisms)
}

/// The same mechanisms with the fewest NAK replicas that do.
fn with_naks(model: &Model, mechanisms: Mechanisms, timeouts_per_flow: f64) -> Option<Mechanisms> {
    (0..=COPIES_MAX)
        .map(|nak_replicas| Mechanisms { nak_replicas, ..mechanisms })
        .find(|mechanisms| model.chances(mechanisms).per_flow() <= timeouts_per_flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flows, Path, Sizes};

    fn model(loss: f64, bytes: u64) -> Model {
        let sizes = Sizes::default();
        let path = Path::losing(2, 1.0, loss, sizes.packet());
        Model { path, sizes, flows: Flows::of_size(bytes, sizes.mtu) }
    }

    /// No other of all small mechanisms is cheaper.
    #[test]
    fn nothing_cheaper_does() {
        for (loss, bytes, wanted) in [(1e-3, 24_387, 1e-6), (1e-2, 1_024, 1e-5), (1e-3, 10_000_000, 1e-4)] {
            let model = model(loss, bytes);
            let found = cheapest(&model, wanted).expect("it can be reached");
            assert!(model.chances(&found).per_flow() <= wanted);
            let costs = model.costs(&found).sum();
            for code in 0..4_096_u32 {
                let digit = |place: u32| (code >> (3 * place) & 7) as u8;
                let other = Mechanisms {
                    nak_replicas: digit(0),
                    packet_replicas: digit(1),
                    dummies: digit(2),
                    tail_replicas: digit(3),
                };
                let does = model.chances(&other).per_flow() <= wanted;
                assert!(!does || model.costs(&other).sum() >= costs, "{other:?} is cheaper than {found:?}");
            }
        }
    }

    #[test]
    fn what_no_copies_reach_has_no_plan_and_what_needs_none_gets_none() {
        assert_eq!(cheapest(&model(0.9, 10_000_000), 1e-12), None);
        assert_eq!(cheapest(&model(1e-3, 1_024), 1.0), Some(Mechanisms::NONE));
    }
}
