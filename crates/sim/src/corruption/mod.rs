//! Which frames a link corrupts.

/// How a link direction corrupts frames.
#[derive(Debug, Clone, PartialEq)]
pub enum Corruption {
    /// Not at all.
    None,
    /// Each frame independently with probability `loss`.
    Iid {
        /// 0 to 1.
        loss: f64,
    },
}

impl Corruption {
    /// Each frame independently with probability `loss`; none at 0.
    pub fn iid(loss: f64) -> Corruption {
        if loss == 0.0 { Corruption::None } else { Corruption::Iid { loss } }
    }
}
