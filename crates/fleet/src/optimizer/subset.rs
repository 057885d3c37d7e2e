//! The heaviest set of items that fits: which of one ToR's links to disable.

use std::collections::BTreeMap;

/// What links cost, or what there is to spend: paths, and capacity by speeds.
pub(super) type Cost = [u64; 2];

/// A link of a ToR: the weight that disabling it gains, and what it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) weight: i128,
    pub(super) cost: Cost,
}

/// A set of items: its weight, and the indices of its members.
#[derive(Debug, Clone, Default)]
pub(super) struct Subset {
    pub(super) weight: i128,
    pub(super) members: Vec<usize>,
}

/// Whether something can be afforded.
pub(super) fn fits(cost: Cost, slack: Cost) -> bool {
    cost[0] <= slack[0] && cost[1] <= slack[1]
}

/// What two cost together.
pub(super) fn sum(one: Cost, other: Cost) -> Cost {
    [one[0] + other[0], one[1] + other[1]]
}

/// The heaviest subset of `items` that costs at most `slack`. Items must come in descending order of weight.
///
/// Items that all cost the same, as in every symmetric network, are taken in that order.
pub(super) fn heaviest(items: &[Item], slack: Cost) -> Subset {
    let all = items.iter().fold([0; 2], |all, item| sum(all, item.cost));
    let taken = match items.first() {
        _ if fits(all, slack) => items.len(),
        Some(first) if items.iter().all(|item| item.cost == first.cost) => {
            let affordable = |of: usize| slack[of].checked_div(first.cost[of]).unwrap_or(u64::MAX);
            items.len().min(affordable(0).min(affordable(1)) as usize)
        }
        _ => return by_dominance(items, slack),
    };
    Subset { weight: items[..taken].iter().map(|item| item.weight).sum(), members: (0..taken).collect() }
}

/// A partial solution. It weighs more than every other that costs no more.
#[derive(Clone, Copy)]
struct Choice {
    cost: Cost,
    weight: i128,
    /// Its last item's entry in the history.
    last: Option<usize>,
}

/// The knapsack problem, item by item (Nemhauser and Ullmann, 1969). A choice is dropped if another one costs no more
/// of anything and weighs no less.
fn by_dominance(items: &[Item], slack: Cost) -> Subset {
    // Each entry of the history is an item, and the entry of the item chosen before it.
    let mut history: Vec<(usize, Option<usize>)> = Vec::new();
    let mut choices = vec![Choice { cost: [0; 2], weight: 0, last: None }];
    for (index, item) in items.iter().enumerate() {
        let affordable = choices.iter().filter(|choice| fits(sum(choice.cost, item.cost), slack));
        let with: Vec<Choice> = affordable
            .map(|choice| {
                history.push((index, choice.last));
                let (cost, weight) = (sum(choice.cost, item.cost), choice.weight + item.weight);
                Choice { cost, weight, last: Some(history.len() - 1) }
            })
            .collect();
        choices.extend(with);
        choices.sort_by_key(|choice| (choice.cost, -choice.weight));
        // Of the choices so far, which cost no more paths: the most weight for each capacity, in ascending order of both.
        let mut most: BTreeMap<u64, i128> = BTreeMap::new();
        choices.retain(|choice| {
            let [_, capacity] = choice.cost;
            let dominated =
                most.range(..=capacity).next_back().is_some_and(|(_, weight)| *weight >= choice.weight);
            if dominated {
                return false;
            }
            while let Some((&more, _)) =
                most.range(capacity..).next().filter(|(_, weight)| **weight <= choice.weight)
            {
                most.remove(&more);
            }
            most.insert(capacity, choice.weight);
            true
        });
    }
    let best = choices.iter().max_by_key(|choice| choice.weight).copied();
    let best = best.unwrap_or(Choice { cost: [0; 2], weight: 0, last: None });
    let mut members = Vec::new();
    let mut last = best.last;
    while let Some(entry) = last {
        members.push(history[entry].0);
        last = history[entry].1;
    }
    Subset { weight: best.weight, members }
}
