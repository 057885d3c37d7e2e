//! The first process of a machine: prepares it, and does what the host asks over the second serial port.

mod frames;
mod prepare;
mod traffic;

use crate::processor::Processor;
use crate::request::{Interface, Reply, Request};
use linkmend_linux::{ethtool, route, veth};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
pub(crate) use prepare::{MODULES, MOUNTS};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use traffic::{Role, Run};

/// Where the host puts the program to be tested.
pub const PROGRAM: &str = "/linkmend";
const LOG: &str = "/run/daemon.log";
/// The end of the log that is worth a look.
const LOG_BYTES: usize = 6_000;
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// Whether this process is the first one of its machine, and so should call [`main`].
pub fn is_wanted() -> bool {
    std::process::id() == 1
}

/// Serves the host until the machine is turned off from outside.
pub fn main() -> ExitCode {
    let failed = match serve() {
        Ok(()) => "the host has closed the serial port".to_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("guest: {failed}");
    prepare::power_off()
}

fn serve() -> io::Result<()> {
    let problems = prepare::machine()?;
    let port = File::options().read(true).write(true).open(Processor::SECOND_SERIAL_PORT)?;
    prepare::make_raw(&port)?;
    let mut guest = Guest::default();
    let mut answer = Reply::Ready {
        release: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        problems,
    };
    let mut reader = BufReader::new(port.try_clone()?);
    loop {
        let mut text = serde_json::to_string(&answer)?;
        text.push('\n');
        (&port).write_all(text.as_bytes())?;
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        answer = serde_json::from_str(&line)
            .map_err(io::Error::from)
            .and_then(|request| guest.handle(request))
            .unwrap_or_else(|error| Reply::Failed(error.to_string()));
    }
}

#[derive(Debug, Default)]
struct Guest {
    daemon: Option<Child>,
    run: Option<Run>,
}

impl Guest {
    fn handle(&mut self, request: Request) -> io::Result<Reply> {
        match request {
            Request::Interfaces => return Ok(Reply::Interfaces(interfaces()?)),
            Request::Up { interface, mtu } => veth::bring_up(&interface, mtu)?,
            Request::Start(arguments) => {
                let log = File::options().create(true).append(true).open(LOG)?;
                let mut command = Command::new(PROGRAM);
                command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
                self.daemon = Some(command.spawn()?);
            }
            Request::Kill => self.end(Signal::SIGKILL)?,
            Request::Stop => self.end(Signal::SIGTERM)?,
            Request::Run(arguments) => return run(&arguments),
            Request::Send(traffic) => self.run = Some(Run::start(Role::Sender, traffic)?),
            Request::Receive(traffic) => self.run = Some(Run::start(Role::Receiver, traffic)?),
            Request::Progress => {
                return Ok(Reply::Progress(self.run.as_ref().map(Run::progress).unwrap_or_default()));
            }
            Request::Busy => return Ok(Reply::Busy(prepare::busy_ns()?)),
            Request::Log => {
                let log = fs::read(LOG).unwrap_or_default();
                let end = &log[log.len().saturating_sub(LOG_BYTES)..];
                return Ok(Reply::Output(String::from_utf8_lossy(end).into_owned()));
            }
        }
        Ok(Reply::Done)
    }

    fn end(&mut self, signal: Signal) -> io::Result<()> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        // A daemon that has ended by itself has not been waited for, so its number is still its own.
        kill(Pid::from_raw(daemon.id() as i32), signal)?;
        let began = Instant::now();
        while daemon.try_wait()?.is_none() {
            if began.elapsed() > STOP_PATIENCE {
                daemon.kill()?;
                daemon.wait()?;
                return Err(io::Error::other("the daemon did not end"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

fn run(arguments: &[String]) -> io::Result<Reply> {
    let output = Command::new(PROGRAM).args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(Reply::Output(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Ok(Reply::Failed(format!("linkmend {}: {}: {}", arguments.join(" "), output.status, message.trim())))
}

fn interfaces() -> io::Result<Vec<Interface>> {
    let mut names = fs::read_dir("/sys/class/net")?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let Some(facts) = route::interface(&name)? else { continue };
        found.push(Interface {
            driver: ethtool::driver(&name).unwrap_or_default(),
            mac: facts.mac,
            mtu: facts.mtu,
            queues: ethtool::receive_queues(&name).unwrap_or(1),
            name,
        });
    }
    Ok(found)
}
