//! A crew that repairs a limited number of links at a time.

use linkmend_quantity::words;

/// The size of the crew, and how it chooses its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Crew {
    /// How many repairs may be under way at a time; 0 counts as 1.
    pub size: u32,
    /// Which of the disabled links is repaired next.
    pub order: RepairOrder,
    /// When protected links are disabled.
    pub take_down: TakeDown,
}

words! {
    /// Which disabled link is repaired next.
    #[derive(Default, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RepairOrder {
        /// The link that was disabled first.
        #[default]
        FirstCome = "first-come",
        /// The link with the highest loss rate.
        WorstFirst = "worst-first",
        /// The link with the greatest benefit: first paths of ToRs with too few, then what can be disabled in its place,
        /// the worst links first, then paths.
        MostWorth = "most-worth",
    }
}

words! {
    /// When a protected link that may be disabled is disabled.
    #[derive(Default, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum TakeDown {
        /// At once, as `CorrOpt` does. The link then waits for the crew out of operation.
        #[default]
        AtOnce = "at-once",
        /// When somebody is free to repair it and no disabled link waits. Until then it carries traffic under protection.
        ForRepair = "for-repair",
    }
}
