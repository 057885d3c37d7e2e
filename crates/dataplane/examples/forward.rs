//! The plainest forwarder on Linkmend's ports: every frame of one interface leaves by the other. The protocol's own
//! cost is measured against its throughput.
//!
//!     forward IF1 IF2 [--packet] [--generic|--native] [--seconds N]

use linkmend_diagnose::Diagnose;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use linkmend_dataplane::{
    BypassMode, BypassOptions, FrameHandle, FramePool, Port, PortChoice, PortError, PortPair,
    PortPairOptions, XdpMode,
};
use linkmend_linux::clock::monotonic_ns;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const BUDGET: usize = 64;
/// Empty rounds before the forwarder sleeps.
const IDLE_ROUNDS: u32 = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let [first, second, ..] = &arguments[..] else {
        eprintln!("usage: forward IF1 IF2 [--packet] [--generic|--native] [--seconds N]");
        return ExitCode::from(2);
    };
    let xdp_mode = match (flag("--generic"), flag("--native")) {
        (true, _) => Some(XdpMode::Generic),
        (_, true) => Some(XdpMode::Native),
        _ => None,
    };
    let seconds = arguments
        .iter()
        .skip_while(|argument| *argument != "--seconds")
        .nth(1)
        .and_then(|seconds| seconds.parse().ok());
    let options = PortPairOptions {
        choice: if flag("--packet") { PortChoice::Packet } else { PortChoice::Auto },
        bypass: BypassOptions {
            xdp_mode,
            mode: BypassMode::Active,
            stall_after: Duration::from_secs(3),
            known_until_ns: 0,
            tag_bytes: 0,
            offloads: false,
        },
        ..PortPairOptions::default()
    };
    match run(first, second, &options, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                eprintln!("  caused by: {cause}");
                source = cause.source();
            }
            if let Some(hint) = error.hint() {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(1)
        }
    }
}

fn run(first: &str, second: &str, options: &PortPairOptions, seconds: Option<u64>) -> Result<(), PortError> {
    let mut pair = PortPair::open(first, &[second], options)?;
    eprintln!("{first}: {}", pair.inner.description());
    eprintln!("{second}: {}", pair.links[0].description());
    if let Some(bypass) = &pair.bypass {
        eprintln!("bypass: {:?}", bypass.xdp_mode());
    }
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut frames = Vec::with_capacity(BUDGET);
    let mut idle_rounds = 0;
    loop {
        if let Some(bypass) = &pair.bypass {
            bypass.heartbeat(monotonic_ns());
        }
        let PortPair { inner, links, pool, .. } = &mut pair;
        let link = &mut links[0];
        let moved = forward(inner, link, pool, &mut frames)? + forward(link, inner, pool, &mut frames)?;
        if moved > 0 {
            idle_rounds = 0;
            continue;
        }
        idle_rounds += 1;
        if idle_rounds > IDLE_ROUNDS {
            let interest = |port: &Port| match port.in_flight() {
                _ if port.transmit_room() > BUDGET => PollFlags::POLLIN,
                _ => PollFlags::POLLIN | PollFlags::POLLOUT,
            };
            let mut fds = [
                PollFd::new(pair.inner.as_fd(), interest(&pair.inner)),
                PollFd::new(pair.links[0].as_fd(), interest(&pair.links[0])),
            ];
            let _ = poll(&mut fds, PollTimeout::from(100u8));
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
    }
    eprintln!("{first}: {:?}", pair.inner.counters());
    eprintln!("{second}: {:?}", pair.links[0].counters());
    Ok(())
}

/// Moves one batch from one port to the other. Returns its size.
fn forward(
    from: &mut Port,
    to: &mut Port,
    pool: &mut FramePool,
    frames: &mut Vec<FrameHandle>,
) -> Result<usize, PortError> {
    to.reclaim(pool);
    from.reclaim(pool);
    let budget = BUDGET.min(to.transmit_room());
    let received = from.receive(pool, frames, budget);
    for frame in frames.drain(..) {
        // The port refuses a chain that takes more room than it has; the frame is then dropped.
        let _ = to.send(pool, frame);
        pool.release(frame);
    }
    if received > 0 || to.in_flight() > 0 {
        to.flush(pool)?;
    }
    Ok(received)
}
