//! Which pods to upgrade first.
//!
//! What the upgrade of a pod spares is a sum over its links, and does not depend on other pods. So the best deployment
//! of a number of pods takes those that spare the most. Links to the top layer join in only once that layer is upgraded
//! too, which is worth little while few pods are. There are therefore two orders, with and without the top layer.

use super::Spared;
use crate::deployment::{Deployment, TOP};
use crate::share_of;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};

/// Degrees of freedom between pods, and within them, below which the F ratio is too widely spread to be judged by its
/// deviation.
const MIN_PODS: f64 = 4.0;
const MIN_RUNS: f64 = 60.0;

/// What the upgrade of a pod spares.
#[derive(Debug, Clone, PartialEq)]
pub struct PodBenefit {
    pub zone: ZoneId,
    /// How many switches must be upgraded.
    pub switches: u32,
    /// Total penalty spared on links between its switches, for each run.
    pub within: Vec<f64>,
    /// Total penalty spared on links to the top layer, for each run, if that layer is upgraded as well.
    pub to_top: Vec<f64>,
}

impl PodBenefit {
    /// Mean over the runs, including links to the top layer if that layer is upgraded.
    pub fn mean(&self, with_top: bool) -> f64 {
        let to_top = if with_top { mean(&self.to_top) } else { 0.0 };
        mean(&self.within) + to_top
    }
}

/// What a number of pods spares, as shares of what protection of all links would spare.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct UpgradeStep {
    /// Number of upgraded pods.
    pub pods: usize,
    /// The same number as a share of all pods.
    pub share: f64,
    /// Spared by the best pods, without the top layer.
    pub best: f64,
    /// Spared by an average choice of pods, without the top layer.
    pub any: f64,
    /// Spared by the best pods and the top layer.
    pub best_with_top: f64,
    /// Spared by an average choice of pods and the top layer.
    pub any_with_top: f64,
}

/// What all upgrades spare.
#[derive(Debug, Clone)]
pub struct Upgrades<'a> {
    topology: &'a Topology,
    pods: Vec<PodBenefit>,
    top_switches: u32,
}

impl<'a> Upgrades<'a> {
    /// Computed from what protection would have spared in each of several runs.
    pub fn new(topology: &'a Topology, runs: &[Spared]) -> Upgrades<'a> {
        let pod = |zone: u32| PodBenefit {
            zone: ZoneId(zone),
            switches: 0,
            within: vec![0.0; runs.len()],
            to_top: vec![0.0; runs.len()],
        };
        let mut pods: Vec<PodBenefit> = (0..topology.zone_count() as u32).map(pod).collect();
        let mut top_switches = 0;
        for switch in (0..topology.switch_count() as u32).map(SwitchId) {
            match topology.switch(switch).zone {
                Some(zone) => pods[zone.index()].switches += 1,
                None => top_switches += 1,
            }
        }
        for link in (0..topology.link_count() as u32).map(LinkId) {
            let pod = &mut pods[topology.zone_of(link).index()];
            let to_top = topology.switch(topology.link(link).upper).zone.is_none();
            let spared = if to_top { &mut pod.to_top } else { &mut pod.within };
            spared.iter_mut().zip(runs).for_each(|(sum, run)| *sum += run.by_link(link));
        }
        Upgrades { topology, pods, top_switches }
    }

    /// What each pod's upgrade spares, by zone.
    pub fn pods(&self) -> &[PodBenefit] {
        &self.pods
    }

    /// The number of switches in the top layer.
    pub fn top_switches(&self) -> u32 {
        self.top_switches
    }

    /// The pods in the order in which to upgrade them, those that spare the most first.
    pub fn order(&self, with_top: bool) -> Vec<&PodBenefit> {
        let mut order: Vec<&PodBenefit> = self.pods.iter().collect();
        order.sort_by(|one, other| {
            other.mean(with_top).total_cmp(&one.mean(with_top)).then(one.zone.cmp(&other.zone))
        });
        order
    }

    /// The first pods of the order, and the top layer if `with_top` is set.
    pub fn deployment(&self, pods: usize, with_top: bool) -> Deployment {
        let zones = self.order(with_top).into_iter().take(pods).map(|pod| pod.zone);
        let deployment = Deployment::zones(self.topology, zones);
        if with_top { deployment.and_top(self.topology) } else { deployment }
    }

    /// The names of what to upgrade with a budget of a share of the pods, rounded up: the best pods, and the top layer
    /// if `with_top` is set. [`Deployment::named`] reads these names.
    pub fn within_budget(&self, budget: f64, with_top: bool) -> Vec<String> {
        let pods = share_of(self.pods.len() as u64, budget) as usize;
        let names = self.order(with_top).into_iter().take(pods).map(|pod| {
            // A pod of that name would be mistaken for the top layer.
            let name = Some(self.topology.names().zone(pod.zone)).filter(|name| name != TOP);
            name.unwrap_or_else(|| pod.zone.0.to_string())
        });
        names.chain(with_top.then(|| TOP.to_owned())).collect()
    }

    /// Converts what is spared to a share of what protection of all links would spare.
    pub fn share_of_all(&self, spared: f64) -> f64 {
        let all = self.all();
        if all > 0.0 { spared / all } else { 0.0 }
    }

    /// What pods spare at these percentages of all pods, rounded up.
    pub fn steps(&self, percent: &[usize]) -> Vec<UpgradeStep> {
        let count = self.pods.len();
        let mut pods: Vec<usize> = percent.iter().map(|percent| (count * percent).div_ceil(100)).collect();
        pods.dedup();
        let (within, all) = (self.spared(count, false), self.all());
        let step = |pods: usize| {
            let share = pods as f64 / count.max(1) as f64;
            UpgradeStep {
                pods,
                share,
                best: self.share_of_all(self.spared(pods, false)),
                any: self.share_of_all(within * share),
                best_with_top: self.share_of_all(self.spared(pods, true)),
                any_with_top: self.share_of_all(all * share),
            }
        };
        pods.into_iter().map(step).collect()
    }

    /// What the first pods of an order spare together.
    pub fn spared(&self, pods: usize, with_top: bool) -> f64 {
        self.order(with_top).into_iter().take(pods).map(|pod| pod.mean(with_top)).sum()
    }

    /// What protection of all links would spare.
    pub fn all(&self) -> f64 {
        self.spared(self.pods.len(), true)
    }

    /// The smallest number of pods with which the top layer is worth its switches, because the same number of switches
    /// in further pods would spare less. `None` if it never is. Pods are taken in their order, which is exact if all
    /// have equally many switches.
    pub fn pods_before_top(&self) -> Option<usize> {
        let steps = |with_top: bool, before: u32| {
            let mut sums = vec![(before, 0.0)];
            for pod in self.order(with_top) {
                let (switches, spared) = sums[sums.len() - 1];
                sums.push((switches + pod.switches, spared + pod.mean(with_top)));
            }
            sums
        };
        let without = steps(false, 0);
        let worthwhile = |&(switches, spared): &(u32, f64)| {
            let most = without.iter().take_while(|step| step.0 <= switches).map(|step| step.1);
            spared > most.fold(0.0, f64::max)
        };
        steps(true, self.top_switches).iter().position(worthwhile)
    }

    /// Whether pods differ by more than chance explains over this number of runs: whether the F ratio of an analysis of
    /// variance is more than three of its standard deviations above 1. `None` if there are too few pods or runs.
    pub fn pods_differ(&self, with_top: bool) -> Option<bool> {
        let spared = |pod: &PodBenefit| {
            let to_top = |spared: f64| if with_top { spared } else { 0.0 };
            pod.within.iter().zip(&pod.to_top).map(|(one, other)| one + to_top(*other)).collect()
        };
        let values: Vec<Vec<f64>> = self.pods.iter().map(spared).collect();
        let (pods, runs) = (values.len() as f64, values.first()?.len() as f64);
        if pods - 1.0 < MIN_PODS || pods * (runs - 1.0) < MIN_RUNS {
            return None;
        }
        let means: Vec<f64> = values.iter().map(|runs| mean(runs)).collect();
        let between = squares(&means) * runs / (pods - 1.0);
        let within = values.iter().map(|runs| squares(runs)).sum::<f64>() / (pods * (runs - 1.0));
        let deviation = libm::sqrt(2.0 / (pods - 1.0) + 2.0 / (pods * (runs - 1.0)));
        Some(between > within * (1.0 + 3.0 * deviation))
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}
