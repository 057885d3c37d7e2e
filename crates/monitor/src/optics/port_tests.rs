//! Courses of optics over days.

use super::super::Thresholds;
use super::*;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

/// A port in virtual time, read once a minute.
struct World {
    now: Duration,
    optics: PortOptics,
    /// What was abnormal at which day, each time that it changed.
    told: Vec<(u64, Vec<String>)>,
}

impl World {
    fn new() -> World {
        World { now: Duration::ZERO, optics: PortOptics::default(), told: Vec::new() }
    }

    /// The same reading for a while.
    fn pass(&mut self, time: Duration, is_up: bool, reading: &OpticsReading) {
        let end = self.now + time;
        while self.now < end {
            if self.optics.handle_reading(self.now, is_up, reading.clone()) {
                let abnormal = self.optics.finding().abnormalities();
                self.told.push((self.now.as_secs() / DAY.as_secs(), abnormal));
            }
            self.now += MINUTE;
        }
    }
}

/// Four lanes that receive this, without thresholds.
fn received(dbm: [f32; 4]) -> OpticsReading {
    let lane = |received| Lane { received_dbm: Some(received), sent_dbm: Some(-1.0), bias_ma: Some(7.0) };
    let module = Module::new("ACME", "QSFP28-SR4", "S1");
    OpticsReading { module, lanes: dbm.map(lane).to_vec(), ..OpticsReading::default() }
}

#[test]
fn a_drop_is_told_with_its_lane_its_depth_and_its_time_and_the_end_of_it_too() {
    let mut world = World::new();
    world.pass(7 * DAY, true, &received([-2.0, -2.2, -2.1, -2.3]));
    assert!(world.told.is_empty(), "{:?}", world.told);
    assert_eq!(world.optics.finding().received, Some(Condition::Normal));
    world.pass(2 * DAY, true, &received([-2.0, -2.2, -5.2, -2.3]));
    let status = world.optics.status().expect("a module");
    assert_eq!(
        status.abnormal,
        ["receive power of lane 3 of 4 -5.2 dBm, 3.1 dB below its median over 7 days, for 47 h"]
    );
    world.pass(DAY, true, &received([-2.0, -2.2, -2.1, -2.3]));
    assert_eq!(world.told.len(), 2, "{:?}", world.told);
    assert_eq!((world.told[0].0, &world.told[1]), (7, &(9, Vec::new())));
}

#[test]
fn small_changes_single_readings_and_a_port_that_is_down_are_not_told() {
    let mut world = World::new();
    let usual = received([-2.0; 4]);
    world.pass(3 * DAY, true, &usual);
    world.pass(DAY, true, &received([-3.9; 4]));
    world.pass(MINUTE, true, &received([-40.0; 4]));
    world.pass(DAY, true, &usual);
    world.pass(3 * DAY, false, &received([-40.0; 4]));
    world.pass(MINUTE, true, &received([-40.0; 4]));
    world.pass(DAY, true, &usual);
    assert!(world.told.is_empty(), "{:?}", world.told);
}

#[test]
fn a_slow_decline_is_found_once_it_is_deep_and_nothing_is_before_there_is_a_day_to_compare_with() {
    let mut world = World::new();
    world.pass(Duration::from_hours(20), true, &received([-2.0; 4]));
    world.pass(Duration::from_hours(2), true, &received([-8.0; 4]));
    assert!(world.told.is_empty() && world.optics.finding().received.is_none());

    // One decibel a day: the median of a week lags three days behind.
    let mut world = World::new();
    for day in 0..12_u8 {
        world.pass(DAY, true, &received([-2.0 - f32::from(day); 4]));
    }
    assert_eq!(world.told.len(), 1, "{:?}", world.told);
    assert!((2..=5).contains(&world.told[0].0), "{:?}", world.told);
}

#[test]
fn what_was_lower_for_a_month_is_usual() {
    let mut world = World::new();
    world.pass(7 * DAY, true, &received([-2.0; 4]));
    world.pass(27 * DAY, true, &received([-6.0; 4]));
    assert_eq!(world.told.len(), 1);
    world.pass(4 * DAY, true, &received([-6.0; 4]));
    assert_eq!((world.told.len(), world.optics.finding().received), (2, Some(Condition::Normal)));
}

#[test]
fn thresholds_count_from_the_second_reading_and_dark_lanes_that_never_had_light_do_not() {
    let limits = Limits { low_alarm: Some(-12.0), low_warning: Some(-9.0), ..Limits::default() };
    let thresholds = Thresholds { received: limits, ..Thresholds::default() };
    let reading = |dbm| OpticsReading { thresholds, ..received(dbm) };
    let mut world = World::new();
    world.pass(MINUTE, true, &reading([-9.5, -1.0, -40.0, -40.0]));
    assert!(world.told.is_empty());
    world.pass(MINUTE, true, &reading([-9.5, -1.0, -40.0, -40.0]));
    let warning = "receive power of lane 1 of 2 -9.5 dBm, below the low warning of -9.0 dBm";
    assert_eq!(world.optics.finding().abnormalities(), [warning]);
    world.pass(MINUTE, true, &reading([-9.5, -13.0, -40.0, -40.0]));
    let alarm = "receive power of 2 of 2 lanes (worst: lane 2) -13.0 dBm, below the low alarm of -12.0 dBm, for 2 min";
    assert_eq!(world.optics.finding().abnormalities(), [alarm]);
}

#[test]
fn a_module_that_comes_back_was_handled_and_another_one_begins_anew() {
    let mut world = World::new();
    let usual = received([-2.0; 4]);
    world.pass(3 * DAY, true, &usual);
    assert!(!world.optics.was_handled_recently(world.now));
    world.optics.handle_absence();
    assert!(world.optics.status().is_none());
    world.pass(DAY, true, &usual);
    assert!(world.optics.was_handled_recently(world.now));
    assert_eq!(world.optics.finding().received, Some(Condition::Normal), "its history goes on");
    world.pass(7 * DAY, true, &usual);
    assert!(!world.optics.was_handled_recently(world.now));
    let other = OpticsReading { module: Module::new("ACME", "QSFP28-SR4", "S2"), ..received([-7.0; 4]) };
    world.pass(Duration::from_hours(1), true, &other);
    assert!(world.optics.was_handled_recently(world.now) && world.optics.finding().received.is_none());
    assert!(world.told.is_empty());
}

#[test]
fn a_bias_that_rises_by_half_and_a_hot_module_are_told() {
    let mut world = World::new();
    let usual = received([-2.0; 4]);
    world.pass(3 * DAY, true, &usual);
    let mut worn = usual.clone();
    worn.lanes[1].bias_ma = Some(10.6);
    worn.temperature_c = Some(76.0);
    worn.thresholds.temperature = Limits { high_alarm: Some(75.0), ..Limits::default() };
    world.pass(DAY, true, &worn);
    assert_eq!(
        world.optics.finding().abnormalities(),
        [
            "laser bias of lane 2 of 4 10.6 mA, 3.6 mA above its median over 3 days, for 23 h",
            "temperature 76.0 °C, above the high alarm of 75.0 °C, for 23 h"
        ]
    );
}

#[test]
fn a_port_with_eight_lanes_needs_little_memory() {
    let of_lanes = LANES_MOST * (size_of::<[History; 3]>() + size_of::<Lane>());
    let bytes = size_of::<PortOptics>() + of_lanes + 3 * 32;
    assert!(bytes < 2_048, "{bytes}");
}
