//! What must hold against whom.

/// Who is on the link between the ends, besides the hosts behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// The link is a cable of the two ends alone.
    None,
    /// Somebody who does not hear the link, and sends control frames, frames for the hosts and the authors' headers.
    Speaks,
    /// The same, who also guesses the numbers of protected frames and of acknowledgements.
    Guesses,
    /// Somebody who hears what arrives at either end, and repeats, reflects and changes it.
    Hears,
}

/// Who attacks a link, and how it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub has_key: bool,
    pub stranger: Stranger,
    /// Which ends protect what they send.
    pub protects: [bool; 2],
}

/// How much must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// The ends work again when the stranger has gone.
    Afterwards,
    /// As below, but frames may come out of order, as in non-blocking mode.
    NoDuplicates,
    /// No session is lost, and no host's frame comes twice or out of order. For each number that the stranger guesses, one
    /// frame may be missing, and losses may be reported that there were not, so that the sender falls back.
    Order,
    /// Nothing is delivered that was not sent, nothing is missing, and the reported loss is true.
    Everything,
}

impl Case {
    pub fn holds(self) -> Holds {
        match self.stranger {
            Stranger::Guesses => Holds::Order,
            Stranger::Hears if !self.has_key => Holds::Afterwards,
            _ => Holds::Everything,
        }
    }
}
