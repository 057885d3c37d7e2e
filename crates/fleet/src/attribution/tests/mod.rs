//! Attribution beside a search through all sets of links, and on networks in which the truth is known.

mod fabrics;
mod smallest;
