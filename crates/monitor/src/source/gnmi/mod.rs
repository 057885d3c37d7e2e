//! Ports of devices that stream OpenConfig's counters over gNMI.
//!
//! A device is connected to when it is polled first ([`session`]), and sends what it is [subscribed](subscription) to from
//! then on: counters as samples, states when they change. Its messages are found a [place](path) and a [value], and kept by
//! [`target`], from which a poll takes the readings of [ports](port). Between two samples a poll finds nothing new. How far two
//! samples are apart is taken from the device's time stamps, unless its [clock] was set in between.
//!
//! Whatever a device sends, it takes no more than a bounded amount of memory: messages, ports and names have a largest size,
//! and what is not used is not kept.

mod clock;
mod message;
mod path;
mod port;
mod secrets;
mod session;
mod settings;
mod subscription;
mod target;
mod value;

pub use settings::{GnmiDevice, GnmiSettings};

use super::complaints::Complaints;
use super::{Source, SourceError};
use crate::counters::Reading;
use linkmend_diagnose::ParameterError;
use session::Session;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use target::Target;
use tokio::runtime::{Builder, Runtime};

/// How long the first poll waits for devices to have sent everything once.
const FIRST_MOST: Duration = Duration::from_secs(2);
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Reads what ports have received. A port has the name that its device gives it, like `Ethernet4`; if there are several
/// devices, with the name of the device before it, like `leaf1:Ethernet4`.
pub struct GnmiSource {
    sessions: Vec<Session>,
    /// It runs once a poll has begun, and ends with this.
    runtime: Option<Runtime>,
    complaints: Complaints,
    /// Devices without readings in the latest poll that had any.
    failures: Vec<String>,
}

impl GnmiSource {
    /// It connects when it is polled the first time.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &GnmiSettings) -> Result<GnmiSource, ParameterError> {
        settings.validate()?;
        for warning in settings.warnings() {
            tracing::warn!("{warning}");
        }
        let devices = settings.devices()?;
        let settings = Arc::new(settings.clone());
        let started = Instant::now();
        let session = |device| Session::new(device, Arc::clone(&settings), started);
        Ok(GnmiSource {
            sessions: devices.into_iter().map(session).collect(),
            runtime: None,
            complaints: Complaints::default(),
            failures: Vec::new(),
        })
    }

    /// Connects to all devices, and waits until each has sent everything once, or says why not.
    fn begin(&mut self) -> Result<(), SourceError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("gnmi").enable_all().build();
        let runtime = runtime.map_err(|error| SourceError {
            what: format!("cannot start a thread for gNMI: {error}"),
            hint: None,
        })?;
        for session in &self.sessions {
            runtime.spawn(session.clone().run());
        }
        self.runtime = Some(runtime);
        let begun = Instant::now();
        while begun.elapsed() < FIRST_MOST && !self.sessions.iter().all(|session| lock(session).has_begun()) {
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }
}

impl Source for GnmiSource {
    fn describe(&self) -> String {
        let addresses: Vec<String> = self.sessions.iter().map(|session| session.device.address()).collect();
        format!("ports over gNMI, at {}", addresses.join(", "))
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        if self.runtime.is_none() {
            self.begin()?;
        }
        let (mut readings, mut failures) = (Vec::new(), Vec::new());
        for session in &self.sessions {
            let of_device = lock(session).poll(session.started.elapsed(), &mut self.complaints);
            match of_device {
                Ok(of_device) if self.sessions.len() == 1 => readings.extend(of_device),
                Ok(of_device) => {
                    let named = |(port, reading)| (format!("{}:{port}", session.device.name), reading);
                    readings.extend(of_device.into_iter().map(named));
                }
                Err(error) => failures.push(error),
            }
        }
        self.failures = failures.iter().map(|failure| failure.what.clone()).collect();
        for complaint in self.complaints.take() {
            tracing::warn!("{complaint}");
        }
        if readings.is_empty() {
            self.failures.clear();
            return Err(failures.into_iter().next().unwrap_or_else(|| SourceError {
                what: format!("{}: no port has usable counters", self.describe()),
                hint: Some(
                    "select others with --interface, and see the log for what is wrong with those".to_owned(),
                ),
            }));
        }
        Ok(readings)
    }

    fn troubles(&self) -> Vec<String> {
        self.failures.clone()
    }
}

impl Drop for GnmiSource {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn lock(session: &Session) -> MutexGuard<'_, Target> {
    session.target.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
