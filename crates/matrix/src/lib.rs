//! Two link ends in two virtual machines with an emulated cable between them, on the kernels of Debian releases and with
//! each network card that the emulator has. `make matrix` runs all of it; `make test` a small part.
//!
//! - [`request`]: what the host asks of a machine, line by line over a serial port;
//! - [`guest`]: the first process of a machine, which does what it is asked; it is the same program as the host's;
//! - [`machine`]: starts and ends machines; [`kernel`] finds their kernels and builds their first file systems;
//! - [`processor`]: the emulated processors;
//! - [`card`]: the emulated network cards;
//! - [`pair`]: two machines, and a daemon in each;
//! - [`cell`]: the checks of one card on one kernel;
//! - [`table`]: the results as Markdown.

pub mod card;
pub mod cell;
pub mod guest;
pub mod kernel;
pub mod machine;
pub mod pair;
pub mod processor;
pub mod request;
pub mod table;
