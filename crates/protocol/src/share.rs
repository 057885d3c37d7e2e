//! Both paths' capacity together: which path each frame takes, and what the other path is told of it.
//!
//! Each new frame leaves on one of the paths. The receiving end makes one queue of both ([`crate::merge`]): a frame behind a
//! hole waits until both paths have passed the hole, or the hole is filled. The sender has two duties for this to work:
//!
//! - **It spreads.** A frame takes the path on which it arrives first, by what the path has still to send, how much later
//!   its frames arrive, and what its losses cost on average ([`Outlook`]). If that path is busy, frames wait for it, but
//!   not longer than taking the other path would cost, or [`PATIENCE_US`]; so a backlog fills both. A retransmission waits for
//!   nothing.
//! - **It marks.** A path that has carried none of the latest frames must still be seen to pass their numbers, or the
//!   receiver could not tell a loss on the other path from a frame that is in flight on this one. The driver sends
//!   [`LinkEnd::position`](crate::LinkEnd::position) there when [`Spread::mark_due`] says so.
//!
//! The driver calls [`Spread::choose`] before it asks for something to send, [`Spread::left`] for each new frame and
//! [`Spread::marked`] for each position that it sends, and tells the link end where frames and copies have left
//! ([`LinkEnd::left_on`](crate::LinkEnd::left_on)).

use crate::paths::Path;
use crate::schedule::PortRoom;
use crate::time::{Instant, Tick, Ticks};

/// How long frames wait at most for a path that is busy while the other one is not: below what CoDel takes for a standing
/// queue (5 ms, RFC 8289).
const PATIENCE_US: u64 = 2_000;
/// Of a path that seems to lose everything, this share of frames is assumed to arrive.
const ARRIVES_LEAST: f64 = 1.0 / 128.0;
/// A mark is due after this share of a detection time.
const MARKS: u64 = 16;
/// A mark is due at once if this many frames have left on the other path. The receiver reads 17 bits of a number against
/// what it has seen on a path, which must not fall behind by an era.
const UNMARKED_FRAMES_MAX: u64 = 4_096;

/// What is known about a path on which the next frame could leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// What its port takes now.
    pub room: PortRoom,
    /// How long what it has taken keeps it busy.
    pub backlog: Ticks,
    /// How much later a frame arrives than on the other path ([`PathReport::later_us`](crate::paths::PathReport::later_us)).
    pub later: Ticks,
    /// The share of frames that it loses.
    pub loss: f64,
}

impl Outlook {
    /// When a frame arrives that leaves now, compared with the other path. It takes a round trip more each time that it is lost.
    fn arrival(&self, round_trip: Ticks) -> Ticks {
        let losses = self.loss / (1.0 - self.loss).max(ARRIVES_LEAST);
        Ticks(self.backlog.0 + self.later.0 + (round_trip.0 as f64 * losses) as u64)
    }
}

/// The frames that have left on one path since the other one was marked.
#[derive(Debug, Clone, Copy, Default)]
struct Unmarked {
    frames: u64,
    since: Instant,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Spread {
    patience: Ticks,
    mark_after: Ticks,
    unmarked: [Unmarked; 2],
}

impl Spread {
    /// `detection`: the silence after which a path counts as failed.
    pub fn new(detection: Ticks, tick: Tick) -> Spread {
        Spread {
            patience: tick.micros(PATIENCE_US),
            mark_after: Ticks(detection.0 / MARKS),
            unmarked: Default::default(),
        }
    }

    /// The path that a frame takes now, if any: one that needs this `room`, of the paths that can be used. `waited`: how
    /// long the first frame has waited. Of two paths that are alike, it is the one in use.
    pub fn choose(
        &self,
        outlooks: [Option<Outlook>; 2],
        in_use: Path,
        room: PortRoom,
        waited: Ticks,
        round_trip: Ticks,
    ) -> Option<Path> {
        let of = |path: Path| outlooks[path as usize];
        let arrival = |path: Path| of(path).map(|outlook| outlook.arrival(round_trip));
        let takes = |path: Path| of(path).is_some_and(|outlook| outlook.room >= room);
        let [first, second] = match (arrival(in_use), arrival(in_use.other())) {
            (Some(own), Some(other)) if other < own => [in_use.other(), in_use],
            (None, _) => [in_use.other(), in_use],
            _ => [in_use, in_use.other()],
        };
        if takes(first) {
            return Some(first);
        }
        let (Some(sooner), Some(later)) = (arrival(first), arrival(second)) else { return None };
        let costs = Ticks(later.0 - sooner.0);
        let is_worth_it = room < PortRoom::All || waited >= costs.min(self.patience);
        (takes(second) && is_worth_it).then_some(second)
    }

    /// Records that a new frame has left on a path.
    #[inline]
    pub fn left(&mut self, now: Instant, path: Path) {
        self.unmarked[path as usize].frames = 0;
        let other = &mut self.unmarked[path.other() as usize];
        if other.frames == 0 {
            other.since = now;
        }
        other.frames += 1;
    }

    /// When a path is to be told how far the frames on the other one have come; `None` if it need not be.
    #[inline]
    pub fn mark_due(&self, path: Path) -> Option<Instant> {
        let Unmarked { frames, since } = self.unmarked[path as usize];
        match frames {
            0 => None,
            1..UNMARKED_FRAMES_MAX => Some(since + self.mark_after),
            UNMARKED_FRAMES_MAX.. => Some(since),
        }
    }

    /// Records that a path was told.
    pub fn marked(&mut self, path: Path) {
        self.unmarked[path as usize].frames = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Ticks = Ticks(1_000_000);

    fn outlook(room: PortRoom, backlog: u64, later: u64, loss: f64) -> Option<Outlook> {
        Some(Outlook { room, backlog: Ticks(backlog), later: Ticks(later), loss })
    }

    fn choose(outlooks: [Option<Outlook>; 2], room: PortRoom, waited: u64) -> Option<Path> {
        let spread = Spread::new(Ticks(10_000_000), Tick::Nanosecond);
        let chosen = spread.choose(outlooks, Path::Primary, room, Ticks(waited), ROUND_TRIP);
        // The names of the paths make no difference.
        let [first, second] = outlooks;
        let mirrored = spread.choose([second, first], Path::Backup, room, Ticks(waited), ROUND_TRIP);
        assert_eq!(chosen, mirrored.map(Path::other));
        chosen
    }

    #[test]
    fn a_frame_takes_the_path_on_which_it_arrives_first() {
        use Path::{Backup, Primary};
        use PortRoom::All;
        let open = |backlog, later, loss| outlook(All, backlog, later, loss);
        for (paths, chosen) in [
            ([open(0, 0, 0.0), open(0, 0, 0.0)], Primary),
            ([open(100, 0, 0.0), open(0, 0, 0.0)], Backup),
            ([open(100, 0, 0.0), open(0, 200, 0.0)], Primary),
            ([open(0, 500, 0.0), open(0, 0, 0.0)], Backup),
            ([open(0, 0, 0.1), open(0, 50_000, 0.0)], Backup),
            ([open(0, 0, 0.1), open(0, 150_000, 0.0)], Primary),
            ([None, open(9, 9, 0.9)], Backup),
            ([open(9, 9, 0.9), None], Primary),
        ] {
            assert_eq!(choose(paths, All, 0), Some(chosen), "{paths:?}");
        }
        assert_eq!(choose([None, None], All, 0), None);
    }

    #[test]
    fn a_backlog_fills_both_paths_and_a_single_frame_waits_for_the_better_one() {
        use PortRoom::{All, None as Closed, Urgent};
        let slow = outlook(All, 0, 40_000, 0.0);
        let busy = |backlog| outlook(Urgent, backlog, 0, 0.0);
        assert_eq!(choose([busy(1_000), slow], All, 38_000), None);
        assert_eq!(choose([busy(1_000), slow], All, 39_000), Some(Path::Backup));
        assert_eq!(choose([busy(1_000), slow], Urgent, 0), Some(Path::Primary), "a copy has room there");
        assert_eq!(choose([outlook(Closed, 0, 0, 0.0), slow], Urgent, 0), Some(Path::Backup));
        let far = outlook(All, 0, 400_000_000, 0.0);
        assert_eq!(choose([busy(0), far], All, 1_999_999), None);
        assert_eq!(choose([busy(0), far], All, 2_000_000), Some(Path::Backup));
        assert_eq!(choose([busy(0), None], All, u64::MAX), None);
    }

    #[test]
    fn a_path_is_marked_once_after_frames_on_the_other_one() {
        let mut spread = Spread::new(Ticks(1_600), Tick::Nanosecond);
        assert_eq!(Path::ALL.map(|path| spread.mark_due(path)), [None; 2]);
        spread.left(Instant(10), Path::Primary);
        spread.left(Instant(50), Path::Primary);
        assert_eq!(Path::ALL.map(|path| spread.mark_due(path)), [None, Some(Instant(110))]);
        spread.marked(Path::Backup);
        assert_eq!(spread.mark_due(Path::Backup), None, "nothing has left since");
        (0..UNMARKED_FRAMES_MAX).for_each(|_| spread.left(Instant(200), Path::Primary));
        assert_eq!(spread.mark_due(Path::Backup), Some(Instant(200)), "at once");
        spread.left(Instant(300), Path::Backup);
        assert_eq!(Path::ALL.map(|path| spread.mark_due(path)), [Some(Instant(400)), None]);
    }
}
