//! The heaviest set of items that fits: which of one ToR's links to disable.

/// A link of a ToR: the weight that disabling it gains, and the paths that it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) weight: i128,
    pub(super) paths: u64,
}

/// A set of items: its weight, and the indices of its members.
#[derive(Debug, Clone, Default)]
pub(super) struct Subset {
    pub(super) weight: i128,
    pub(super) members: Vec<usize>,
}

/// The heaviest subset of `items` that costs at most `slack` paths. Items must come in descending order of weight.
///
/// Items that all cost the same, as in every symmetric network, are taken in that order.
pub(super) fn heaviest(items: &[Item], slack: u64) -> Subset {
    let fit = match items.first() {
        None => 0,
        Some(first) if items.iter().all(|item| item.paths == first.paths) => {
            slack.checked_div(first.paths).map_or(items.len(), |fit| items.len().min(fit as usize))
        }
        _ if items.iter().map(|item| item.paths).sum::<u64>() <= slack => items.len(),
        _ => return by_dominance(items, slack),
    };
    Subset { weight: items[..fit].iter().map(|item| item.weight).sum(), members: (0..fit).collect() }
}

/// A partial solution. It weighs more than every other that costs no more.
#[derive(Clone, Copy)]
struct Choice {
    paths: u64,
    weight: i128,
    /// Its last item's entry in the history.
    last: Option<usize>,
}

/// The knapsack problem, item by item (Nemhauser and Ullmann, 1969). A choice is dropped if another one costs no more
/// and weighs no less, so there are never more than `slack + 1`.
fn by_dominance(items: &[Item], slack: u64) -> Subset {
    // Each entry of the history is an item, and the entry of the item chosen before it.
    let mut history: Vec<(usize, Option<usize>)> = Vec::new();
    let mut choices = vec![Choice { paths: 0, weight: 0, last: None }];
    for (index, item) in items.iter().enumerate() {
        let with = choices.iter().take_while(|choice| choice.paths + item.paths <= slack);
        let with: Vec<Choice> = with
            .map(|choice| {
                history.push((index, choice.last));
                let (paths, weight) = (choice.paths + item.paths, choice.weight + item.weight);
                Choice { paths, weight, last: Some(history.len() - 1) }
            })
            .collect();
        choices.extend(with);
        choices.sort_by_key(|choice| (choice.paths, -choice.weight));
        let mut most = -1;
        choices.retain(|choice| {
            let better = choice.weight > most;
            most = most.max(choice.weight);
            better
        });
    }
    let best = choices[choices.len() - 1];
    let mut members = Vec::new();
    let mut last = best.last;
    while let Some(entry) = last {
        members.push(history[entry].0);
        last = history[entry].1;
    }
    Subset { weight: best.weight, members }
}
