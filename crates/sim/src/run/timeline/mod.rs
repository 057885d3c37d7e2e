//! One flow over a link that begins to corrupt, and is protected some time later: goodput, the effective link speed, and
//! the levels of queue and buffers over time (section 4.2, Figure 9; appendix B.3, Figure 21).

mod config;
mod course;
mod observer;
mod report;
mod run;
mod speed;

pub use config::TimelineConfig;
pub use report::{Level, Phase, Sample, TimelineReport};
pub use run::run;
