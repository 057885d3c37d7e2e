//! Traffic over the kernel's TCP between the two hosts, generated in this process, as iperf and the paper's scripts do.

mod bulk;
mod flows;
mod info;
mod path;
mod ping;
mod pool;
mod server;

pub use bulk::{BulkOptions, BulkReport, BulkSample, bulk};
pub use flows::{Connections, FlowOptions, FlowsReport, flows};
pub use info::TcpInfo;
pub use path::{TcpError, TrafficPath, available_congestion_controls};
pub use ping::{PingOptions, PingReport, ping, wait_until_reachable};
