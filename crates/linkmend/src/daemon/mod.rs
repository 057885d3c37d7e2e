//! The process around a daemon: signals and the service manager.

mod serve;
pub mod service_manager;
mod signals;

pub use serve::serve;
pub use signals::Signals;
