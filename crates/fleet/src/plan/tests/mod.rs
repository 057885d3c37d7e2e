//! Plans on networks that are small enough to be decided by hand.

mod capacity;
mod decisions;
mod explanations;
mod files;
mod pairs;
mod peers;
mod repairs;
mod victims;

use super::{Plan, PlanSettings, ReportedLink};
use crate::constraint::Constraint;
use crate::deployment::Deployment;
use crate::optimizer::Objective;
use crate::protection::{ProtectionLimits, ProtectionTable};
use linkmend_topology::{FabricParameters, LinkId, Topology, leaf_spine};

/// One leaf with four links, numbered 0 to 3, to four spines. At 75 %, it may lose one of its four paths.
pub(super) fn four_links() -> Topology {
    leaf_spine(1, 4, 100_000_000_000).expect("a network")
}

/// Two pods of two ToRs and two fabric switches, two planes of two spines. Links 0 to 3 belong to ToRs of pod 0, 4 to 7 to
/// those of pod 1; 8 to 11 join plane 0, 12 to 15 plane 1, each spine by spine and pod by pod. A ToR has 4 paths.
pub(super) fn small_fabric() -> Topology {
    let fabric = FabricParameters {
        pods: 2,
        tors_per_pod: 2,
        fabric_switches_per_pod: 2,
        spines_per_plane: 2,
        bits_per_second: 100_000_000_000,
    };
    fabric.build().expect("a network")
}

/// For tests of what is done about links that all corrupt frames themselves.
pub(super) fn settings() -> PlanSettings {
    PlanSettings {
        constraint: Constraint::paper(0.75),
        target_loss: 1e-8,
        objective: Objective::Effective { capacity_weight: 1e-3 },
        protection: ProtectionTable::authors(),
        min_capacity: 0.85,
        deployment: Deployment::Everywhere,
        limits: ProtectionLimits::default(),
        crew: 1,
        store_and_forward: true,
    }
}

pub(super) fn active(link: u32, loss_rate: f64) -> ReportedLink {
    ReportedLink { link: LinkId(link), receiver: None, loss_rate: Some(loss_rate), disabled: false }
}

pub(super) fn down(link: u32) -> ReportedLink {
    ReportedLink { link: LinkId(link), receiver: None, loss_rate: None, disabled: true }
}

/// The action for each link, in ascending order of link numbers.
pub(super) fn actions(plan: &Plan) -> Vec<(u32, &'static str)> {
    plan.links().map(|planned| (planned.link.0, planned.action.name())).collect()
}
