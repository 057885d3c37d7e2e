//! `linkmend sim stress --capture` and `linkmend sim flows --capture`: write a run as a capture file.

use super::parameters::usage;
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend::written_file::{self, cannot_write};
use linkmend_dataplane::config::HeaderFormat;
use linkmend_diagnose::ParameterError;
use linkmend_quantity::Count;
use linkmend_sim::flows::{FlowsConfig, PortCapture, PortCaptureOptions, find_port, port_name};
use linkmend_sim::link::config::RATE_REQUIREMENT;
use linkmend_sim::links::LinksConfig;
use linkmend_sim::measure::{Capture, CaptureFile, CaptureOptions};
use linkmend_sim::network::{PortId, Side};
use linkmend_sim::time::Rate;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// What to capture of a link, and where to.
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

/// What to capture of a network with hosts, and where to.
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
pub struct Capturing<C> {
    /// Path of the file.
    pub path: PathBuf,
    /// The observer that writes the file.
    pub capture: C,
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
    pub fn begin(&self, config: &mut LinksConfig) -> Result<Option<Capturing<Capture<BufWriter<File>>>>> {
        let Some(path) = &self.capture else { return Ok(None) };
        let packets_max = frames(self.capture_frames)?;
        // The stress test's link ends have the headers of the paper's program.
        let options = CaptureOptions {
            packets_max,
            ..CaptureOptions::new(config.links[0].rate, HeaderFormat::Compact.into())
        };
        let capturing = Capturing::begin(path, |file| Capture::new(file, &options))?;
        simulate_every_event(config, "skipped frames cannot be captured");
        Ok(Some(capturing))
    }
}

/// Makes the run simulate every event.
pub fn simulate_every_event(config: &mut LinksConfig, why: &str) {
    if !config.full {
        tracing::info!("every event is simulated (--full), because {why}");
        config.full = true;
    }
}

impl PortCaptureArgs {
    /// Creates the file, if one is requested. `config` must have been checked, so that no file is overwritten for an
    /// invalid run.
    ///
    /// # Errors
    /// [`UsageError`] if there is no such port, or the file cannot be written.
    pub fn begin(&self, config: &FlowsConfig) -> Result<Option<Capturing<PortCapture<BufWriter<File>>>>> {
        let Some(path) = &self.capture else { return Ok(None) };
        let frames_max = frames(self.capture_frames)?;
        let port = match (&self.capture_port, config.corrupting.first()) {
            (Some(written), _) => find_port(&config.graph, written)
                .map_err(|error| usage(ParameterError { parameter: "capture-port", ..error }))?,
            (None, Some(link)) => PortId::new(*link, Side::A),
            (None, None) => {
                let text =
                    "--capture: no link of this topology corrupts frames; name a port with --capture-port";
                return Err(UsageError::new(text).into());
            }
        };
        let speed = config.graph.link(port.link()).cable.speed;
        let rate = Rate::from_bits_per_second(speed.0)
            .ok_or_else(|| UsageError::new(format!("--speed {speed}: {RATE_REQUIREMENT}")))?;
        let options = PortCaptureOptions { port, name: port_name(&config.graph, port), rate, frames_max };
        Capturing::begin(path, |file| PortCapture::new(file, &options)).map(Some)
    }
}

/// After how many frames a capture ends.
fn frames(Count(count): Count) -> Result<u64> {
    if count == 0 {
        return Err(UsageError::new("--capture-frames 0: must be at least 1").into());
    }
    Ok(count)
}

impl<C> Capturing<C> {
    fn begin(path: &Path, new: impl FnOnce(BufWriter<File>) -> io::Result<C>) -> Result<Capturing<C>> {
        let file = written_file::create(path)?;
        let capture = new(BufWriter::new(file)).map_err(cannot_write(path))?;
        Ok(Capturing { path: path.to_owned(), capture })
    }
}

/// Ends a file. Reports if the run was longer than the capture.
///
/// # Errors
/// The first write error; what was captured before it is in the file.
pub fn finish(path: &Path, file: CaptureFile<BufWriter<File>>) -> Result<()> {
    let is_full = file.is_full();
    file.finish().map_err(cannot_write(path))?;
    if is_full {
        tracing::warn!("{} ends before the run does; --capture-frames allows for more", path.display());
    }
    Ok(())
}
