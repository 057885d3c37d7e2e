//! Shows the demo's progress on standard error: a bar on a terminal that can draw one, a line for each experiment elsewhere.

use linkmend::output::remark;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linkmend_lab::demo::{Observer, Step};

/// Shows the progress.
pub struct Steps {
    bar: ProgressBar,
    is_drawn: bool,
    /// The experiment announced last, so that each is announced once.
    announced: Mutex<String>,
}

impl Steps {
    /// A bar for all slots, whose number is not known yet.
    pub fn new() -> Steps {
        let target = ProgressDrawTarget::stderr();
        // Nothing is drawn on a terminal whose cursor cannot be moved.
        let is_drawn = !target.is_hidden();
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  [{elapsed} elapsed]") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Steps { bar, is_drawn, announced: Mutex::default() }
    }

    /// Prints a line above the bar.
    pub fn print_line(&self, line: &str) {
        if self.is_drawn {
            self.bar.println(line);
        } else {
            remark(&format!("{line}\n"));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Steps {
    fn step(&self, step: &Step<'_>) {
        self.bar.set_length(step.total as u64);
        self.bar.set_position(step.index as u64);
        self.bar.set_message(format!("{}: {}", step.experiment, step.detail));
        if let Ok(mut announced) = self.announced.lock()
            && !self.is_drawn
            && *announced != step.experiment
        {
            remark(&format!("[{}/{}] {}\n", step.index + 1, step.total, step.experiment));
            step.experiment.clone_into(&mut announced);
        }
    }
}
