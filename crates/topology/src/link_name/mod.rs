//! How people and scripts name links, and which link a name means.
//!
//! | written | means |
//! | --- | --- |
//! | `cable 7` | the link that the network file calls so; no other reading is tried |
//! | `1042` | the link of that number, if no link has it as a name |
//! | `tor1--agg2` | the only link between these two switches |
//! | `tor1:swp1--agg2:swp3`, `tor1:swp1--agg2` | the link at these ports |
//! | `tor1:swp1`, `tor1/swp1` | the link at this port |
//! | `tor1--agg2#2` | the second of the links between these two switches, in the order of the file |
//!
//! Ends come in either order. Switches go by their names first, and by names with another domain part or in another case if
//! none fits so. A switch or port may have `:`, `/`, `#` or `--` in its own name: all readings are tried, and a name that fits
//! several links means none of them.

mod error;
mod finder;
mod reading;

pub use error::FindError;
pub use finder::LinkFinder;

pub(crate) use reading::{BETWEEN, Closeness, Reader};
