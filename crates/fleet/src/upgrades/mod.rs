//! Which switches to upgrade first, by what protection there would spare (section 5, incremental deployment).

mod order;
mod spared;
mod study;

pub use order::{PodBenefit, UpgradeStep, Upgrades};
pub use spared::{Spared, SparedLoss};
pub use study::{ALWAYS, spared_by_seed, spared_in};
