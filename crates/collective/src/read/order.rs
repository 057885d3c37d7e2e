//! An order in which operations can be added to a program.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders nodes so that each comes after all that it waits for, and otherwise by number. If nodes wait for themselves
/// through others, the error is one that does.
pub(crate) fn order(waits: &[Vec<u32>]) -> Result<Vec<u32>, u32> {
    let mut missing: Vec<u32> = waits.iter().map(|waits| waits.len() as u32).collect();
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); waits.len()];
    for (node, waits) in (0..).zip(waits) {
        for &before in waits {
            followers[before as usize].push(node);
        }
    }
    let all = 0..waits.len() as u32;
    let mut ready: BinaryHeap<Reverse<u32>> =
        all.filter(|&node| missing[node as usize] == 0).map(Reverse).collect();
    let mut ordered = Vec::with_capacity(waits.len());
    while let Some(Reverse(node)) = ready.pop() {
        ordered.push(node);
        for &follower in &followers[node as usize] {
            missing[follower as usize] -= 1;
            if missing[follower as usize] == 0 {
                ready.push(Reverse(follower));
            }
        }
    }
    if ordered.len() == waits.len() {
        return Ok(ordered);
    }
    Err(one_in_a_circle(waits, &missing))
}

/// Every node with something missing waits for another one, so following them leads into a circle.
fn one_in_a_circle(waits: &[Vec<u32>], missing: &[u32]) -> u32 {
    let stuck = |node: &u32| missing[*node as usize] > 0;
    let mut node = (0..waits.len() as u32).find(stuck).unwrap_or(0);
    for _ in 0..waits.len() {
        node = waits[node as usize].iter().copied().find(stuck).unwrap_or(node);
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_after_what_they_wait_for_and_circles_are_found() {
        assert_eq!(order(&[vec![2], vec![], vec![1, 1]]), Ok(vec![1, 2, 0]));
        assert_eq!(order(&[vec![1], vec![2], vec![1], vec![]]), Err(2));
        assert_eq!(order(&[]), Ok(vec![]));
    }
}
