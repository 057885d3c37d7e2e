//! The handle through which the rest of the process uses a running link end.

use crate::bypass::DropsReader;
use crate::capture::{Capture, Tap};
use crate::command::{Command, CommandError, CommandResult};
use crate::engine::{Engine, ExitReason, Request, StartError};
use crate::interface_watch::InterfaceWatch;
use crate::settings::LinkSettings;
use linkmend_control::capture::CaptureOptions;
use linkmend_linux::route::InterfaceFacts;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest wait for an answer of the loop, which answers within one round.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Real-time priority of the loop's thread: the lowest, which still goes before all ordinary work.
const LOOP_PRIORITY: i32 = 1;
/// The nice value if the thread cannot be a real-time one, or should not be because it never sleeps.
const LOOP_NICE: i32 = -15;

/// Owns the thread of one link end.
#[derive(Debug)]
pub struct LinkEndHandle {
    name: String,
    requests: Sender<Request>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<ExitReason>>,
    drops: DropsReader,
    /// `None` if the kernel does not announce changes; traffic reveals them then.
    watch: Option<InterfaceWatch>,
}

impl LinkEndHandle {
    /// Opens the ports and starts the loop.
    ///
    /// # Errors
    /// [`StartError`]. In that case nothing is left open, attached or switched off.
    pub fn start(settings: LinkSettings) -> Result<LinkEndHandle, StartError> {
        Self::start_on_trial(settings).inspect(LinkEndHandle::keep)
    }

    /// Like [`LinkEndHandle::start`]; if the loop ends before [`LinkEndHandle::keep`], the ports are as they were
    /// before.
    pub(crate) fn start_on_trial(settings: LinkSettings) -> Result<LinkEndHandle, StartError> {
        let (name, busy_poll) = (settings.name.clone(), settings.busy_poll);
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let wake = EventFd::from_flags(flags).map_err(failed(&name, "creating an eventfd"))?;
        let wake = Arc::new(wake);
        let (link, woken) = (name.clone(), Arc::clone(&wake));
        let (opened, outcome) = sync_channel(1);
        // The ports are opened on the loop's thread, so that a panic ends this link only.
        let mut handle = Self::spawn(&name, wake, move |received| {
            let engine = match Engine::open(settings, received, woken) {
                Ok(engine) => engine,
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return ExitReason::Stopped;
                }
            };
            let _ = opened.send(Ok((engine.interface_indices(), engine.drops_reader())));
            prefer_this_thread(&link, busy_poll);
            engine.run()
        })?;
        // On an error the handle is dropped, which waits for the thread.
        let panicked = || io::Error::other("this thread panicked; the log above says where");
        let (interfaces, drops) =
            outcome.recv().map_err(|_| failed(&name, "opening its ports")(panicked()))??;
        let (told, woken) = (handle.requests.clone(), Arc::clone(&handle.wake));
        let tell = move |index, facts: Option<InterfaceFacts>| {
            let told = told.send(Request::Interface { index, facts: facts.map(Box::new) }).is_ok();
            let _ = woken.write(1);
            told
        };
        let watch = InterfaceWatch::start(interfaces, tell).inspect_err(
            |error| tracing::warn!(link = %name, %error, "cannot watch the interfaces for changes"),
        );
        handle.watch = watch.ok();
        handle.drops = drops;
        Ok(handle)
    }

    /// Starts the thread of a loop, which gets the requests.
    pub(crate) fn spawn(
        name: &str,
        wake: Arc<EventFd>,
        run: impl FnOnce(Receiver<Request>) -> ExitReason + Send + 'static,
    ) -> Result<LinkEndHandle, StartError> {
        let (requests, received) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("link-{name}"))
            .spawn(move || run(received))
            .map_err(failed(name, "starting the loop's thread"))?;
        let (thread, drops) = (Some(thread), DropsReader::default());
        Ok(LinkEndHandle { name: name.to_owned(), requests, wake, thread, drops, watch: None })
    }

    /// Lets what was attached stay when the loop ends.
    pub(crate) fn keep(&self) {
        let _ = self.requests.send(Request::Keep);
        self.wake();
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends the loop a request and waits for the answer.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn command(&self, command: Command) -> CommandResult {
        let mut report = self.command_within(REPLY_TIMEOUT, command)?;
        self.drops.complete(&mut report);
        Ok(report)
    }

    /// The same with another patience, which the wait for the kernel's counters could exceed: they are 0.
    pub(crate) fn command_within(&self, patience: Duration, command: Command) -> CommandResult {
        let stopped = || CommandError::Stopped { link: self.name.clone() };
        let (reply, answer) = sync_channel(1);
        self.requests.send(Request::Command { command, reply }).map_err(|_| stopped())?;
        self.wake();
        answer.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => CommandError::NoAnswer { link: self.name.clone() },
            RecvTimeoutError::Disconnected => stopped(),
        })?
    }

    /// Begins a capture, which ends when the returned value is dropped.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn capture(&self, options: CaptureOptions) -> Result<Capture, CommandError> {
        let link = || self.name.clone();
        let (tap, capture) =
            Tap::new(options).map_err(|error| CommandError::CaptureFilter { link: link(), error })?;
        let (reply, answer) = sync_channel(1);
        let request = Request::Capture { tap, reply };
        self.requests.send(request).map_err(|_| CommandError::Stopped { link: link() })?;
        self.wake();
        match answer.recv_timeout(REPLY_TIMEOUT) {
            Ok(true) => Ok(capture),
            Ok(false) => Err(CommandError::TooManyCaptures { link: link() }),
            Err(RecvTimeoutError::Timeout) => Err(CommandError::NoAnswer { link: link() }),
            Err(RecvTimeoutError::Disconnected) => Err(CommandError::Stopped { link: link() }),
        }
    }

    /// Whether the loop is still running.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the session, if the peer answers, and then the loop.
    pub fn stop(mut self) {
        self.end();
    }

    /// Why the loop ended; `None` while it runs, and if it panicked.
    pub fn ending(&mut self) -> Option<ExitReason> {
        if self.is_running() { None } else { self.end() }
    }

    fn end(&mut self) -> Option<ExitReason> {
        self.watch = None;
        let _ = self.requests.send(Request::Stop);
        self.wake();
        let ending = self.thread.take()?.join();
        if ending.is_err() {
            tracing::error!(link = %self.name, "the loop has panicked; the kernel forwards where it can");
        }
        ending.ok()
    }

    fn wake(&self) {
        // If the counter is full, the loop wakes as well.
        let _ = self.wake.write(1);
    }
}

impl Drop for LinkEndHandle {
    fn drop(&mut self) {
        self.end();
    }
}

fn failed<E: Into<io::Error>>(link: &str, step: &'static str) -> impl FnOnce(E) -> StartError {
    let link = link.to_owned();
    move |source| StartError::System { link, step, source: source.into() }
}

/// Lets the loop run as soon as a frame wakes it, as far as the system allows. On a busy machine, a recovery consists
/// mostly of waiting for a core: on two busy cores, real-time threads reduced its 99th percentile from 2-8 ms to 1 ms.
/// The kernel keeps a share of each core for ordinary work (sched_rt_runtime_us, sched(7)).
fn prefer_this_thread(link: &str, busy_poll: bool) {
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(link, %error, "timers may be late by the default slack");
    }
    let refused = match busy_poll {
        true => None,
        false => match linkmend_linux::thread::set_real_time(LOOP_PRIORITY) {
            Ok(()) => {
                tracing::info!(link, "the loop runs at real-time priority");
                return;
            }
            Err(error) => Some(error),
        },
    };
    let reason = refused.map_or("it never sleeps".to_owned(), |error| error.to_string());
    match linkmend_linux::thread::set_nice(LOOP_NICE) {
        Ok(()) => {
            tracing::info!(link, nice = LOOP_NICE, reason, "the loop runs at raised, not real-time, priority")
        }
        Err(error) => tracing::info!(link, %error, reason, "the loop runs at ordinary priority"),
    }
}
