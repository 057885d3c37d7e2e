//! The words in which a driver and a link end talk.

use crate::copies::Copies;

/// What the operator asks of the sending direction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Protection {
    /// How many copies of a lost frame.
    pub copies: Copies,
}

/// Whether a normal frame may leave now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Yes; [`crate::LinkEnd::send`] will number it.
    Protected,
    /// Yes, as it is.
    Unprotected,
    /// Not now: paused, Tx buffer full, or draining. Treat the normal queue as blocked.
    Held,
}

/// What becomes of a received frame with a data header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Reception {
    /// To the inner port now, before anything from [`crate::LinkEnd::poll_deliver`].
    Deliver,
    /// The link end keeps the handle; it comes back from [`crate::LinkEnd::poll_deliver`].
    Buffered,
    /// The driver frees it.
    Drop,
}

/// The two transmission priorities around the normal queue (section 3, Figure 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Priority {
    /// Retransmissions, loss notifications, pause and resume, handshake: before the normal queue.
    High,
    /// Dummies and explicit ACKs: only when the normal queue is empty or blocked.
    Low,
}
