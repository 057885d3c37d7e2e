//! The formats of the two ends: they are the same, or there is no session.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, node::Node, pair::quick_config};
use linkmend_protocol::wire::{self, LinkFrame};
use linkmend_protocol::{Config, Control, Copies, Event, Format, LinkEnd, Mode, Priority, Transmit};

const FORMATS: [Format; 2] = [Format::Transparent, Format::Compact];

/// A pair whose ends have different formats; protection is requested in both directions.
fn pair_of(formats: [Format; 2], seed: u64) -> Pair {
    let config = |format| Config { format, ..quick_config() };
    let mut pair = Pair::new(Settings { config: config(formats[A]), seed, ..Settings::default() });
    pair.nodes[B] = Node::new(B, config(formats[B]), seed ^ 1);
    for end in [A, B] {
        pair.protect(end, Copies::Fixed(2));
    }
    pair
}

/// Sends in both lanes by turns, if the format has both, in both directions for a while.
fn talk(pair: &mut Pair, formats: [Format; 2]) {
    for round in 0..60 {
        for end in [A, B] {
            let mode = Mode::ALL[if formats[end] == Format::Compact { 0 } else { round % 2 }];
            pair.offer(end, mode, 12, 300);
        }
        pair.run_for(30 * MICRO);
    }
}

fn differences(pair: &Pair, end: usize) -> Vec<Event> {
    let differs = |event: &&Event| matches!(event, Event::FormatsDiffer { .. });
    pair.nodes[end].events.iter().filter(differs).copied().collect()
}

#[test]
fn ends_of_one_format_protect_both_directions_under_loss_on_both() {
    for format in FORMATS {
        for seed in 0..20 {
            let mut pair = pair_of([format; 2], seed);
            pair.run_until(20 * MILLI, |pair| pair.is_active(A) && pair.is_active(B));
            for link in &mut pair.links {
                link.loss = Loss::Iid(0.02);
            }
            talk(&mut pair, [format; 2]);
            pair.run_until_idle(50 * MILLI);
            for end in [A, B] {
                pair.assert_all_delivered(end);
                assert!(differences(&pair, end).is_empty());
                assert!(format == Format::Compact || pair.stats(end).piggybacked_acks_sent > 0);
            }
            pair.assert_accounts();
        }
    }
}

/// Without a comparison of formats, a receiver in compact format would acknowledge lanes without naming them, and a
/// sender in transparent format would release frames that it had never sent again.
#[test]
fn ends_of_different_formats_refuse_each_other_once_and_lose_nothing_of_their_own() {
    for formats in [[FORMATS[0], FORMATS[1]], [FORMATS[1], FORMATS[0]]] {
        for seed in 0..20 {
            let mut pair = pair_of(formats, seed);
            pair.ledger.strict_order = true;
            pair.run_for(20 * MILLI);
            // What is corrupted stays corrupted, because nothing was protected. Nothing else is missing, twice or late.
            for link in &mut pair.links {
                link.loss = Loss::Iid(0.02);
            }
            talk(&mut pair, formats);
            pair.run_until_idle(50 * MILLI);
            for end in [A, B] {
                let status = pair.nodes[end].end.status();
                assert_eq!(status.mismatched_format, Some(formats[1 - end]));
                let said = Event::FormatsDiffer { own: formats[end], peer: formats[1 - end] };
                assert_eq!(differences(&pair, end), [said], "said once");
                let stats = pair.stats(end);
                assert_eq!(
                    (stats.protected_frames, stats.sessions_opened, stats.sessions_accepted),
                    (0, 0, 0)
                );
                assert_eq!(stats.control_rejected, 0, "a refusal is no fault");
            }
            for record in &pair.ledger.frames {
                assert!(record.delivered_at.is_some() || record.corrupted == 1, "{record:?}");
            }
        }
    }
}

#[test]
fn protection_begins_once_the_formats_are_the_same() {
    let mut pair = pair_of([Format::Transparent, Format::Compact], 1);
    pair.run_for(20 * MILLI);
    assert!(!pair.is_active(A) && !pair.is_active(B));
    let protection = pair.nodes[B].protection;
    pair.nodes[B] = Node::new(B, quick_config(), 9);
    pair.protect(B, protection.expect("asked for").copies);
    pair.run_until(20 * MILLI, |pair| pair.is_active(A) && pair.is_active(B));
    assert_eq!(pair.nodes[A].end.status().mismatched_format, None);
}

/// An ACK on an unprotected frame, as bytes, from an end that receives in `format`.
#[test]
fn an_ack_on_an_unprotected_frame_releases_its_lane_or_is_not_sent() {
    for (sending, receiving) in [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (FORMATS[a], FORMATS[b])) {
        for mode in Mode::ALL {
            let mut pair = pair_of([sending, receiving], 1);
            pair.unprotect(B);
            pair.run_for(10 * MILLI);
            // Acknowledgements come only as this test hands them over.
            pair.links[B].loss = Loss::script(|_| true);
            let frames = pair.offer(A, mode, 1, 300);
            pair.run_for(3 * MICRO);
            let before = pair.nodes[A].end.status().outstanding_frames;
            assert_eq!(before, u64::from(sending == receiving), "outstanding");
            while let Some(ack) = pair.nodes[B].end.poll_piggyback(pair.nodes[B].local(pair.now)) {
                assert_eq!(sending, receiving, "acknowledges what it has no session for");
                let plain = [&[2; 12][..], &[0x08, 0], &[0x45; 50]].concat();
                let wrapped = wire::encapsulate_ack(receiving, ack, &plain).expect("IPv4");
                let frame = [&plain[..12], wrapped.bytes(), &plain[14..]].concat();
                let LinkFrame::Acknowledging { ack, .. } = wire::parse(&frame) else {
                    panic!("no ACK: {frame:?}")
                };
                let now = pair.nodes[A].local(pair.now);
                assert!(pair.nodes[A].end.handle_ack(now, ack), "{sending} {mode}");
            }
            assert_eq!(pair.nodes[A].end.status().outstanding_frames, 0, "{sending} {mode}");
            assert!(pair.ledger.record(frames[0]).delivered_at.is_some());
        }
    }
}

/// A peer of an earlier version writes no format and means the default; one that goes on with a void nonce gets nowhere.
#[test]
fn a_refused_init_leaves_no_nonce_to_start_with() {
    let mut end = LinkEnd::new(Config { format: Format::Compact, ..quick_config() }, 1).expect("valid");
    let session = linkmend_protocol::SessionNumber(7);
    let now = linkmend_protocol::Instant(1);
    let init = Control::Init { session, format: Format::Transparent };
    assert!(end.handle_control(now, &init));
    let Some(Transmit::Control(Control::InitEcho { nonce, format, .. })) =
        end.poll_transmit(now, Priority::High)
    else {
        panic!("an answer is due");
    };
    assert_eq!(format, Format::Compact);
    assert!(!end.handle_control(now, &Control::Start { session, nonce }));
    assert_eq!(end.stats().sessions_accepted, 0);
}
