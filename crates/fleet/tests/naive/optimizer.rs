//! Which corrupting links to disable, by trying every set that leaves the ToRs their paths.

use super::Fabric;

struct Best {
    gain: f64,
    links: Vec<u32>,
}

/// The corrupting links, of one pod or of all, that can be disabled one by one.
fn candidates(fabric: &mut Fabric, pod: Option<u32>, least_paths: u64) -> Vec<u32> {
    let links = (0..fabric.links.len() as u32).filter(|&link| {
        let now = fabric.links[link as usize];
        now.active && now.corrupting && pod.is_none_or(|pod| fabric.pod(link) == pod)
    });
    let mut links: Vec<u32> = links.collect();
    links.retain(|&link| fabric.may_disable(link, least_paths));
    links
}

/// The set whose loss rates have the greatest sum, in ascending link number.
pub fn best(fabric: &mut Fabric, pod: Option<u32>, least_paths: u64) -> Vec<u32> {
    let candidates = candidates(fabric, pod, least_paths);
    let mut best = Best { gain: 0.0, links: Vec::new() };
    try_all(fabric, &candidates, least_paths, 0.0, &mut Vec::new(), &mut best);
    best.links
}

/// Tries every set, except those that contain a set which already takes too many paths.
fn try_all(
    fabric: &mut Fabric,
    candidates: &[u32],
    least_paths: u64,
    gain: f64,
    taken: &mut Vec<u32>,
    best: &mut Best,
) {
    let Some((&link, others)) = candidates.split_first() else {
        if gain > best.gain {
            *best = Best { gain, links: taken.clone() };
        }
        return;
    };
    if fabric.may_disable(link, least_paths) {
        fabric.links[link as usize].active = false;
        taken.push(link);
        let more = gain + fabric.links[link as usize].loss_rate;
        try_all(fabric, others, least_paths, more, taken, best);
        taken.pop();
        fabric.links[link as usize].active = true;
    }
    try_all(fabric, others, least_paths, gain, taken, best);
}

/// CorrOpt's fast checker over all candidates, the worst first.
pub fn greedy(fabric: &mut Fabric, pod: Option<u32>, least_paths: u64) -> Vec<u32> {
    let mut worst_first = candidates(fabric, pod, least_paths);
    worst_first.sort_by(|one, other| {
        let rate = |link: u32| fabric.links[link as usize].loss_rate;
        rate(*other).total_cmp(&rate(*one))
    });
    let mut taken = Vec::new();
    for link in worst_first {
        if fabric.may_disable(link, least_paths) {
            fabric.links[link as usize].active = false;
            taken.push(link);
        }
    }
    taken.iter().for_each(|&link| fabric.links[link as usize].active = true);
    taken.sort_unstable();
    taken
}
