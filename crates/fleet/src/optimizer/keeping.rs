//! The heaviest set of a ToR's links that leaves one of each of several sets in operation.

use super::subset::{Cost, Item, Subset, heaviest};
use std::collections::BTreeSet;

/// Choices of links to keep after which the search settles for the next best one.
const MAX_TRIALS: u32 = 10_000;

/// The heaviest subset of `items` that fits and does not contain any of the sets `keep` as a whole, and a weight that none
/// exceeds: its own, unless the search was cut short. Items must come in descending order of weight.
pub(super) fn heaviest_keeping(items: &[Item], slack: Cost, keep: &[Vec<usize>]) -> (Subset, i128) {
    let without = heaviest(items, slack);
    if keep.is_empty() {
        let weight = without.weight;
        return (without, weight);
    }
    let mut search =
        Search { items, slack, keep, kept: BTreeSet::new(), seen: BTreeSet::new(), best: None, trials: 0 };
    search.branch();
    let is_certain = search.trials < MAX_TRIALS;
    let best = search.best.unwrap_or_default();
    let most = if is_certain { best.weight } else { without.weight };
    (best, most)
}

struct Search<'a> {
    items: &'a [Item],
    slack: Cost,
    keep: &'a [Vec<usize>],
    kept: BTreeSet<usize>,
    /// What was kept in the choices that were tried already.
    seen: BTreeSet<BTreeSet<usize>>,
    best: Option<Subset>,
    trials: u32,
}

impl Search<'_> {
    fn branch(&mut self) {
        if !self.seen.insert(self.kept.clone()) {
            return;
        }
        self.trials += 1;
        let free: Vec<usize> = (0..self.items.len()).filter(|index| !self.kept.contains(index)).collect();
        let items: Vec<Item> = free.iter().map(|&index| self.items[index]).collect();
        let found = heaviest(&items, self.slack);
        if self.best.as_ref().is_some_and(|best| found.weight <= best.weight) {
            return;
        }
        let members: BTreeSet<usize> = found.members.iter().map(|&place| free[place]).collect();
        let broken = self.keep.iter().find(|set| set.iter().all(|index| members.contains(index)));
        let Some(broken) = broken else {
            self.best = Some(Subset { weight: found.weight, members: members.into_iter().collect() });
            return;
        };
        for index in self.cheapest(broken) {
            self.kept.insert(index);
            self.branch();
            self.kept.remove(&index);
            if self.trials >= MAX_TRIALS && self.best.is_some() {
                return;
            }
        }
    }

    /// Of the items that cost the same and are in the same sets, only the one with the least weight is worth keeping.
    fn cheapest(&self, of: &[usize]) -> Vec<usize> {
        let mut kinds = BTreeSet::new();
        let mut cheapest: Vec<usize> = of.to_vec();
        cheapest.sort_by_key(|&index| (self.items[index].weight, index));
        cheapest.retain(|index| {
            let sets: Vec<bool> = self.keep.iter().map(|set| set.contains(index)).collect();
            kinds.insert((self.items[*index].cost, sets))
        });
        cheapest
    }
}
