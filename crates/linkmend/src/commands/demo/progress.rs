//! Progress of the demo on standard error: a bar on a terminal, a line a step elsewhere.

use crate::output::remark;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linkmend_lab::RunControl;
use linkmend_lab::demo::Observer;

/// Shows the steps.
pub struct Steps {
    bar: ProgressBar,
    on_terminal: bool,
}

impl Steps {
    pub fn new() -> Steps {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  [{elapsed} elapsed]") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Steps { bar, on_terminal }
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        if self.on_terminal {
            self.bar.println(line);
        } else {
            remark(&format!("{line}\n"));
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Steps {
    fn step(&self, title: &str, index: usize, total: usize, _control: &RunControl) {
        self.bar.set_length(total as u64);
        self.bar.set_position(index as u64);
        self.bar.set_message(title.to_owned());
        if !self.on_terminal {
            remark(&format!("[{}/{total}] {title}\n", index + 1));
        }
    }
}
