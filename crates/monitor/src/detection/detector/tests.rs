//! One port that is polled every second.

use super::*;
use crate::counters::FecReading;

/// A port that is polled every second.
struct Port {
    detector: Detector,
    settings: Settings,
    now: Duration,
    reading: Reading,
}

impl Port {
    fn new() -> Port {
        let settings = Settings { hold_down: Duration::from_mins(1), ..Settings::default() };
        let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
        let mut port = Port { detector: Detector::default(), settings, now: Duration::ZERO, reading };
        assert_eq!(port.poll(0, 0), Err(Irregularity::First));
        port
    }

    fn poll(&mut self, good: u64, corrupted: u64) -> Result<Option<Change>, Irregularity> {
        self.reading.good_frames += good;
        self.reading.corrupted_frames = self.reading.corrupted_frames.map(|count| count + corrupted);
        self.now += Duration::from_secs(1);
        self.detector.handle_reading(&self.settings, self.now, self.reading)
    }

    /// Polls for some seconds, and says after how many the state was reached.
    fn until(&mut self, state: State, seconds: u32, mut poll: impl FnMut(u32) -> (u64, u64)) -> u32 {
        for second in 0..seconds {
            let (good, corrupted) = poll(second);
            let _ = self.poll(good, corrupted);
            if self.detector.state() == state {
                return second + 1;
            }
        }
        panic!("not {state} after {seconds} s: {:?}", self.detector);
    }
}

#[test]
fn corruption_is_found_in_two_polls_and_over_after_the_hold_down() {
    let mut port = Port::new();
    port.until(State::Healthy, 1, |_| (25_000, 0));
    assert_eq!(port.until(State::Corrupting, 9, |_| (25_000, 25)), 2);
    assert!((port.detector.loss_rate() / 1e-3 - 1.0).abs() < 0.01);
    let at_the_earliest = port.now - Duration::from_secs(1);
    assert_eq!(port.detector.shown_at(&port.settings), Some(at_the_earliest), "after the poll before");
    for _ in 0..50 {
        assert_eq!(port.poll(25_000, 25), Ok(None));
    }
    assert_eq!(port.until(State::Healthy, 99, |_| (25_000, 0)), 60);
    assert_eq!(port.detector.loss_rate(), 0.0);
}

#[test]
fn one_corrupted_frame_on_a_quiet_link_is_shown_and_nothing_more() {
    let mut port = Port::new();
    port.settings.window_time = Duration::from_secs(3_600) / WINDOWS_OF_BURSTS;
    port.until(State::Suspect, 1, |_| (100, 1));
    for _ in 0..3_700 {
        let _ = port.poll(100, 0);
        assert!(!port.detector.state().corrupts());
    }
    assert_eq!(port.detector.state(), State::Healthy, "after so many windows");
}

#[test]
fn a_single_burst_is_one_event() {
    let mut port = Port::new();
    port.until(State::Suspect, 1, |_| (1_000_000, 5_000));
    for _ in 0..60 {
        let _ = port.poll(1_000_000, 0);
    }
    assert_eq!(port.detector.state(), State::Suspect);
}

#[test]
fn a_rate_above_the_limit_is_found_though_100_million_frames_would_not_show_it() {
    let mut port = Port::new();
    // 3e-8 of 8 million frames a second: a corrupted frame every four seconds.
    let seconds = port.until(State::Corrupting, 600, |second| (8_000_000, u64::from(second % 4 == 0)));
    assert!((60..200).contains(&seconds), "{seconds}");
}

#[test]
fn an_idle_link_keeps_its_protection() {
    let mut port = Port::new();
    port.until(State::Corrupting, 9, |_| (1_000_000, 1));
    for _ in 0..10_000 {
        assert_eq!(port.poll(10, 0), Ok(None), "too few frames to tell");
    }
    assert_eq!(port.until(State::Healthy, 99, |_| (1_000_000, 0)), 14);
}

#[test]
fn a_link_that_relapses_waits_longer() {
    let mut port = Port::new();
    for hold_down in [60, 120, 240, 480, 960, 960] {
        port.until(State::Corrupting, 9, |_| (25_000, 25));
        assert_eq!(port.until(State::Healthy, 999, |_| (25_000, 0)), hold_down);
    }
    for _ in 0..86_401 {
        let _ = port.poll(25_000, 0);
    }
    port.until(State::Corrupting, 9, |_| (25_000, 25));
    assert_eq!(port.until(State::Healthy, 999, |_| (25_000, 0)), 60);
}

#[test]
fn severe_links_are_told_from_others_with_hysteresis() {
    let mut port = Port::new();
    assert_eq!(port.until(State::Severe, 9, |_| (10_000, 1_000)), 2);
    // The window still has the worse past, so that it takes a while.
    let seconds = port.until(State::Corrupting, 2_000, |_| (1_000_000, 1_000));
    assert!(seconds < 60, "{seconds}");
}

/// An outside tester's traces: a million frames a second, mild for a long time and then bad.
#[test]
fn a_link_that_gets_worse_is_found_within_seconds_however_long_it_was_bad_before() {
    for (past, before, now, severe) in
        [(3_600, 1e-2, 0.5, true), (3_600, 1e-3, 0.1, true), (600, 4e-2, 0.2, true), (600, 1e-5, 1e-2, false)]
    {
        let mut port = Port::new();
        let frames = |rate: f64| (((1.0 - rate) * 1e6) as u64, (rate * 1e6) as u64);
        for _ in 0..past {
            let _ = port.poll(frames(before).0, frames(before).1);
        }
        assert_eq!(port.detector.state(), State::Corrupting);
        for _ in 0..3 {
            let _ = port.poll(frames(now).0, frames(now).1);
        }
        let rate = port.detector.loss_rate();
        assert!((rate / now - 1.0).abs() < 0.01, "{rate} of {now}");
        assert_eq!(port.detector.state() == State::Severe, severe, "{now}");
    }
}

#[test]
fn two_corrupted_frames_are_no_proof_of_a_severe_link() {
    let mut port = Port::new();
    for second in 0..600 {
        let _ = port.poll(0, u64::from(second % 50 == 0));
        let _ = port.poll(1, 0);
        assert_ne!(port.detector.state(), State::Severe, "{second}");
    }
}

#[test]
fn a_lasting_corruption_below_the_limit_lets_nothing_end_and_nothing_begin() {
    let mut port = Port::new();
    for second in 0..7_200 {
        // 2e-9: twice what lets protection end, and a fifth of what begins it.
        let _ = port.poll(10_000_000, u64::from(second % 50 == 0));
        assert!(!port.detector.state().corrupts(), "{second}");
    }
    port.until(State::Corrupting, 9, |_| (10_000_000, 10_000));
    for second in 0..7_200 {
        let _ = port.poll(10_000_000, u64::from(second % 50 == 0));
        assert!(port.detector.state().corrupts(), "{second}");
    }
}

#[test]
fn what_a_flap_a_reset_or_a_lost_counter_says_changes_nothing() {
    let mut port = Port::new();
    port.until(State::Corrupting, 9, |_| (25_000, 25));
    let before = port.detector.loss_rate();
    port.settings.link_up_hold_off = Duration::ZERO;
    port.reading.carrier_changes = Some(1);
    assert_eq!(port.poll(0, 9_999), Err(Irregularity::Flap));
    port.reading.corrupted_frames = Some(0);
    assert_eq!(port.poll(0, 0), Err(Irregularity::Reset));
    port.reading.corrupted_frames = None;
    assert_eq!(port.poll(0, 0), Err(Irregularity::NotCounted));
    assert_eq!((port.detector.state(), port.detector.loss_rate()), (State::Corrupting, before));
}

/// An operator's switch: down at 8 s, up at 11 s, and errors in the four polls after that.
#[test]
fn errors_after_a_flap_are_the_flaps() {
    let mut port = Port::new();
    for second in 0..60 {
        port.reading.up = Some(!(8..11).contains(&second));
        let _ = port.poll(1_000_000, if (11..15).contains(&second) { 40 } else { 0 });
        let state = port.detector.state();
        assert!(matches!(state, State::Healthy | State::Unknown), "{second}: {state}");
    }
    assert_eq!(port.detector.state(), State::Healthy);
}

#[test]
fn a_port_that_is_down_does_not_corrupt_and_is_in_doubt_when_it_is_up_again() {
    let mut port = Port::new();
    port.until(State::Severe, 9, |_| (10_000, 1_000));
    let up = |port: &mut Port, up: bool| port.reading.up = Some(up);
    up(&mut port, false);
    assert_eq!(port.poll(0, 5_000), Err(Irregularity::Down));
    let change = port.detector.handle_down();
    assert_eq!(change, Some(Change { from: State::Severe, to: State::Unknown }));
    assert!(port.detector.is_in_doubt());
    for _ in 0..500 {
        assert_eq!(port.poll(0, 5_000), Err(Irregularity::Down));
    }
    // Repaired, it waits for the hold-off (20 s) and then for the hold-down (60 s).
    up(&mut port, true);
    let mut repaired = Port { detector: port.detector.clone(), settings: port.settings.clone(), ..port };
    assert_eq!(repaired.until(State::Healthy, 200, |_| (10_000, 0)), 81);
    assert!(!repaired.detector.is_in_doubt());
    // Not repaired, it is found out in two polls after the hold-off.
    let reading = Reading { good_frames: port.reading.good_frames, ..port.reading };
    let mut broken = Port { reading, ..port };
    assert_eq!(broken.until(State::Severe, 200, |_| (10_000, 1_000)), 23);
}

#[test]
fn a_restarted_monitor_goes_on_where_it_was() {
    let mut port = Port::new();
    port.detector = Detector::default();
    port.detector.resume(&port.settings, 1e-3, port.now);
    assert_eq!(port.poll(25_000, 0), Err(Irregularity::First));
    assert_eq!(port.until(State::Healthy, 99, |_| (25_000, 0)), 59);
}

/// A port of 100 Gbit/s that counts this many uncorrectable codewords and good frames more in each poll.
struct Codewords {
    detector: Detector,
    now: Duration,
    reading: Reading,
}

impl Codewords {
    fn new() -> Codewords {
        let fec = Some(FecReading { uncorrectable_codewords: Some(0), ..FecReading::default() });
        let reading = Reading {
            corrupted_frames: Some(0),
            up: Some(true),
            speed: Some(100_000_000_000),
            fec,
            ..Reading::default()
        };
        let mut port = Codewords { detector: Detector::default(), now: Duration::ZERO, reading };
        port.polls(30, 0);
        port
    }

    fn polls(&mut self, polls: u32, uncorrectable: u64) -> State {
        for _ in 0..polls {
            self.now += Duration::from_secs(1);
            let fec = self.reading.fec.as_mut().expect("it counts");
            fec.uncorrectable_codewords = fec.uncorrectable_codewords.map(|count| count + uncorrectable);
            let _ = self.detector.handle_reading(&Settings::default(), self.now, self.reading);
        }
        self.detector.state()
    }
}

#[test]
fn an_idle_link_is_found_by_its_codewords_and_is_healthy_again_without_traffic() {
    let mut port = Codewords::new();
    assert_eq!(port.polls(600, 0), State::Healthy);
    assert_ne!(port.polls(2, 600), State::Corrupting, "it may be one burst");
    assert_eq!(port.polls(1, 600), State::Corrupting);
    let found = port.detector.loss_rate();
    assert!((found / 1.03e-4 - 1.0).abs() < 0.05, "600 of 19.6 million codewords, 3.4 to a frame: {found:e}");
    assert_eq!(port.polls(599, 0), State::Corrupting);
    assert_eq!(port.polls(2, 0), State::Healthy);
    assert_eq!(port.detector.counted().frames, 0, "frames are counted as they are");
}

#[test]
fn a_port_that_does_not_say_that_it_is_up_needs_more_than_time_to_be_healthy() {
    let mut port = Codewords::new();
    port.polls(10, 600);
    port.reading.up = None;
    assert_eq!(port.polls(1_200, 0), State::Corrupting);
    assert!(!port.detector.rules_out_corruption(&Settings::default()));
}

#[test]
fn a_histogram_says_how_many_codewords_came_where_the_speed_is_not_known() {
    let mut port = Codewords::new();
    port.reading.speed = None;
    let mut polls = |uncorrectable| {
        for _ in 0..5 {
            let fec = port.reading.fec.as_mut().expect("it counts");
            fec.codewords.get_or_insert_default()[0] += 19_600_000;
            port.polls(1, uncorrectable);
        }
        (port.detector.state(), port.detector.loss_rate())
    };
    assert_eq!(polls(0), (State::Healthy, 0.0));
    let (state, found) = polls(600);
    assert_eq!(state, State::Corrupting);
    assert!((found / 1.03e-4 - 1.0).abs() < 0.05, "{found:e}");
}

#[test]
fn frames_of_a_codeword_are_one_event() {
    // Nine short frames were lost with each of two codewords, a second apart: once, that was proof.
    let mut port = Codewords::new();
    port.polls(600, 0);
    for _ in 0..2 {
        port.reading.good_frames += 100_000_000;
        port.reading.corrupted_frames = port.reading.corrupted_frames.map(|count| count + 9);
        assert_ne!(port.polls(1, 1), State::Corrupting);
    }
}
