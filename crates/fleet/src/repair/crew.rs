//! A crew that repairs a limited number of links at a time.

/// Who repairs, and how work is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Crew {
    /// Most repairs that go on at a time; 0 counts as 1.
    pub size: u32,
    /// Which of the disabled links comes next.
    pub order: RepairOrder,
    /// When protected links are taken down.
    pub take_down: TakeDown,
}

/// Which disabled link is repaired next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepairOrder {
    /// The one that was disabled first.
    #[default]
    FirstCome,
    /// The one that lost most.
    WorstFirst,
    /// The one whose return buys most: an end to shortages, then what can be disabled in its place, the worst links first,
    /// then paths.
    MostWorth,
}

/// When a protected link is taken down that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakeDown {
    /// At once, as `CorrOpt` does; it then waits for the crew out of operation.
    #[default]
    AtOnce,
    /// When somebody is free to repair it and no disabled link waits: until then it carries traffic under protection.
    ForRepair,
}
