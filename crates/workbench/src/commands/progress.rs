//! Progress bars of long commands.

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// A bar for so many steps, on standard error, and only on a terminal whose cursor can be moved. `template` is indicatif's;
/// `{left}` is how much time is left.
pub fn bar(steps: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
            // What cannot be written is not shown.
            let _ = out.write_str(&left(state.len().is_some_and(|steps| state.pos() >= steps), state.eta()));
        }));
    }
    bar
}

/// How much time is left. Before the first step, the speed is not known, and indicatif estimates 0 s.
fn left(finished: bool, estimate: Duration) -> String {
    if estimate.is_zero() && !finished {
        return "time left unknown".to_owned();
    }
    format!("{:#} left", HumanDuration(estimate))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: at 0 %, bars said `0s left`.
    #[test]
    fn before_the_first_step_the_time_left_is_unknown() {
        assert_eq!(left(false, Duration::ZERO), "time left unknown");
        assert_eq!(left(false, Duration::from_secs(7)), "7s left");
        assert_eq!(left(true, Duration::ZERO), "0s left");
    }
}
