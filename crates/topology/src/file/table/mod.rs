//! Cables in a table: CSV of any usual dialect, NetBox's exports among them.
//!
//! - [`headers`] says what each column means, [`dialect`] how cells are separated, and [`rows`] reads the cables.

mod dialect;
mod headers;
mod rows;

pub(super) use dialect::is_table;
pub(super) use rows::{read, roles};
