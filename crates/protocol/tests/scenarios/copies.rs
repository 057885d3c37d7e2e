//! How many copies go out: exactly N for each lost frame, in each round (section 3.4).

use crate::common::{A, B, Loss, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Copies, Mode};
use std::collections::BTreeMap;

/// A hole of one frame, and one of two.
const LOST: [u64; 3] = [5, 20, 21];

/// The frames of `LOST` are lost `rounds` times: as originals, and with all copies of the rounds before the last.
fn lost_in_rounds(pair: &mut Pair, copies: u32, rounds: u32) {
    let mut original = Loss::originals(|position| LOST.contains(&position));
    let mut seen = BTreeMap::new();
    pair.links[A].loss = Loss::script(move |wire| {
        if let Wire::Data { frame, .. } = wire
            && wire.is_copy()
        {
            let seen = seen.entry(frame.0).or_insert(0);
            *seen += 1;
            return *seen <= copies * (rounds - 1);
        }
        let Loss::Script(corrupts) = &mut original else { unreachable!("a script") };
        corrupts(wire)
    });
}

/// How often each frame was sent over the link; the lost ones are separate.
fn transmissions(pair: &Pair) -> ([u32; 3], Vec<u32>) {
    let frames = &pair.ledger.frames;
    let others = (0..frames.len()).filter(|index| !LOST.contains(&(*index as u64)));
    (
        LOST.map(|index| frames[index as usize].transmissions),
        others.map(|index| frames[index].transmissions).collect(),
    )
}

#[test]
fn each_loss_gets_exactly_n_copies_in_each_round() {
    for mode in Mode::ALL {
        for (copies, rounds) in [(1, 1), (2, 1), (3, 1), (5, 1), (1, 2), (2, 2), (2, 3), (3, 4), (1, 6)] {
            // The link is longer than the copies of all three: none is acknowledged before the last is out.
            let settings = Settings { delay_ns: 20_000, ..Settings::default() };
            let mut pair = Pair::protected(settings, copies as u8);
            lost_in_rounds(&mut pair, copies, rounds);
            pair.offer(A, mode, 40, 500);
            pair.run_until_idle(10 * MILLI);
            pair.run_for(MILLI);
            let (lost, others) = transmissions(&pair);
            assert_eq!(lost, [1 + copies * rounds; 3], "{mode}, {copies} copies, {rounds} rounds");
            assert!(others.iter().all(|&times| times == 1), "a frame that was not lost: {others:?}");
            let stats = pair.stats(A);
            let total = u64::from(3 * copies * rounds);
            assert_eq!((stats.retransmitted_copies, stats.retransmitted_bytes), (total, 500 * total));
            assert_eq!(pair.stats(B).duplicates_dropped, u64::from(3 * (copies - 1)));
        }
    }
}

/// `max_rounds` ends the copies of a frame, and of no other.
#[test]
fn no_copy_follows_the_last_round() {
    for max_rounds in [1, 2, 5] {
        let config = Config { max_rounds, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 3);
        pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame, .. } if frame.0 == 5));
        pair.offer(A, Mode::NonBlocking, 40, 500);
        pair.run_for(10 * MILLI);
        assert_eq!(pair.ledger.frames[5].transmissions, 1 + 3 * u32::from(max_rounds));
        assert_eq!(pair.stats(A).retransmitted_copies, 3 * u64::from(max_rounds));
    }
}

#[test]
fn a_change_of_the_copies_holds_from_the_next_loss_on() {
    let settings = Settings { delay_ns: 20_000, ..Settings::default() };
    let mut pair = Pair::protected(settings, 1);
    pair.links[A].loss = Loss::originals(|position| position == 5 || position == 50);
    pair.offer(A, Mode::Ordered, 40, 500);
    pair.run_until_idle(10 * MILLI);
    pair.protect(A, Copies::Fixed(4));
    pair.offer(A, Mode::Ordered, 40, 500);
    pair.run_until_idle(10 * MILLI);
    let transmissions = |index: usize| pair.ledger.frames[index].transmissions;
    assert_eq!((transmissions(5), transmissions(50)), (1 + 1, 1 + 4));
    assert_eq!(pair.stats(A).sessions_opened, 1);
}
