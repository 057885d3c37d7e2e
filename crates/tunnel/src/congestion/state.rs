//! What the congestion control tells its driver.

/// Which frames may leave, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowance {
    /// None, until the other end reports or is silent for long.
    Nothing,
    /// Those that are urgent: copies, and frames that control something.
    Urgent,
    Everything,
}

/// What is believed of the path, for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionState {
    /// How many bytes of datagrams may be in flight, and how many are.
    pub window_bytes: u64,
    pub in_flight_bytes: u64,
    /// Bytes a second at which datagrams leave at most.
    pub pace: u64,
    /// The largest rate at which they arrived lately, in bytes a second.
    pub bandwidth: u64,
    /// How long the latest datagram waited longer than the fastest.
    pub queue_ns: u64,
    /// The share of datagrams that the path loses however little is sent.
    pub path_loss: f64,
    /// Whether others fill the queue.
    pub has_others: bool,
    /// Whether queues of the path may mark datagrams (ECN).
    pub is_markable: bool,
}
