//! Strategies against corrupting links.

use linkmend_quantity::words;

words! {
    /// A strategy of section 4.8, or one that it is compared with.
    #[derive(PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Strategy {
        /// Do nothing: links corrupt for ever.
        DoNothing = "do-nothing",
        /// The fast checker on every loss event: disable the link if every ToR keeps enough paths.
        DisableIfPossible = "disable-if-possible",
        /// CorrOpt: the fast checker on every loss event, the optimizer after every repair.
        #[serde(rename = "corropt")]
        CorrOpt = "corropt",
        /// Protection alone: nothing is ever disabled or repaired.
        Protect = "protect",
        /// Protection at once, then CorrOpt (section 3.6).
        #[serde(rename = "protect+corropt")]
        ProtectCorrOpt = "protect+corropt",
    }
}

impl Strategy {
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
