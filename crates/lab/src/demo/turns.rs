//! Conditions take turns in short slots, so that a machine whose speed drifts treats all alike. Slots that the machine
//! disturbed are repeated, within a budget.

use serde::{Deserialize, Serialize};

use crate::noise::{Disturbance, Tolerance};

/// How conditions take turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnPlan {
    /// The number of slots of each condition.
    pub rounds: usize,
    /// The number of disturbed slots that may be repeated, for all conditions together.
    pub repeats: usize,
    /// What counts as disturbed.
    pub tolerance: Tolerance,
}

/// One slot of one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot<T> {
    /// What was measured in it.
    pub value: T,
    /// How the machine disturbed it.
    pub disturbance: Disturbance,
    /// Whether that is more than the plan tolerates.
    pub disturbed: bool,
}

/// The measurements of all conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns<T> {
    /// For each condition, the last attempt of each slot.
    pub slots: Vec<Vec<Slot<T>>>,
    /// Attempts that were discarded.
    pub repeated: usize,
}

/// How the machine disturbed an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseSummary {
    /// Slots of all conditions.
    pub slots: usize,
    /// Slots measured again because the machine had disturbed them.
    pub repeated: usize,
    /// Slots that stayed disturbed when no repeats were left. The figures exclude them.
    pub disturbed: usize,
    /// Whether fewer than half of a condition's slots are undisturbed, so that no figure can be given.
    pub too_disturbed: bool,
    /// The worst disturbance of each kind in any attempt.
    pub worst: Disturbance,
}

/// Measures every condition `plan.rounds` times, in turns, each round in the opposite order of the one before.
/// `measure` receives the condition and the round, and returns its measurement and how the machine disturbed it.
/// Disturbed slots are repeated at the end of their round as long as the budget lasts, and count only once.
///
/// # Errors
/// The first error of `measure`.
pub fn take_turns<T, E>(
    plan: &TurnPlan,
    conditions: usize,
    mut measure: impl FnMut(usize, usize) -> Result<(T, Disturbance), E>,
) -> Result<(Turns<T>, NoiseSummary), E> {
    let mut turns = Turns { slots: (0..conditions).map(|_| Vec::new()).collect(), repeated: 0 };
    let mut worst = Disturbance::default();
    for round in 0..plan.rounds {
        let mut order: Vec<usize> = (0..conditions).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut first_try = true;
        while !order.is_empty() {
            let mut again = Vec::new();
            for condition in order {
                if !first_try {
                    if turns.repeated == plan.repeats {
                        continue;
                    }
                    turns.repeated += 1;
                }
                let (value, disturbance) = measure(condition, round)?;
                worst = worst.worst(disturbance);
                let disturbed = disturbance.exceeds(&plan.tolerance);
                let slot = Slot { value, disturbance, disturbed };
                let slots = &mut turns.slots[condition];
                if first_try {
                    slots.push(slot);
                } else if let Some(last) = slots.last_mut() {
                    *last = slot;
                }
                if disturbed {
                    again.push(condition);
                }
            }
            order = if turns.repeated < plan.repeats { again } else { Vec::new() };
            first_try = false;
        }
    }
    let calm = turns.summarise_noise(worst);
    Ok((turns, calm))
}

impl<T> Turns<T> {
    /// The undisturbed slots of a condition, or all of them if fewer than half are undisturbed.
    pub fn usable(&self, condition: usize) -> impl Iterator<Item = &T> {
        let slots = &self.slots[condition];
        let all = is_too_disturbed(slots);
        slots.iter().filter(move |slot| all || !slot.disturbed).map(|slot| &slot.value)
    }

    /// The disturbed slots of a condition.
    pub fn disturbed(&self, condition: usize) -> impl Iterator<Item = &T> {
        self.slots[condition].iter().filter(|slot| slot.disturbed).map(|slot| &slot.value)
    }

    fn summarise_noise(&self, worst: Disturbance) -> NoiseSummary {
        let all = self.slots.iter().flatten();
        NoiseSummary {
            slots: all.clone().count(),
            repeated: self.repeated,
            disturbed: all.filter(|slot| slot.disturbed).count(),
            too_disturbed: self.slots.iter().any(|slots| is_too_disturbed(slots)),
            worst,
        }
    }
}

fn is_too_disturbed<T>(slots: &[Slot<T>]) -> bool {
    2 * slots.iter().filter(|slot| slot.disturbed).count() > slots.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_NS: u64 = 5_000_000;

    fn plan(rounds: usize, repeats: usize) -> TurnPlan {
        let tolerance = Tolerance {
            stolen_share: 0.02,
            held_up_share: 0.02,
            worst_wakeup_ns: LIMIT_NS,
            worst_thread_ns: LIMIT_NS,
        };
        TurnPlan { rounds, repeats, tolerance }
    }

    /// Takes turns on a machine that disturbs the attempts with these numbers. The values are the attempts' numbers.
    fn over(
        plan: &TurnPlan,
        conditions: usize,
        noisy: &[u32],
    ) -> (Turns<u32>, NoiseSummary, Vec<(usize, usize)>) {
        let (mut tries, mut order) = (0, Vec::new());
        let outcome = take_turns(plan, conditions, |condition, round| {
            order.push((condition, round));
            let worst_wakeup_ns = if noisy.contains(&tries) { LIMIT_NS + 1 } else { 0 };
            tries += 1;
            Ok::<_, ()>((tries - 1, Disturbance { worst_wakeup_ns, ..Disturbance::default() }))
        });
        let (turns, calm) = outcome.expect("no error");
        (turns, calm, order)
    }

    #[test]
    fn conditions_take_turns_in_alternating_order() {
        let (turns, calm, order) = over(&plan(2, 5), 3, &[]);
        assert_eq!(order, [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)]);
        assert_eq!(turns.usable(0).copied().collect::<Vec<_>>(), [0, 5]);
        assert_eq!((calm.slots, calm.repeated, calm.disturbed, calm.too_disturbed), (6, 0, 0, false));
    }

    #[test]
    fn a_noisy_slot_is_repeated_and_its_first_try_forgotten() {
        let (turns, calm, order) = over(&plan(2, 5), 2, &[1]);
        assert_eq!(order, [(0, 0), (1, 0), (1, 0), (1, 1), (0, 1)]);
        assert_eq!(turns.usable(1).copied().collect::<Vec<_>>(), [2, 3]);
        assert_eq!((calm.slots, calm.repeated, calm.disturbed, calm.too_disturbed), (4, 1, 0, false));
        assert_eq!(calm.worst.worst_wakeup_ns, LIMIT_NS + 1, "the thrown-away try was seen all the same");
    }

    #[test]
    fn a_slot_is_repeated_until_it_is_calm() {
        let (turns, calm, _) = over(&plan(1, 5), 1, &[0, 1, 2]);
        assert_eq!((turns.usable(0).copied().collect::<Vec<_>>(), calm.repeated), (vec![3], 3));
    }

    #[test]
    fn an_exhausted_budget_is_said_and_the_slot_left_out() {
        let (turns, calm, _) = over(&plan(3, 1), 1, &[0, 1]);
        assert_eq!((calm.repeated, calm.disturbed, calm.too_disturbed), (1, 1, false));
        assert_eq!(turns.usable(0).copied().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(turns.disturbed(0).copied().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_machine_that_disturbs_most_of_it_is_too_disturbed_to_tell() {
        let noisy: Vec<u32> = (0..100).collect();
        let (turns, calm, order) = over(&plan(3, 4), 2, &noisy);
        assert_eq!((order.len(), calm.repeated, calm.disturbed), (10, 4, 6));
        assert!(calm.too_disturbed);
        assert_eq!(turns.usable(0).count(), 3, "what there is stays to be looked at");
    }

    #[test]
    fn an_error_ends_it() {
        let result = take_turns(&plan(2, 2), 2, |condition, _| {
            if condition == 1 { Err("no") } else { Ok(((), Disturbance::default())) }
        });
        assert_eq!(result.err(), Some("no"));
    }
}
