//! Strategies against corrupting links.

/// A strategy of section 4.8, or one that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Do nothing: links corrupt for ever.
    DoNothing,
    /// The fast checker on every loss event: disable the link if every ToR keeps enough paths.
    DisableIfPossible,
    /// CorrOpt: the fast checker on every loss event, the optimizer after every repair.
    #[serde(rename = "corropt")]
    CorrOpt,
    /// Protection alone: nothing is ever disabled or repaired.
    Protect,
    /// Protection at once, then CorrOpt (section 3.6).
    #[serde(rename = "protect+corropt")]
    ProtectCorrOpt,
}

impl Strategy {
    /// All strategies, in the order of tables.
    pub const ALL: [Strategy; 5] = [
        Strategy::DoNothing,
        Strategy::DisableIfPossible,
        Strategy::CorrOpt,
        Strategy::Protect,
        Strategy::ProtectCorrOpt,
    ];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::DoNothing => "do-nothing",
            Strategy::DisableIfPossible => "disable-if-possible",
            Strategy::CorrOpt => "corropt",
            Strategy::Protect => "protect",
            Strategy::ProtectCorrOpt => "protect+corropt",
        }
    }

    /// Whether corrupting links are protected.
    pub fn protects(self) -> bool {
        matches!(self, Strategy::Protect | Strategy::ProtectCorrOpt)
    }

    /// Whether corrupting links are disabled where that is possible.
    pub fn disables(self) -> bool {
        matches!(self, Strategy::DisableIfPossible | Strategy::CorrOpt | Strategy::ProtectCorrOpt)
    }

    /// Whether the optimizer runs after repairs.
    pub fn optimizes(self) -> bool {
        matches!(self, Strategy::CorrOpt | Strategy::ProtectCorrOpt)
    }
}
