//! The process around a daemon: signals and the service manager.

mod serve;
mod service_manager;
mod signals;

pub use serve::serve;
pub use signals::Signals;
