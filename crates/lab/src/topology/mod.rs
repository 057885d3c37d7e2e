//! The laboratory as four network namespaces in a row.
//!
//! ```text
//!   h1 eth0 <--> inner g1 link <==> link g2 inner <--> eth0 h2
//! ```
//!
//! - [`Lab`] builds it, attaches to one that is up, and removes it.
//! - [`Role`] is a place with its interfaces and addresses, [`WireInterface`] an interface of the fifth namespace, in
//!   which delay lines and bridges join them.
//! - [`LabOptions`] say how it is built, and [`LabError`] why it could not be.
//! - [`Cut`] is how one of two links is cut.
//! - `plumbing` makes what it consists of; `marker` keeps the record of that, so that nothing else is touched.

mod cuts;
mod error;
mod ip;
mod lab;
mod marker;
mod options;
mod plumbing;
mod role;
mod wires;

pub(crate) use cuts::CutRecord;
pub use cuts::{Cut, Direction};
pub use error::LabError;
pub use ip::IpError;
pub use lab::{DownOutcome, Lab};
pub use marker::{MARKER_FOLDER, MarkerError};
pub use options::{BadOption, HOST_MTU_MAX, HOST_MTU_MIN, LabOptions, PREFIX_MAX};
pub use role::{
    BACKUP_INTERFACE, HOST_INTERFACE, INNER_HEADROOM_BYTES, INNER_INTERFACE, LINK_HEADROOM_BYTES,
    LINK_INTERFACE, Role,
};
pub use wires::WireInterface;
