//! Properties of random links: until FLUSH, no eligible frame is lost, doubled or reordered, and every counter adds up.

mod common;

use linkmend_llr::config::{
    Choices, ControlInsertion, CountedReplays, FrameAction, IneligibleInReplay, InitWhileRunning,
    NackInReplay, NackRearm, ReplayTimerStart,
};
use linkmend_llr::link::{A, B, Link, LinkConfig};
use linkmend_llr::{Config, Frame, FrameHandle, Instant, Span};
use proptest::prelude::*;

fn choices() -> impl Strategy<Value = Choices> {
    let insertion = prop_oneof![
        Just(ControlInsertion::BetweenFrames),
        Just(ControlInsertion::PUBLISHED),
        (8u32..600, 8u32..600).prop_map(|(first_after_octets, apart_octets)| {
            ControlInsertion::InsideFrames { first_after_octets, apart_octets }
        }),
    ];
    (any::<[bool; 6]>(), insertion).prop_map(|(flags, control_insertion)| {
        let [rearm, restart, oldest, all, waits, both] = flags;
        Choices {
            nack_rearm: if rearm { NackRearm::EachReplay } else { NackRearm::Never },
            nack_in_replay: if restart { NackInReplay::Restart } else { NackInReplay::AcknowledgeOnly },
            replay_timer_start: if oldest {
                ReplayTimerStart::OldestFrame
            } else {
                ReplayTimerStart::LastProgress
            },
            counted_replays: if all { CountedReplays::All } else { CountedReplays::Timer },
            ineligible_in_replay: if waits {
                IneligibleInReplay::Waits
            } else {
                IneligibleInReplay::Overtakes
            },
            init_while_running: if both {
                InitWhileRunning::RestartBoth
            } else {
                InitWhileRunning::RestartReceiver
            },
            control_insertion,
            ..Choices::default()
        }
    })
}

fn configs() -> impl Strategy<Value = Config> {
    let window = prop_oneof![1u32..=8, 1u32..=128, Just(128)];
    let action =
        prop_oneof![Just(FrameAction::Discard), Just(FrameAction::Block), Just(FrameAction::BestEffort)];
    let count = prop_oneof![1u8..=4, Just(255)];
    (window, 0u32..256, 1_500u32..20_000, count, action, any::<bool>(), choices()).prop_map(
        |(frames, first_sequence, replay_timer_ns, replay_count_max, action, re_init_on_discard, choices)| {
            Config {
                sequence_space: 256,
                outstanding_frames_max: frames,
                first_sequence,
                replay_timer_ns,
                replay_count_max,
                init_action: FrameAction::Block,
                flush_action: action,
                re_init_on_discard,
                ctlos_spacing_bytes: 400,
                choices,
                ..Config::default()
            }
        },
    )
}

fn offer(link: &mut Link, sizes: &[(u32, bool)]) {
    for (handle, (bytes, poisoned)) in (1..).zip(sizes) {
        link.offer(A, Frame { handle: FrameHandle(handle), bytes: *bytes, poisoned: *poisoned }, true);
        // The other direction has frames as well, so that ACKs wait for them.
        link.offer(B, Frame { handle: FrameHandle(handle), bytes: *bytes, poisoned: false }, true);
    }
}

proptest! {
    #[test]
    fn until_flush_nothing_is_lost_doubled_or_reordered(
        config in configs(),
        sizes in proptest::collection::vec((64u32..1_518, any::<bool>()), 1..400),
        shares in (0.0..0.2f64, 0.0..0.2f64, 0.0..0.4f64),
        delay_ns in 0u64..400,
        seed in any::<u64>(),
        cut_ns in proptest::option::of(1u64..10_000),
    ) {
        let delay = Span::from_nanos(delay_ns);
        let ports = [config, config];
        let mut link = Link::new(LinkConfig { rate_bps: 100_000_000_000, delay, ports, seed }).expect("in range");
        link.enable();
        link.run_for(Span::from_nanos(2_000));
        for from in [A, B] {
            let faults = link.faults_mut(from);
            (faults.loss_share, faults.damage_share, faults.control_loss_share) = shares;
        }
        offer(&mut link, &sizes);
        for _ in 0..40 {
            link.run_for(Span::from_nanos(500));
            common::judge(&link).map_err(TestCaseError::fail)?;
        }
        if let Some(cut_ns) = cut_ns {
            // The PCS-lost timer is 0, so the cut flushes immediately.
            link.set_pcs(A, false);
            link.set_pcs(B, false);
            link.run_for(Span::from_nanos(cut_ns));
            link.set_pcs(A, true);
            link.set_pcs(B, true);
        }
        for from in [A, B] {
            let faults = link.faults_mut(from);
            (faults.loss_share, faults.damage_share, faults.control_loss_share) = (0.0, 0.0, 0.0);
        }
        link.run_until(Instant(20_000_000_000));
        common::judge_end(&link, sizes.len() as u64).map_err(TestCaseError::fail)?;
        if cut_ns.is_none() {
            common::flushes_for_a_reason(&link, &config).map_err(TestCaseError::fail)?;
        }
    }

    /// A transmitter survives any sequence of control ordered sets, and its counters add up.
    #[test]
    fn forged_feedback_never_confuses_the_window(
        config in configs(),
        numbers in proptest::collection::vec((any::<bool>(), 0u32..1 << 20), 1..200),
    ) {
        use linkmend_llr::{Control, SequenceNumber, Transmitter};
        let mut transmitter = Transmitter::new(config).expect("in range");
        transmitter.enable(Instant(0));
        let Some(Control::Init { first, data }) = transmitter.poll_control(Instant(0)) else {
            panic!("an INIT is due");
        };
        transmitter.handle_control(Instant(1), Control::InitEcho { first, data });
        for (time, (is_ack, number)) in (2..).zip(numbers) {
            let now = Instant(time * 100_000);
            let frame = Frame { handle: FrameHandle(time), bytes: 64, poisoned: false };
            transmitter.handle_frame(now, frame);
            let before = transmitter.outstanding_frames();
            let errors = transmitter.counters().rx_ack_nack_seq_error;
            let number = SequenceNumber(number);
            let control = if is_ack { Control::Ack(number) } else { Control::Nack(number) };
            transmitter.handle_control(now, control);
            if transmitter.counters().rx_ack_nack_seq_error > errors {
                prop_assert_eq!(transmitter.outstanding_frames(), before, "an error changes nothing");
            }
            while transmitter.poll_replay(now).is_some() {}
            prop_assert!(transmitter.counters().add_up(transmitter.outstanding_frames()));
        }
    }
}
