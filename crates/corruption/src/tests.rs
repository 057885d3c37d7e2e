//! Tests of the process with all models.

use super::*;
use proptest::prelude::*;

/// Seeds are fixed, so a test always passes or always fails. The bounds say how unlikely a failing seed is.
const SIGMAS: f64 = 5.0;

fn process(corruption: &Corruption, seed: u64) -> CorruptionProcess {
    CorruptionProcess::new(corruption, Random::new(seed, "corruption")).expect("valid parameters")
}

fn outcomes(corruption: &Corruption, bytes: u32, frames: usize) -> Vec<bool> {
    let mut process = process(corruption, 1);
    (0..frames).map(|_| process.corrupts(bytes)).collect()
}

/// Lengths of the runs of corrupted frames; the last, which may not have ended, is left out.
fn bursts(outcomes: &[bool]) -> Vec<usize> {
    let mut bursts: Vec<usize> = outcomes.split(|&lost| !lost).map(<[bool]>::len).collect();
    bursts.pop();
    bursts.retain(|&length| length > 0);
    bursts
}

fn losses(outcomes: &[bool]) -> f64 {
    outcomes.iter().filter(|&&lost| lost).count() as f64
}

/// Asserts that `count` of `trials` is what a binomial number with probability `p` may be.
fn assert_binomial(count: f64, trials: f64, p: f64) {
    let bound = SIGMAS * libm::sqrt(trials * p * (1.0 - p));
    assert!((count - trials * p).abs() <= bound, "{count} of {trials}, expected {} ± {bound}", trials * p);
}

#[test]
fn iid_loss_has_its_rate_at_every_length() {
    for loss in [1e-3, 0.05, 0.5, 0.99] {
        for bytes in [64, 9216] {
            let outcomes = outcomes(&Corruption::iid(loss), bytes, 1_000_000);
            assert_binomial(losses(&outcomes), 1e6, loss);
        }
    }
}

/// Octets between frames are lost as often as their share of a frame, and by bit errors as their bits.
#[test]
fn few_octets_are_lost_as_their_share_of_a_frame() {
    let lost = |corruption: &Corruption| {
        let mut process = process(corruption, 1);
        (0..1_000_000).filter(|_| process.corrupts_octets(8, 1_518)).count() as f64
    };
    assert_binomial(lost(&Corruption::iid(0.5)), 1e6, 0.5 * 8.0 / 1_538.0);
    assert_binomial(lost(&Corruption::PerBit { bit_error_rate: 1e-3 }), 1e6, 1.0 - libm::pow(0.999, 64.0));
    let recorded = Corruption::Recorded(Arc::new([3, 17]));
    assert_eq!(lost(&recorded), 2.0);
}

#[test]
fn rates_of_zero_and_one_lose_nothing_and_everything() {
    let never = [
        Corruption::None,
        Corruption::iid(0.0),
        Corruption::Iid { loss: 0.0 },
        Corruption::PerBit { bit_error_rate: 0.0 },
        Corruption::GilbertElliott { loss: 0.0, mean_burst_frames: 3.0 },
        Corruption::Recorded(Arc::new([])),
    ];
    for corruption in never {
        let mut process = process(&corruption, 1);
        assert_eq!(process.clean_frames(1518), u64::MAX, "{corruption:?}");
        process.skip(1 << 60, 1518);
        assert!((0..1_000).all(|_| !process.corrupts(1518)), "{corruption:?}");
        assert_eq!(corruption.frame_loss(1518), 0.0);
    }
    let always = [
        Corruption::iid(1.0),
        Corruption::PerBit { bit_error_rate: 1.0 },
        Corruption::Recorded((0..1_000).collect()),
        Corruption::Attenuated { transceiver: Transceiver::TenGig, attenuation_db: 50.0 },
        Corruption::Attenuated { transceiver: Transceiver::FiftyGig, attenuation_db: 50.0 },
    ];
    for corruption in always {
        let mut process = process(&corruption, 1);
        for _ in 0..1_000 {
            assert_eq!(process.clean_frames(1518), 0, "{corruption:?}");
            assert!(process.corrupts(1518), "{corruption:?}");
        }
    }
}

/// Appendix B.2 and section 3.5: five registers hold a run of five losses. Of the runs of iid loss, all but p^5 are no
/// longer.
#[test]
fn five_registers_cover_the_runs_of_five_percent_loss() {
    let loss: f64 = 0.05;
    let covered = 1.0 - libm::pow(loss, 5.0);
    assert!(covered >= 0.999_999, "{covered}");

    let bursts = bursts(&outcomes(&Corruption::iid(loss), 1518, 5_000_000));
    let runs = bursts.len() as f64;
    assert!(runs > 2e5);
    for least in 1..=6 {
        let count = bursts.iter().filter(|&&length| length >= least).count() as f64;
        assert_binomial(count, runs, libm::pow(loss, least as f64 - 1.0));
    }
}

/// Section 4 of LinkGuardian's paper gives a bit error rate of 1e-12 for a loss rate of 1e-8 of full frames, as an order of magnitude.
#[test]
fn a_loss_rate_of_1e_8_of_full_frames_is_a_bit_error_rate_of_1e_12() {
    let corruption = Corruption::PerBit { bit_error_rate: 1e-12 };
    let loss = corruption.frame_loss(1518);
    assert!((loss / 1.214e-8 - 1.0).abs() < 1e-3, "{loss}");
    assert_eq!(libm::round(libm::log10(loss)), -8.0);
}

/// At this rate a long frame usually has several wrong bits, so that it would show if they cost more than one frame.
#[test]
fn bit_errors_hit_long_frames_more_often() {
    let corruption = Corruption::PerBit { bit_error_rate: 1e-4 };
    let sizes = [64, 1518, 300, 9216];
    let mut process = process(&corruption, 1);
    let mut lost = [0.0; 4];
    for _ in 0..200_000 {
        for (bytes, lost) in sizes.into_iter().zip(&mut lost) {
            *lost += f64::from(process.corrupts(bytes));
        }
    }
    for (bytes, lost) in sizes.into_iter().zip(lost) {
        let expected = 1.0 - libm::pow(1.0 - 1e-4, 8.0 * f64::from(bytes));
        assert!((corruption.frame_loss(bytes) / expected - 1.0).abs() < 1e-9);
        assert_binomial(lost, 2e5, expected);
    }
}

#[test]
fn gilbert_elliott_has_its_loss_and_its_bursts() {
    for (loss, mean) in [(0.01, 4.0), (0.3, 1.0), (0.5, 1.0), (0.2, 20.0), (0.9, 9.0)] {
        let corruption = Corruption::GilbertElliott { loss, mean_burst_frames: mean };
        let frames = 2_000_000;
        let outcomes = outcomes(&corruption, 1518, frames);
        // Two frames k apart are correlated by (1 - p - r)^k, which multiplies the variance of the count.
        let (p, r) = (loss / (1.0 - loss) / mean, 1.0 / mean);
        let inflation = (2.0 - p - r) / (p + r);
        let deviation = libm::sqrt(frames as f64 * loss * (1.0 - loss) * inflation);
        let lost = losses(&outcomes);
        let bound = SIGMAS * deviation + 1.0;
        assert!((lost - frames as f64 * loss).abs() < bound, "{corruption:?}: {lost}");
        let bursts = bursts(&outcomes);
        for least in [1, 2, 3, 10, 40] {
            let count = bursts.iter().filter(|&&length| length >= least).count() as f64;
            assert_binomial(count, bursts.len() as f64, libm::pow(1.0 - r, least as f64 - 1.0));
        }
    }
}

/// The chain begins in its stationary state, so the first frame is lost as often as any.
#[test]
fn gilbert_elliott_begins_in_its_stationary_state() {
    let corruption = Corruption::GilbertElliott { loss: 0.3, mean_burst_frames: 50.0 };
    let first = (0..20_000).filter(|&seed| process(&corruption, seed).corrupts(64)).count();
    assert_binomial(first as f64, 2e4, 0.3);
}

#[test]
fn a_recording_is_repeated_exactly() {
    let indices = [0, 1, 5, 6, 1_000, 2_999];
    let outcomes = outcomes(&Corruption::Recorded(Arc::new(indices)), 64, 5_000);
    let lost: Vec<u64> = (0..).zip(outcomes).filter(|&(_, lost)| lost).map(|(index, _)| index).collect();
    assert_eq!(lost, indices);
}

/// Failed codewords from the same draws, and every frame compared with all of them.
#[test]
fn frames_are_lost_exactly_where_they_overlap_a_failed_codeword() {
    for failure in [0.02, 0.3, 0.9, 1.0] {
        let mut codewords = Codewords::new(640, failure);
        let (mut random, mut twin) = (Random::new(7, "codewords"), Random::new(7, "codewords"));
        let mut begin = -i128::from(twin.next_u64() % 640);
        let mut failed = Vec::new();
        for _ in 0..3_000 {
            begin += 640 * i128::from(twin.geometric(failure));
            failed.push(begin);
            begin += 640;
        }
        let mut sizes = Random::new(8, "sizes");
        let mut counter = codewords.first_gap(&mut random);
        let mut at = 0;
        for _ in 0..1_000 {
            let bytes = 64 + (sizes.next_u64() % 2_000) as u32;
            let end = at + 8 + i128::from(bytes);
            let expected = failed.iter().any(|&failed| failed < end && at < failed + 640);
            let cost = u64::from(bytes) + 20;
            let lost = counter < cost;
            counter = if lost { codewords.gap(counter, bytes, &mut random) } else { counter - cost };
            assert_eq!(lost, expected, "a frame of {bytes} octets at {at}, failure {failure}");
            at += i128::from(bytes) + 20;
        }
        assert!(failed.last() > Some(&at), "the reference ends before the frames");
    }
}

#[test]
fn an_attenuated_link_loses_what_the_optics_say() {
    for (transceiver, attenuation_db) in
        [(Transceiver::TenGig, 5.5), (Transceiver::TwentyFiveGigFec, 4.2), (Transceiver::FiftyGig, 0.8)]
    {
        let corruption = Corruption::Attenuated { transceiver, attenuation_db };
        for bytes in [64, 1518] {
            let expected = corruption.frame_loss(bytes);
            let frames = 2e6;
            let lost = losses(&outcomes(&corruption, bytes, frames as usize));
            // A failed codeword takes at most (640 + 72) / 84 + 1 < 10 of the shortest frames, which multiplies the
            // variance by as much.
            let bound = SIGMAS * libm::sqrt(frames * expected * 10.0);
            assert!(bound < 0.2 * frames * expected, "too few losses to tell");
            assert!((lost - frames * expected).abs() < bound, "{transceiver}, {bytes}: {lost}");
        }
    }
}

#[test]
fn a_coded_link_loses_what_the_code_says() {
    for (fec, bits_per_second, bit_error_rate) in [
        (Fec::Rs272, 100_000_000_000, 7e-4),
        (Fec::Rs272, 800_000_000_000, 5e-4),
        (Fec::Rs544, 400_000_000_000, 1.4e-3),
    ] {
        let corruption = Corruption::Coded { code: Interleaved::at(fec, bits_per_second), bit_error_rate };
        let (expected, frames) = (corruption.frame_loss(1518), 4e6);
        let lost = losses(&outcomes(&corruption, 1518, frames as usize));
        // A failed group of codewords takes at most three such frames.
        let bound = SIGMAS * libm::sqrt(frames * expected * 3.0);
        assert!(bound < 0.2 * frames * expected, "too few losses to tell: {expected:e}");
        assert!((lost - frames * expected).abs() < bound, "{fec}: {lost} of {}", frames * expected);
    }
}

/// A codeword overlaps (640 + 72 - 1) / 84 frames of 64 octets on average.
#[test]
fn a_failed_codeword_takes_several_short_frames() {
    let corruption =
        Corruption::Attenuated { transceiver: Transceiver::TwentyFiveGigFec, attenuation_db: 4.0 };
    let bursts = bursts(&outcomes(&corruption, 64, 10_000_000));
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    // Each burst has 8 or 9 frames, half a frame of standard deviation; now and then two codewords in a row fail.
    let bound = SIGMAS * 0.5 / libm::sqrt(bursts.len() as f64) + 0.02;
    assert!(bursts.len() > 500 && (mean - 711.0 / 84.0).abs() < bound, "{mean} over {}", bursts.len());
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let burst = |loss, mean_burst_frames| Corruption::GilbertElliott { loss, mean_burst_frames };
    let attenuated =
        |attenuation_db| Corruption::Attenuated { transceiver: Transceiver::TenGig, attenuation_db };
    let cases = [
        (Corruption::iid(-0.1), "loss = -0.1: must be from 0 to 1"),
        (Corruption::iid(1.5), "loss = 1.5: must be from 0 to 1"),
        (Corruption::iid(f64::NAN), "loss = NaN: must be from 0 to 1"),
        (Corruption::PerBit { bit_error_rate: 2.0 }, "bit_error_rate = 2: must be from 0 to 1"),
        (burst(1.0, 3.0), "loss = 1: must be from 0 to below 1"),
        (burst(0.1, 0.5), "mean_burst_frames = 0.5: must be at least 1 at a loss of 0.1"),
        (burst(0.75, 2.0), "mean_burst_frames = 2: must be at least 3 at a loss of 0.75"),
        (burst(0.1, f64::INFINITY), "mean_burst_frames = inf: must be at least 1 at a loss of 0.1"),
        (
            Corruption::Recorded(Arc::new([3, 7, 7])),
            "recorded = 7: must be greater than the previous index, 7",
        ),
        (attenuated(-1.0), "attenuation_db = -1: must be 0 or more"),
        (attenuated(f64::NAN), "attenuation_db = NaN: must be 0 or more"),
    ];
    for (corruption, message) in cases {
        let error = corruption.validate().expect_err("must be refused");
        assert_eq!(error.to_string(), message);
        let refused = CorruptionProcess::new(&corruption, Random::new(1, "refused"));
        assert_eq!(refused.expect_err("must be refused"), error);
    }
}

#[test]
#[should_panic(expected = "only 3 frames surely pass, not 4")]
fn skipping_a_corrupted_frame_is_refused() {
    process(&Corruption::Recorded(Arc::new([3])), 1).skip(4, 64);
}

fn any_corruption() -> impl Strategy<Value = Corruption> {
    let share = prop_oneof![1e-6..1e-3, 1e-3..0.9];
    prop_oneof![
        Just(Corruption::None),
        share.clone().prop_map(Corruption::iid),
        (1e-8..1e-3).prop_map(|bit_error_rate| Corruption::PerBit { bit_error_rate }),
        (share, 9.0..30.0)
            .prop_map(|(loss, mean_burst_frames)| Corruption::GilbertElliott { loss, mean_burst_frames }),
        prop::collection::btree_set(0..20_000_u64, 0..50)
            .prop_map(|indices| Corruption::Recorded(indices.into_iter().collect())),
        (prop::sample::select(&Transceiver::ALL[..]), 0.0..8.0)
            .prop_map(|(transceiver, attenuation_db)| Corruption::Attenuated { transceiver, attenuation_db }),
        (prop::sample::select(&Fec::ALL[..]), 1_u8..5, 1e-4..2e-3).prop_map(
            |(fec, codewords, bit_error_rate)| {
                Corruption::Coded { code: Interleaved { fec, codewords }, bit_error_rate }
            }
        ),
    ]
}

proptest! {
    #[test]
    fn skipping_frames_equals_passing_each_of_them(
        corruption in any_corruption(),
        seed: u64,
        steps in prop::collection::vec((64_u32..9_300, 0.0..=1.0), 1..30),
    ) {
        let mut skipping = process(&corruption, seed);
        let mut calling = skipping.clone();
        for (bytes, part) in steps {
            let clean = skipping.clean_frames(bytes);
            let frames = (clean.min(2_000) as f64 * part) as u64;
            skipping.skip(frames, bytes);
            for _ in 0..frames {
                prop_assert!(!calling.corrupts(bytes));
            }
            if clean < u64::MAX {
                prop_assert_eq!(skipping.clean_frames(bytes), clean - frames);
            }
            for frame in 0..100 {
                // The frame after the clean ones is corrupted, at whatever length was asked about.
                let clean = skipping.clean_frames(bytes + frame);
                let lost = skipping.corrupts(bytes + frame);
                prop_assert_eq!(lost, clean == 0);
                prop_assert_eq!(lost, calling.corrupts(bytes + frame));
            }
        }
        let tail = |process: &mut CorruptionProcess| -> Vec<bool> {
            (0..3_000).map(|_| process.corrupts(1518)).collect()
        };
        prop_assert_eq!(tail(&mut skipping), tail(&mut calling));
    }
}
