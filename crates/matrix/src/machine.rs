//! A virtual machine.

use crate::card::Card;
use crate::kernel::{Kernel, Programs};
use crate::request::{Reply, Request};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Every machine is ended after this many seconds, whatever has become of this process.
const SECONDS_MAX: &str = "1800";
/// A signal ends the machine as soon as this process is gone.
const GUARD: [&str; 6] = ["setpriv", "--pdeathsig", "TERM", "timeout", "--foreground", SECONDS_MAX];
/// See `-icount` below.
const NS_AN_INSTRUCTION: u64 = 4;
/// One processor. The program to be tested fits into the memory twice, once as a file.
const HARDWARE: [&str; 9] = [
    // An instruction takes 4 ns of the machine's time, so that a daemon does not seem to stall where this machine is busy.
    "-icount",
    "shift=2,sleep=on",
    "-m",
    "768",
    "-nodefaults",
    "-no-reboot",
    "-display",
    "none",
    "-no-user-config",
];
/// How long a machine may take to boot, and to do what it is asked.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);
const REPLY_PATIENCE: Duration = Duration::from_secs(120);
const START_PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// What a machine is started with.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The program `qemu-system-x86_64`, or the one for the processor of the kernel.
    pub emulator: &'a Path,
    pub kernel: &'a Kernel,
    pub programs: &'a Programs,
    pub card: Card,
    /// Number of cables, each with a card at its end.
    pub cables: usize,
    /// Folder for sockets and consoles.
    pub folder: &'a Path,
}

/// A running machine, which is ended when this is dropped.
#[derive(Debug)]
pub struct Machine {
    name: char,
    emulator: Child,
    agent: BufReader<UnixStream>,
    monitor: PathBuf,
    console: PathBuf,
    messages: PathBuf,
    /// The release of its kernel.
    pub release: String,
    /// What its kernel does not have, such as a module that cannot be loaded.
    pub problems: Vec<String>,
}

impl Machine {
    /// Starts both machines of a pair, and waits until they are ready.
    ///
    /// # Errors
    /// If the emulator cannot be run, or a kernel does not boot.
    pub fn pair(setup: &Setup) -> io::Result<[Machine; 2]> {
        let archive = setup.folder.join("initramfs");
        fs::write(&archive, setup.kernel.first_file_system(setup.programs)?)?;
        let mut first = Machine::start(setup, 'a', &archive)?;
        let mut second = Machine::start(setup, 'b', &archive)?;
        for machine in [&mut first, &mut second] {
            machine.agent.get_ref().set_read_timeout(Some(BOOT_PATIENCE))?;
            match machine.reply()? {
                Reply::Ready { release, problems } => {
                    machine.release = release;
                    machine.problems = problems;
                }
                other => return Err(machine.failed(format!("said {other:?} instead of being ready"))),
            }
            machine.agent.get_ref().set_read_timeout(Some(REPLY_PATIENCE))?;
        }
        Ok([first, second])
    }

    /// Machine `a` listens on its cables, so it is started first.
    fn start(setup: &Setup, name: char, archive: &Path) -> io::Result<Machine> {
        let path = |what: &str| setup.folder.join(format!("{name}.{what}"));
        let [agent, monitor, console, messages] = ["agent", "monitor", "console", "messages"].map(path);
        let mut command = Command::new(GUARD[0]);
        command.args(&GUARD[1..]).arg(setup.emulator);
        let processor = setup.kernel.processor();
        command.args(processor.machine()).args(HARDWARE);
        command.arg("-kernel").arg(setup.kernel.image()).arg("-initrd").arg(archive);
        command.args(["-append", processor.kernel_arguments()]);
        command.arg("-serial").arg(format!("file:{}", console.display()));
        // It waits for this process, so that nothing that the guest says is lost.
        command.arg("-chardev").arg(format!("socket,id=agent,path={},server=on,wait=on", agent.display()));
        command.args(processor.second_serial_port("agent"));
        command.arg("-monitor").arg(format!("unix:{},server=on,wait=off", monitor.display()));
        for cable in 0..setup.cables {
            let socket = setup.folder.join(format!("cable{cable}"));
            let server = if name == 'a' { "on" } else { "off" };
            let address = format!("addr.type=unix,addr.path={}", socket.display());
            command.arg("-netdev").arg(format!("stream,id=cable{cable},server={server},{address}"));
            let mac = format!("52:54:00:00:0{cable}:0{name}");
            command.args(setup.card.arguments(cable, &mac));
        }
        let written = fs::File::create(&messages)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(written);
        let mut emulator =
            command.spawn().map_err(|error| io::Error::other(format!("cannot run {}: {error}", GUARD[0])))?;
        let agent = match connect(&agent, &mut emulator) {
            Ok(agent) => BufReader::new(agent),
            Err(error) => {
                let _ = (emulator.kill(), emulator.wait());
                let said = fs::read_to_string(&messages).unwrap_or_default();
                let emulator = setup.emulator.display();
                return Err(io::Error::other(format!("{emulator} does not start: {error}: {}", said.trim())));
            }
        };
        let (release, problems) = Default::default();
        Ok(Machine { name, emulator, agent, monitor, console, messages, release, problems })
    }

    /// Asks for something, and waits for the answer.
    ///
    /// # Errors
    /// If the machine cannot do it, or does not answer.
    pub fn ask(&mut self, request: &Request) -> io::Result<Reply> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        self.agent.get_ref().write_all(line.as_bytes())?;
        match self.reply()? {
            Reply::Failed(reason) => Err(self.failed(reason)),
            reply => Ok(reply),
        }
    }

    /// How many instructions its processor has executed while it was not idle.
    ///
    /// # Errors
    /// If the machine does not answer.
    pub fn instructions(&mut self) -> io::Result<u64> {
        match self.ask(&Request::Busy)? {
            Reply::Busy(ns) => Ok(ns / NS_AN_INSTRUCTION),
            other => Err(self.failed(format!("said {other:?} instead of a time"))),
        }
    }

    /// Pulls a cable, or plugs it in again, at this end.
    ///
    /// # Errors
    /// If the emulator does not answer.
    pub fn plug(&mut self, cable: usize, is_plugged: bool) -> io::Result<()> {
        let mut monitor = UnixStream::connect(&self.monitor)?;
        let state = if is_plugged { "on" } else { "off" };
        monitor.write_all(format!("set_link cable{cable} {state}\n").as_bytes())?;
        // Its prompt comes back when it is done: once for the greeting, once for the command.
        monitor.set_read_timeout(Some(REPLY_PATIENCE))?;
        let mut reader = BufReader::new(monitor);
        for _ in 0..2 {
            let mut said = Vec::new();
            while !said.ends_with(b"(qemu) ") {
                if reader.read_until(b' ', &mut said)? == 0 {
                    return Err(self.failed("the monitor has closed".to_owned()));
                }
            }
        }
        Ok(())
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        match self.agent.read_line(&mut line) {
            Ok(0) => Err(self.failed("has ended".to_owned())),
            Ok(_) => {
                serde_json::from_str(&line).map_err(|error| self.failed(format!("said {line:?}: {error}")))
            }
            Err(error) => Err(self.failed(format!("does not answer: {error}"))),
        }
    }

    /// An error with the last words of the emulator and of the console.
    fn failed(&self, reason: String) -> io::Error {
        let messages = fs::read_to_string(&self.messages).unwrap_or_default();
        let reason = format!("{reason} {}", messages.trim());
        let console = fs::read(&self.console).unwrap_or_default();
        let console = String::from_utf8_lossy(&console).into_owned();
        let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let end = lines[lines.len().saturating_sub(12)..].join("\n    ");
        let name = self.name;
        io::Error::other(format!("machine {name}: {reason}\n    {end}"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The guard passes SIGTERM on, which the emulator obeys at once.
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(self.emulator.id() as i32),
            nix::sys::signal::Signal::SIGTERM,
        );
        let _ = self.emulator.wait();
    }
}

/// Connects to the socket of an emulator that is just starting.
fn connect(path: &Path, emulator: &mut Child) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return Ok(stream),
            Err(error) if began.elapsed() > START_PATIENCE => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = emulator.try_wait()? {
            return Err(io::Error::other(status.to_string()));
        }
        std::thread::sleep(POLL);
    }
}
