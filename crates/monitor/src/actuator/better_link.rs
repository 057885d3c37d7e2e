//! Which of two links of a link end is the better one.

use linkmend_control::report::Path;
use std::collections::BTreeMap;

/// How many times more the preferred link must corrupt than the other before the other is preferred.
const WORSE_FACTOR: f64 = 2.0;

/// What is known of link ends with two links.
#[derive(Debug, Default)]
pub(super) struct BetterLinks {
    known: BTreeMap<String, Known>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// The loss rates of both links, as far as protection was asked for because of them.
    rates: [f64; 2],
    /// The link that was preferred before it was the worse one.
    left: Option<Path>,
}

impl BetterLinks {
    /// Notes the loss rate of one link, 0 for a healthy one. Returns the link to prefer from now on, if that is not the one that
    /// is `preferred`: the other while this one corrupts clearly more, and the former again when neither does.
    pub(super) fn note(&mut self, link_end: &str, path: Path, rate: f64, preferred: Path) -> Option<Path> {
        let known = self.known.entry(link_end.to_owned()).or_default();
        known.rates[path.index()] = rate;
        let other = preferred.other();
        let [of_preferred, of_other] = [preferred, other].map(|path| known.rates[path.index()]);
        if of_preferred > WORSE_FACTOR * of_other {
            known.left = Some(known.left.filter(|left| *left != other).unwrap_or(preferred));
            return Some(other);
        }
        let healthy = known.rates == [0.0; 2];
        if healthy { known.left.take().filter(|left| *left != preferred) } else { None }
    }

    /// Whether a link of this link end still corrupts.
    pub(super) fn any_corrupts(&self, link_end: &str) -> bool {
        self.known.get(link_end).is_some_and(|known| known.rates != [0.0; 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Path::{Backup, Primary};

    #[test]
    fn the_better_link_is_preferred_and_the_former_one_when_both_are_well() {
        let mut links = BetterLinks::default();
        assert_eq!(links.note("up", Primary, 1e-4, Primary), Some(Backup));
        assert!(links.any_corrupts("up") && !links.any_corrupts("down"));
        // The other begins to corrupt as well, but not clearly more.
        assert_eq!(links.note("up", Backup, 1.9e-4, Backup), None);
        assert_eq!(links.note("up", Backup, 1e-3, Backup), Some(Primary));
        assert_eq!(links.note("up", Backup, 0.0, Primary), Some(Backup));
        assert_eq!(links.note("up", Primary, 0.0, Backup), Some(Primary), "as it was");
        assert!(!links.any_corrupts("up"));
    }

    #[test]
    fn what_people_prefer_stays_while_nothing_corrupts() {
        let mut links = BetterLinks::default();
        assert_eq!(links.note("up", Primary, 0.0, Backup), None);
        assert_eq!(links.note("up", Primary, 1e-3, Backup), None, "it is not in use");
        assert_eq!(links.note("up", Primary, 0.0, Backup), None);
    }
}
