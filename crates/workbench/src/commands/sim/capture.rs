//! `linkmend sim stress --capture`: writes a run as a capture file.

use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend::written_file::{self, cannot_write};
use linkmend_dataplane::config::HeaderFormat;
use linkmend_quantity::Count;
use linkmend_sim::measure::{Capture, CaptureOptions};
use linkmend_sim::stress::StressConfig;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// What to capture, and where to.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// Write the frames that both ends of the link send, receive and pass on to this file (pcapng, for Wireshark and
    /// tshark);
    /// implies --full, as a skipped frame cannot be captured
    #[arg(long, value_name = "FILE", help_heading = "Capture")]
    capture: Option<PathBuf>,
    /// Frames after which the capture ends; the run continues without it
    #[arg(
        long,
        value_name = "COUNT",
        requires = "capture",
        default_value_t = Count(1_000_000),
        help_heading = "Capture"
    )]
    capture_frames: Count,
}

/// A capture in progress.
pub struct Capturing {
    /// Path of the file.
    pub path: PathBuf,
    /// The observer that writes the file.
    pub capture: Capture<BufWriter<File>>,
}

impl CaptureArgs {
    /// Whether there is to be a capture.
    pub fn is_asked_for(&self) -> bool {
        self.capture.is_some()
    }

    /// Creates the file, if one is requested, and makes the run simulate every event. `config` must have been checked,
    /// so that no file is overwritten for an invalid run.
    ///
    /// # Errors
    /// [`UsageError`] if the file cannot be written.
    pub fn begin(&self, config: &mut StressConfig) -> Result<Option<Capturing>> {
        let Some(path) = &self.capture else { return Ok(None) };
        if self.capture_frames.0 == 0 {
            return Err(UsageError::new("--capture-frames 0: must be at least 1".to_owned()).into());
        }
        // The stress test's link ends have the headers of the paper's program.
        let options = CaptureOptions {
            packets_max: self.capture_frames.0,
            ..CaptureOptions::new(config.link.rate, HeaderFormat::Compact.into())
        };
        let file = written_file::create(path)?;
        let capture = Capture::new(BufWriter::new(file), &options).map_err(cannot_write(path))?;
        if !config.full {
            tracing::info!("every event is simulated (--full), because skipped frames cannot be captured");
            config.full = true;
        }
        Ok(Some(Capturing { path: path.clone(), capture }))
    }
}

impl Capturing {
    /// Ends the file. Reports if the run was longer than the capture.
    ///
    /// # Errors
    /// The first write error; what was captured before it is in the file.
    pub fn finish(self) -> Result<()> {
        let full = self.capture.is_full();
        let path = self.path.display();
        self.capture.finish().map_err(cannot_write(&self.path))?;
        if full {
            tracing::warn!("{path} ends before the run does; --capture-frames allows for more");
        }
        Ok(())
    }
}
