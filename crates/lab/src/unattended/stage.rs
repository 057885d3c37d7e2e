//! The laboratory, the two daemons, and `corruptd`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use linkmend_control::Client;
use linkmend_dataplane::Daemon;
use linkmend_dataplane::config::DaemonConfig;
use linkmend_monitor::config::{DetectionConfig, MonitorConfig};
use linkmend_monitor::daemon::Corruptd;
use linkmend_quantity::Span;

use super::{UnattendedError, UnattendedOptions};
use crate::delay_line::DelayLines;
use crate::stop::RunControl;
use crate::tcp::{self, TrafficPath};
use crate::topology::{Lab, LabOptions, Role};

/// How long the first connection may take.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything that runs. Dropping it stops it all, `corruptd` first.
pub(super) struct Stage {
    monitor: Monitor,
    sockets: [PathBuf; 2],
    audit: PathBuf,
    // In the order in which they are taken down.
    _daemons: [Daemon; 2],
    _lines: Option<DelayLines>,
    pub(super) lab: Lab,
    _folder: Folder,
}

impl Stage {
    pub(super) fn set(options: &UnattendedOptions, control: &RunControl) -> Result<Stage, UnattendedError> {
        let folder = Folder::new(&options.prefix).map_err(UnattendedError::Folder)?;
        let lab = Lab::up(LabOptions {
            prefix: options.prefix.clone(),
            impairments: options.impairments.clone(),
            remove_on_drop: true,
            ..LabOptions::default()
        })?;
        let lines = DelayLines::start(&lab)?;
        let sockets = ["left.sock", "right.sock"].map(|name| folder.0.join(name));
        let start = |role, name, socket: &Path| -> Result<Daemon, UnattendedError> {
            let config = daemon_config(options, name, socket)?;
            // The loops' threads inherit the namespace of the thread that starts them.
            Ok(lab.namespace(role).run(|| Daemon::start(&config, || 0))??)
        };
        let daemons = [start(Role::End1, "left", &sockets[0])?, start(Role::End2, "right", &sockets[1])?];
        tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), REACH_TIMEOUT, &control.stop)?;
        let audit = folder.0.join("audit.jsonl");
        let monitor = Monitor::start(&monitor_config(options, &folder.0, &sockets, &audit))?;
        Ok(Stage { monitor, sockets, audit, _daemons: daemons, _lines: lines, lab, _folder: folder })
    }

    /// The daemon that sends what the left host sends.
    pub(super) fn left(&self) -> Result<Client, UnattendedError> {
        Ok(Client::connect(&self.sockets[0])?)
    }

    /// The daemon that receives it.
    pub(super) fn right(&self) -> Result<Client, UnattendedError> {
        Ok(Client::connect(&self.sockets[1])?)
    }

    /// Whether `corruptd` is still there.
    pub(super) fn is_watched(&self) -> bool {
        !self.monitor.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What `corruptd` decided up to now.
    pub(super) fn decisions(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.audit).unwrap_or_default();
        let sentence = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(format!("{:.1} s: {}", line["uptime_s"].as_f64()?, line["text"].as_str()?))
        };
        text.lines().filter_map(sentence).collect()
    }
}

/// `corruptd` in a thread.
struct Monitor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    fn start(config: &MonitorConfig) -> Result<Monitor, UnattendedError> {
        let mut corruptd = Corruptd::start(config.resolve("demo")?)?;
        let stop = Arc::new(AtomicBool::new(false));
        let raised = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("corruptd".to_owned())
            .spawn(move || corruptd.run(|| raised.load(Ordering::Relaxed)))
            .map_err(UnattendedError::Folder)?;
        Ok(Monitor { stop, thread: Some(thread) })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A folder that goes with its user.
struct Folder(PathBuf);

impl Folder {
    fn new(prefix: &str) -> std::io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("{prefix}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a file of `linkmend run --config` would say.
fn daemon_config(
    options: &UnattendedOptions,
    name: &str,
    socket: &Path,
) -> Result<DaemonConfig, UnattendedError> {
    let impairments = &options.impairments;
    let rate = impairments.rate_bps.map_or(String::new(), |rate| format!("rate = \"{rate}bit/s\"\n"));
    let queue = impairments.queue_bytes().map_or(String::new(), |bytes| format!("queue = \"{bytes}B\"\n"));
    let ports = if options.packet_ports { "packet" } else { "auto" };
    let seed = options.seed ^ u64::from(name == "right");
    let text = format!(
        "control = {socket:?}\nrestore = false\n\n[[link]]\nname = \"{name}\"\ninner = \"inner\"\nlink = \"link\"\n\
         ports = \"{ports}\"\nallow-corruption = true\nseed = {seed}\n{rate}{queue}[link.protect]\nmode = \"off\"\n"
    );
    Ok(DaemonConfig::parse(Path::new("the demo's configuration"), &text)?)
}

/// The usual settings, but for a hold-down that an audience can wait for.
fn monitor_config(
    options: &UnattendedOptions,
    folder: &Path,
    sockets: &[PathBuf; 2],
    audit: &Path,
) -> MonitorConfig {
    let detection =
        DetectionConfig { hold_down: Some(Span(options.hold_down)), ..DetectionConfig::default() };
    MonitorConfig {
        cables: "left=right".parse().into_iter().collect(),
        daemons: sockets.to_vec(),
        detection,
        control: Some(folder.join("corruptd.socket")),
        state: Some(folder.join("corruptd.json")),
        audit: Some(audit.to_owned()),
        ..MonitorConfig::default()
    }
}
