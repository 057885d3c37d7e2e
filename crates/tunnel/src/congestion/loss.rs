//! Which losses are a property of the path, and which are caused by a full queue.

/// So many datagrams are remembered; then both counts are halved.
const MEMORY: f64 = 4_000.0;
/// What is lost beyond the expected number is chance up to so many standard deviations. Among 4,000 rounds, one exceeds it.
const DEVIATIONS: f64 = 3.5;
/// The same where another cause is likely. Among 700 rounds, one exceeds it.
const DEVIATIONS_LIKELY: f64 = 3.0;
/// Few losses are spread to one side: the quantile of their distribution lies by this part of its skewness, times the deviation,
/// above that of a symmetric one (the first term of Cornish and Fisher, 1938).
const SKEW: f64 = (DEVIATIONS * DEVIATIONS - 1.0) / 6.0;
/// Losses that are assumed before any datagram was sent (Laplace's rule): a path is not known to lose less than 1 % after a
/// hundred datagrams without a loss.
const PRIOR: f64 = 1.0;
/// So many datagrams must have been sent to know a path.
const UNKNOWN: f64 = 20.0;
/// After so many without a loss, a single one is no chance.
const CLEAN: f64 = 1_000.0;
/// A path that loses more than this is not used as if nothing had happened: beyond, losses count as congestion.
const SHARE_MAX: f64 = 0.5;

/// The share of datagrams that the path loses however little is sent. Losses of a full queue come in addition, many at a
/// time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathLoss {
    lost: f64,
    sent: f64,
}

impl PathLoss {
    /// The expected share; 0 on a path that has not lost yet.
    pub(super) fn share(&self) -> f64 {
        if self.sent == 0.0 { 0.0 } else { (self.lost / self.sent).min(SHARE_MAX) }
    }

    /// Whether too little was sent to believe anything.
    pub(super) fn is_unknown(&self) -> bool {
        self.sent < UNKNOWN
    }

    /// Whether more of `sent` datagrams were lost than the path and chance explain. A full queue, or a path that has lost
    /// nothing, makes another cause likely.
    pub(super) fn is_exceeded(&self, lost: u64, sent: u64, has_full_queue: bool) -> bool {
        let is_likely = has_full_queue || (self.lost < 1.0 && self.sent >= CLEAN);
        let (mean, deviation) = self.expected(sent);
        let beyond = if is_likely { DEVIATIONS_LIKELY * deviation } else { DEVIATIONS * deviation + SKEW };
        lost as f64 > mean + beyond
    }

    /// How many of `sent` datagrams are expected to be lost, and the standard deviation. The less is known, the larger it is.
    fn expected(&self, sent: u64) -> (f64, f64) {
        let sent = sent as f64;
        let share = ((self.lost + PRIOR) / (self.sent + 1.0)).min(SHARE_MAX);
        let variance = sent * share * (1.0 - share) * (1.0 + sent / (self.sent + 1.0));
        (sent * share, variance.sqrt())
    }

    /// Learns from datagrams that met no full queue.
    pub(super) fn learn(&mut self, lost: u64, sent: u64) {
        self.lost += lost as f64;
        self.sent += sent as f64;
        if self.sent > MEMORY {
            (self.lost, self.sent) = (self.lost / 2.0, self.sent / 2.0);
        }
    }

    /// The path loses no more than all that was lost. If that is less than what is believed, it is forgotten.
    pub(super) fn check_less(&mut self, lost: u64, sent: u64) {
        if self.is_more(lost, sent) {
            *self = PathLoss::default();
            self.learn(lost, sent);
        }
    }

    /// Learns from datagrams that were sent so slowly that they cannot have filled a queue. If they disagree with what is
    /// believed, they are right.
    pub(super) fn learn_at_low_rate(&mut self, lost: u64, sent: u64) {
        if self.is_exceeded(lost, sent, false) || self.is_more(lost, sent) {
            *self = PathLoss::default();
        }
        self.learn(lost, sent);
    }

    /// Whether what is believed is more than chance explains.
    fn is_more(&self, lost: u64, sent: u64) -> bool {
        let (mean, deviation) = self.expected(sent);
        (lost as f64) < mean - DEVIATIONS * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(lost: u64, sent: u64) -> PathLoss {
        let mut path = PathLoss::default();
        path.learn(lost, sent);
        path
    }

    #[test]
    fn a_single_loss_is_congestion_on_a_path_that_loses_nothing() {
        let clean = path(0, 2_000);
        assert!(clean.is_exceeded(1, 100, false) && !clean.is_exceeded(0, 100, false));
    }

    #[test]
    fn what_the_path_always_loses_is_not_congestion() {
        let lossy = path(500, 2_000);
        assert!(!lossy.is_exceeded(42, 100, false) && lossy.is_exceeded(43, 100, false));
        assert!((lossy.share() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn little_is_believed_of_a_path_that_is_hardly_known() {
        assert!(!PathLoss::default().is_exceeded(7, 10, false));
        assert!(!path(0, 10).is_exceeded(1, 20, false) && path(0, 10).is_exceeded(12, 20, false));
    }

    #[test]
    fn a_path_that_changes_is_learned_anew_at_a_low_rate_only() {
        let mut path = path(0, 4_000);
        path.learn_at_low_rate(0, 50);
        assert!(path.is_exceeded(2, 50, false));
        path.learn_at_low_rate(12, 50);
        assert!((path.share() - 0.24).abs() < 1e-9 && !path.is_exceeded(14, 50, false));
        let mut policed = self::path(500, 2_000);
        policed.learn_at_low_rate(0, 50);
        assert!(policed.share() == 0.0, "a limit of the rate loses nothing at a low rate");
    }

    #[test]
    fn no_path_is_believed_to_lose_more_than_half() {
        assert!(path(3_000, 4_000).is_exceeded(75, 100, false));
    }
}
