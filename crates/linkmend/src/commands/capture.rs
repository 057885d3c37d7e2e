//! `linkmend capture`: what passes through the daemon, printed or written to a file.

use crate::commands::arguments::Daemons;
use crate::failure::{Hinted, Plain, Result, UsageError};
use crate::interrupt;
use crate::output::{print, remark};
use crate::written_file::{self, cannot_write};
use clap::Args;
use linkmend_control::capture::record::Record;
use linkmend_control::capture::{CaptureOptions, CaptureProgress, CapturedFrame, Direction, FrameClass};
use linkmend_control::{LinkReport, Side};
use linkmend_dataplane::capture::describe;
use linkmend_dataplane::capture::{Filter, Repetition};
use linkmend_pcapng::{Packet, PcapngWriter, PortId, PortOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest wait for a frame before the command checks whether it should end.
const LOOK_UP: Duration = Duration::from_millis(100);
const NANOSECONDS: u8 = 9;
/// The longest time without a line while frames pass, so that whoever watches an idle link sees that the capture works.
const SILENCE_NS_MAX: u64 = 1_000_000_000;

/// Arguments of `linkmend capture`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CaptureArgs {
    /// Name of the link
    #[arg(value_name = "LINK")]
    pub name: String,
    /// Show only frames that match this filter, as in tcpdump: host, net, port, portrange, ether proto, ether host,
    /// vlan, ip, ip6, arp, tcp, udp, icmp, icmp6, with src, dst, and, or, not and parentheses; frames are also matched
    /// behind a Linkmend header
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Capture only at this port [default: both]
    #[arg(long, value_enum, value_name = "PORT")]
    pub port: Option<Side>,
    /// Show only frames of these classes; `data,ordered` selects data frames of the ordered lane
    #[arg(long = "class", value_enum, value_name = "CLASS", value_delimiter = ',')]
    pub classes: Vec<FrameClass>,
    /// Also show dummies, ACKs and hellos without new information [default: only count them, unless --class selects
    /// them]
    #[arg(long, conflicts_with = "write")]
    pub all: bool,
    /// Write a pcapng file for Wireshark and tshark; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Print one JSON object per frame, each on its own line
    #[arg(long, conflicts_with_all = ["all", "write"])]
    pub json: bool,
    /// Stop after this many frames
    #[arg(short, long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Maximum number of bytes captured of each frame
    #[arg(long, value_name = "BYTES", default_value_t = 65_535, value_parser = clap::value_parser!(u32).range(14..=65_535))]
    pub snap: u32,
    #[command(flatten)]
    pub daemons: Daemons,
}

const EXAMPLES: &str = "\
Examples:
  linkmend capture uplink        # one line per frame with new information
  linkmend capture uplink --all  # one line per frame
  linkmend capture uplink --port link --class copies,acks
  linkmend capture uplink tcp port 5201 and not host 10.0.0.7
  linkmend capture uplink --json --class copies | jq .linkmend
  linkmend capture uplink --write uplink.pcapng --seconds 10
  linkmend capture uplink --write - | tshark -X lua_script:linkmend.lua -r -

tcpdump does not see frames that AF_XDP ports receive. It sees those of AF_PACKET ports (`linkmend run --ports packet`).
While a link is dormant, the kernel forwards its frames, and only Linkmend's own frames pass through the daemon. Ctrl-C \
ends a capture; the numbers of captured and dropped frames are then reported on standard error. Times are \
in UTC.";

/// Executes the command.
pub fn execute(arguments: &CaptureArgs) -> Result<()> {
    let filter = arguments.filter.join(" ");
    Filter::parse(&filter)?;
    let seconds = arguments.seconds.map(Duration::try_from_secs_f64).transpose();
    let seconds = seconds.map_err(|_| {
        let given = arguments.seconds.unwrap_or_default();
        UsageError::new(format!("--seconds {given}: must be a number of seconds, at least 0"))
    })?;
    let stop = interrupt::flag()?;
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client
        .status(Some(&arguments.name))?
        .pop()
        .ok_or_else(|| Plain("the daemon did not report on the link".to_owned()))?;
    let mut sink = Sink::open(arguments, &report)?;
    let options = CaptureOptions {
        port: arguments.port,
        snap_bytes: arguments.snap,
        classes: arguments.classes.clone(),
        filter,
    };
    let mut stream = client.capture(&arguments.name, &options)?;
    let mut run = Run { name: &arguments.name, frames: 0, progress: None };
    let deadline = seconds.map(|seconds| Instant::now() + seconds);
    let ended = run.follow(&mut stream, &mut sink, arguments.count, deadline, &stop);
    let quiet_frames = sink.quiet_frames();
    // The summary is printed even if the daemon or the disk ended the capture.
    let closed = sink.finish();
    let dropped = run.progress.unwrap_or_default().dropped;
    if quiet_frames > 0 {
        remark(&format!(
            "{quiet_frames} control frames without new information are not shown; use --all to show them\n"
        ));
    }
    remark(&format!("{} frames captured, {dropped} dropped because the buffer was full\n", run.frames));
    ended.and(closed)
}

struct Run<'a> {
    name: &'a str,
    frames: u64,
    progress: Option<CaptureProgress>,
}

impl Run<'_> {
    fn follow(
        &mut self,
        stream: &mut linkmend_control::CaptureStream,
        sink: &mut Sink,
        count: Option<u64>,
        deadline: Option<Instant>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let over = |frames| count.is_some_and(|count| frames >= count);
        while !over(self.frames)
            && !stop.load(Ordering::Relaxed)
            && deadline.is_none_or(|deadline| Instant::now() < deadline)
        {
            match stream.next(LOOK_UP)? {
                Some(Record::Frame(frame)) => {
                    self.frames += 1;
                    sink.write(&frame)?;
                }
                Some(Record::Progress(progress)) => {
                    sink.flush()?;
                    self.report_forwarding(progress);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Reports whether the kernel forwards: at the start if it does, and whenever that changes.
    fn report_forwarding(&mut self, progress: CaptureProgress) {
        let name = self.name;
        let before = self.progress.replace(progress).is_some_and(|before| before.kernel_forwards);
        match (before, progress.kernel_forwards) {
            (false, true) => remark(&format!(
                "{name} is dormant: the kernel forwards its frames, and only Linkmend's own frames pass through \
                 the daemon. To see the others, run tcpdump on the hosts, or start the daemon with `linkmend run \
                 --ports packet`.\n"
            )),
            (true, false) => remark(&format!("{name} is active: every frame passes through the daemon.\n")),
            _ => {}
        }
    }
}

/// The destination of captured frames.
enum Sink {
    Lines(Lines),
    Json,
    File { path: PathBuf, writer: PcapngWriter<Box<dyn Write>>, ports: Vec<PortId> },
}

impl Sink {
    fn open(arguments: &CaptureArgs, report: &LinkReport) -> Result<Sink> {
        let Some(path) = &arguments.write else {
            if arguments.json {
                return Ok(Sink::Json);
            }
            let every = arguments.all || !arguments.classes.is_empty();
            return Ok(Sink::Lines(Lines { quiet: (!every).then(Box::default) }));
        };
        let is_piped = path.as_os_str() == "-";
        let output: Box<dyn Write> = if is_piped {
            if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
                return Err(Hinted {
                    message: "cannot write a pcapng file to a terminal".to_owned(),
                    hint: "omit --write to print lines, or pipe the output into tshark -r -".to_owned(),
                }
                .into());
            }
            Box::new(BufWriter::new(std::io::stdout()))
        } else {
            Box::new(BufWriter::new(written_file::create_private(path)?))
        };
        let path = if is_piped { Path::new("standard output") } else { path };
        Ok(Sink::begin(path, output, arguments.snap, report).map_err(cannot_write(path))?)
    }

    /// Begins a file with its ports.
    fn begin(path: &Path, output: Box<dyn Write>, snap: u32, report: &LinkReport) -> io::Result<Sink> {
        let mut writer = PcapngWriter::new(output, "Linkmend", snap)?;
        let mut port =
            |name: &str| writer.add_port(&PortOptions { name, tick_exponent: NANOSECONDS, speed: None });
        let ports = report.ports().map(|(_, report)| port(&report.interface)).collect::<io::Result<_>>()?;
        writer.flush()?;
        Ok(Sink::File { path: path.to_owned(), writer, ports })
    }

    fn write(&mut self, frame: &CapturedFrame) -> Result<()> {
        match self {
            Sink::Lines(lines) => lines.write(frame)?,
            Sink::Json => print(&serde_json::to_string(&describe::description(frame))?)?,
            Sink::File { path, writer, ports } => {
                let comment = describe::comment(frame);
                let packet = Packet {
                    // The report may be older than a restart with a second link.
                    port: ports[(frame.port as usize).min(ports.len() - 1)],
                    at_ticks: frame.at_ns,
                    direction: match frame.direction {
                        Direction::Inbound => linkmend_pcapng::Direction::Inbound,
                        Direction::Outbound => linkmend_pcapng::Direction::Outbound,
                    },
                    head: &frame.bytes,
                    bytes: frame.length,
                    corrupted: frame.corrupted,
                    comment: comment.as_deref(),
                };
                writer.write(&packet).map_err(cannot_write(path))?;
            }
        }
        Ok(())
    }

    /// The number of frames without a line.
    fn quiet_frames(&self) -> u64 {
        match self {
            Sink::Lines(Lines { quiet: Some(quiet) }) => quiet.frames,
            _ => 0,
        }
    }

    /// Passes everything so far to whoever reads along.
    fn flush(&mut self) -> Result<()> {
        match self {
            Sink::Lines(_) | Sink::Json => Ok(()),
            Sink::File { path, writer, .. } => Ok(writer.flush().map_err(cannot_write(path))?),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Sink::Lines(_) | Sink::Json => Ok(()),
            Sink::File { path, writer, .. } => Ok(writer.finish().map(drop).map_err(cannot_write(&path))?),
        }
    }
}

/// Writes a line for each frame, or only for those that say something new.
struct Lines {
    quiet: Option<Box<Quiet>>,
}

/// Frames without a line.
#[derive(Default)]
struct Quiet {
    repetition: Repetition,
    frames: u64,
    /// The number since the last line.
    since_line: u64,
    line_at_ns: u64,
}

impl Lines {
    fn write(&mut self, frame: &CapturedFrame) -> Result<()> {
        let Some(quiet) = &mut self.quiet else { return Ok(print(&describe::line(frame))?) };
        let line = if quiet.repetition.is_in(frame) {
            quiet.frames += 1;
            quiet.since_line += 1;
            let silent_ns = frame.at_ns.saturating_sub(quiet.line_at_ns);
            (silent_ns >= SILENCE_NS_MAX)
                .then(|| format!("        {} control frames without new information", quiet.since_line))
        } else {
            Some(describe::line(frame))
        };
        if let Some(line) = line {
            (quiet.since_line, quiet.line_at_ns) = (0, frame.at_ns);
            print(&line)?;
        }
        Ok(())
    }
}
