//! A running link end, as the rest of the process sees it.

use crate::command::{Command, CommandError, CommandResult};
use crate::engine::{Engine, Request, StartError};
use crate::settings::LinkSettings;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait for an answer of the loop; it answers within one round.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Nice value of the loop's thread, where it may be set: frames should not wait for ordinary work.
const LOOP_NICE: i32 = -15;

/// Owns the thread of one link end.
#[derive(Debug)]
pub struct LinkEndHandle {
    name: String,
    requests: Sender<Request>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl LinkEndHandle {
    /// Opens the ports and starts the loop.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left open then.
    pub fn start(settings: LinkSettings) -> Result<LinkEndHandle, StartError> {
        let name = settings.name.clone();
        let system = |step: &'static str| {
            let link = name.clone();
            move |source: std::io::Error| StartError::System { link, step, source }
        };
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let wake = EventFd::from_flags(flags).map_err(|errno| system("creating an eventfd")(errno.into()))?;
        let wake = Arc::new(wake);
        let (requests, received) = channel();
        let engine = Engine::open(settings, received, Arc::clone(&wake))?;
        let thread = std::thread::Builder::new()
            .name(format!("link-{name}"))
            .spawn(move || {
                prefer_this_thread(LOOP_NICE);
                engine.run();
            })
            .map_err(system("starting the loop's thread"))?;
        Ok(LinkEndHandle { name, requests, wake, thread: Some(thread) })
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks the loop, and waits for its answer.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn command(&self, command: Command) -> CommandResult {
        let stopped = || CommandError::Stopped { link: self.name.clone() };
        let (reply, answer) = sync_channel(1);
        self.requests.send(Request::Command { command, reply }).map_err(|_| stopped())?;
        self.wake();
        answer.recv_timeout(REPLY_TIMEOUT).map_err(|_| stopped())?
    }

    /// Whether the loop still runs.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the session if the peer answers, and the loop.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.requests.send(Request::Stop);
        self.wake();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(link = %self.name, "the loop ended by a panic; the kernel forwards where it can");
        }
    }

    fn wake(&self) {
        // A full counter wakes as well.
        let _ = self.wake.write(1);
    }
}

impl Drop for LinkEndHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// Lets the loop run before ordinary work and wake up on time, as far as the system allows.
fn prefer_this_thread(nice: i32) {
    if let Err(error) = crate::sys::thread::set_nice(nice) {
        tracing::debug!(%error, nice, "the loop runs at ordinary priority");
    }
    let _ = nix::sys::prctl::set_timerslack(1);
}
