//! A carrier that comes and goes. What a port counts then is the flap's and not its link's.

use super::settings::Settings;
use crate::counters::{Irregularity, Reading};
use std::time::Duration;

/// A port that has flapped so often within a few half-lives is not judged any more ...
const PENALTY_CUTOFF: f64 = 3.0;
/// ... until its penalty, which decays by half in [`Settings::flap_half_life`], is this (RFC 2439, section 4.2).
const PENALTY_REUSE: f64 = 1.5;
/// Two half-lives after the latest flap every port is judged again.
const PENALTY_MOST: f64 = 6.0;

/// Watches the carrier of one port, and says when its counters mean nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Flaps {
    is_down: bool,
    /// Whether the latest poll found a flap. Sources may show one flap in two polls.
    flapped: bool,
    /// Readings are compared from here on.
    settled_at: Duration,
    counted: u64,
    /// One for each flap, as it was at the moment beside it.
    penalty: (f64, Duration),
    is_damped: bool,
}

impl Flaps {
    /// Takes a reading made at `now`, whether it has `flapped` by its counters, and when the one before it was made. Returns
    /// why the two cannot be compared, if that is because of the carrier.
    pub fn handle_reading(
        &mut self,
        settings: &Settings,
        now: Duration,
        since: Option<Duration>,
        reading: &Reading,
        flapped: bool,
    ) -> Option<Irregularity> {
        let was_down = std::mem::replace(&mut self.is_down, reading.up == Some(false));
        let had_flapped = std::mem::replace(&mut self.flapped, flapped || was_down || self.is_down);
        let penalty = self.penalty_at(settings, now);
        if self.flapped && !had_flapped && since.is_some() {
            self.penalty = ((penalty + 1.0).min(PENALTY_MOST), now);
            self.counted += 1;
        }
        let penalty = self.penalty_at(settings, now);
        self.is_damped = penalty >= if self.is_damped { PENALTY_REUSE } else { PENALTY_CUTOFF };
        if self.is_down {
            return Some(Irregularity::Down);
        }
        if self.flapped {
            self.settled_at = now + settings.link_up_hold_off;
            return Some(Irregularity::Flap);
        }
        // What was counted since the poll before must have been counted after the hold-off.
        let is_settling = since.is_some_and(|since| since < self.settled_at);
        self.is_damped
            .then_some(Irregularity::Damped)
            .or_else(|| is_settling.then_some(Irregularity::Settling))
    }

    /// How often the port has flapped.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    fn penalty_at(&self, settings: &Settings, now: Duration) -> f64 {
        let (penalty, at) = self.penalty;
        let half_lives = now.saturating_sub(at).as_secs_f64() / settings.flap_half_life.as_secs_f64();
        penalty * libm::exp2(-half_lives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What each of some polls, a second apart, says of a port that is up or down then.
    fn polls(flaps: &mut Flaps, from: u32, up: &[bool]) -> Vec<Option<Irregularity>> {
        let settings = Settings { link_up_hold_off: 3 * SECOND, ..Settings::default() };
        let reading = |up: bool| Reading { up: Some(up), ..Reading::default() };
        let at = |poll: usize| SECOND * (from + u32::try_from(poll).expect("few"));
        let since = |poll: usize| at(poll).checked_sub(SECOND).filter(|_| from + poll as u32 > 0);
        up.iter()
            .enumerate()
            .map(|(poll, &up)| flaps.handle_reading(&settings, at(poll), since(poll), &reading(up), false))
            .collect()
    }

    #[test]
    fn a_port_is_judged_again_a_hold_off_after_it_came_up() {
        use Irregularity::{Down, Flap, Settling};
        let said = polls(&mut Flaps::default(), 0, &[true, false, false, true, true, true, true, true]);
        let settling = Some(Settling);
        assert_eq!(said, [None, Some(Down), Some(Down), Some(Flap), settling, settling, settling, None]);
    }

    #[test]
    fn a_port_that_flaps_again_and_again_is_left_alone_for_a_half_life() {
        let mut flaps = Flaps::default();
        let mut second = 0;
        for _ in 0..4 {
            polls(&mut flaps, second, &[true, false, true, true, true, true, true, true]);
            second += 8;
        }
        assert_eq!(polls(&mut flaps, second, &[true]), [Some(Irregularity::Damped)]);
        // Between 3 and 4 flaps, of which 1.5 are left after 5 to 7 minutes.
        let is_damped = |flaps: &mut Flaps, at| polls(flaps, at, &[true]) == [Some(Irregularity::Damped)];
        assert!(is_damped(&mut flaps, second + 300) && !is_damped(&mut flaps, second + 430));
        assert!(!is_damped(&mut flaps, second + 431), "once it is over");
    }
}
