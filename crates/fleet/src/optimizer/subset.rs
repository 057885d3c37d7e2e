//! The heaviest set of items that fits: which of one ToR's links to take away.

/// A link of a ToR: what disabling it is worth, and how many paths that costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) weight: i128,
    pub(super) paths: u64,
}

/// A set of items: what it is worth, and its members' indices.
#[derive(Debug, Clone, Default)]
pub(super) struct Subset {
    pub(super) weight: i128,
    pub(super) members: Vec<usize>,
}

/// The heaviest subset of `items`, which come in falling weight, that costs at most `slack` paths.
///
/// Items that cost the same, as in every symmetric network, are simply taken from the heaviest on. Otherwise branch and
/// bound: a ToR has few corrupting links at a time.
pub(super) fn heaviest(items: &[Item], slack: u64) -> Subset {
    let fit = match items.first() {
        None => 0,
        Some(first) if items.iter().all(|item| item.paths == first.paths) => {
            slack.checked_div(first.paths).map_or(items.len(), |fit| items.len().min(fit as usize))
        }
        _ if items.iter().map(|item| item.paths).sum::<u64>() <= slack => items.len(),
        _ => {
            let remaining = items.iter().map(|item| item.weight).sum();
            let mut best = Subset::default();
            search(items, 0, slack, &mut Subset::default(), remaining, &mut best);
            return best;
        }
    };
    Subset { weight: items[..fit].iter().map(|item| item.weight).sum(), members: (0..fit).collect() }
}

fn search(items: &[Item], index: usize, slack: u64, chosen: &mut Subset, remaining: i128, best: &mut Subset) {
    if chosen.weight > best.weight {
        best.clone_from(chosen);
    }
    let Some(item) = items.get(index) else { return };
    if chosen.weight + remaining <= best.weight {
        return;
    }
    let remaining = remaining - item.weight;
    if item.paths <= slack {
        chosen.weight += item.weight;
        chosen.members.push(index);
        search(items, index + 1, slack - item.paths, chosen, remaining, best);
        chosen.members.pop();
        chosen.weight -= item.weight;
    }
    search(items, index + 1, slack, chosen, remaining, best);
}
