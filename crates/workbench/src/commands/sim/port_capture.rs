//! `linkmend sim flows --capture`: writes what passes a port of a network with hosts as a capture file.

use super::parameters::usage;
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend::written_file::{self, cannot_write};
use linkmend_diagnose::ParameterError;
use linkmend_quantity::Count;
use linkmend_sim::flows::{FlowsConfig, PortCapture, PortCaptureOptions, find_port, port_name};
use linkmend_sim::link::config::RATE_REQUIREMENT;
use linkmend_sim::network::{PortId, Side};
use linkmend_sim::time::Rate;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// What to capture, and where to.
#[derive(Debug, Args)]
pub struct PortCaptureArgs {
    /// Write the frames that a port sends and receives to this file (pcapng), which Wireshark and tshark decode as TCP or
    /// RoCE. If there are more than 10,000 trials, only the first 10,000 are captured
    #[arg(long, value_name = "FILE", help_heading = "Capture")]
    capture: Option<PathBuf>,
    /// The port, named by its node and the node at the other end of its link, such as switch2--switch3, or by its node and
    /// its number, such as switch2:1 [default: the sending port of the corrupting link]
    #[arg(long, value_name = "PORT", requires = "capture", help_heading = "Capture")]
    capture_port: Option<String>,
    /// Frames after which the capture ends; the run continues without it
    #[arg(
        long,
        value_name = "COUNT",
        requires = "capture",
        default_value_t = Count(100_000),
        help_heading = "Capture"
    )]
    capture_frames: Count,
}

/// A capture in progress.
pub struct Capturing {
    path: PathBuf,
    capture: PortCapture<BufWriter<File>>,
}

impl PortCaptureArgs {
    /// Creates the file, if one is requested. `config` must have been checked, so that no file is overwritten for an
    /// invalid run.
    ///
    /// # Errors
    /// [`UsageError`] if there is no such port, or the file cannot be written.
    pub fn begin(&self, config: &FlowsConfig) -> Result<Option<Capturing>> {
        let Some(path) = &self.capture else { return Ok(None) };
        if self.capture_frames.0 == 0 {
            return Err(UsageError::new("--capture-frames 0: must be at least 1".to_owned()).into());
        }
        let port = match (&self.capture_port, config.corrupting.first()) {
            (Some(written), _) => find_port(&config.graph, written)
                .map_err(|error| usage(ParameterError { parameter: "capture-port", ..error }))?,
            (None, Some(link)) => PortId::new(*link, Side::A),
            (None, None) => {
                let text =
                    "--capture: no link of this topology corrupts frames; name a port with --capture-port";
                return Err(UsageError::new(text.to_owned()).into());
            }
        };
        let speed = config.graph.link(port.link()).cable.speed;
        let options = PortCaptureOptions {
            port,
            name: port_name(&config.graph, port),
            rate: Rate::from_bits_per_second(speed.0)
                .ok_or_else(|| UsageError::new(format!("--speed {speed}: {RATE_REQUIREMENT}")))?,
            frames_max: self.capture_frames.0,
        };
        let file = written_file::create(path)?;
        let capture = PortCapture::new(BufWriter::new(file), &options).map_err(cannot_write(path))?;
        Ok(Some(Capturing { path: path.clone(), capture }))
    }
}

impl Capturing {
    /// The observer that writes the file, and what is to be done with it after the run.
    pub fn begun(self) -> (PortCapture<BufWriter<File>>, Ending) {
        (self.capture, Ending { path: self.path })
    }
}

/// The end of a capture.
pub struct Ending {
    path: PathBuf,
}

impl Ending {
    /// Ends the file. Reports if the run was longer than the capture.
    ///
    /// # Errors
    /// The first write error; what was captured before it is in the file.
    pub fn finish(self, capture: PortCapture<BufWriter<File>>) -> Result<()> {
        let full = capture.is_full();
        let path = self.path.display();
        capture.finish().map_err(cannot_write(&self.path))?;
        if full {
            tracing::warn!("{path} ends before the run does; --capture-frames allows for more frames");
        }
        Ok(())
    }
}
