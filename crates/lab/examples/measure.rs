//! Measures the tools themselves, over bridges in place of the daemons: `cargo run --release -p linkmend-lab --example
//! measure [FRAMES]`. Prints frames per second for small and large frames, goodput, and flow completion times.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::time::Duration;

use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::tcp::{
    BulkOptions, Connections, FlowOptions, PingOptions, TrafficPath, available_congestion_controls, bulk,
    flows, ping,
};
use linkmend_lab::unprivileged::ensure_privileges;
use linkmend_lab::{FramePath, Lab, LabOptions, Role, RunControl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ensure_privileges()?;
    let control = RunControl::default();
    let count = std::env::args().nth(1).map_or(Ok(3_000_000), |count| count.parse())?;
    let prefix = format!("m{}", std::process::id());
    let lab = Lab::up(LabOptions { prefix, remove_on_drop: true, ..LabOptions::default() })?;
    lab.bridge()?;
    for (frame_bytes, window_frames) in [(60, 128), (60, 512), (60, 2048), (1514, 512)] {
        let options = GeneratorOptions { count, frame_bytes, window_frames, ..GeneratorOptions::default() };
        let report = generate(&FramePath::forward(&lab), &options, &control)?;
        println!(
            "frames of {frame_bytes} B, window {window_frames}: {:.0} frames/s, {:.2} Gb/s; {} lost, of which {} at \
             the receiving socket; {} retries",
            report.frames_per_second,
            report.bits_per_second / 1e9,
            report.lost,
            report.receive_socket_drops,
            report.send_retries,
        );
    }
    let path = TrafficPath::ipv4(&lab);
    for congestion_control in available_congestion_controls(lab.namespace(Role::Host1))? {
        let options =
            BulkOptions { duration: Duration::from_secs(3), congestion_control, ..BulkOptions::default() };
        let report = bulk(&path, &options, &control)?;
        println!(
            "bulk, {}: {:.2} Gb/s, {} segments retransmitted, {} of them needlessly",
            report.options.congestion_control,
            report.goodput_bits_per_second / 1e9,
            report.retransmitted_segments,
            report.needlessly_retransmitted_segments,
        );
    }
    for connections in
        [Connections::FreshAfterHandshake, Connections::FreshWithHandshake, Connections::Persistent]
    {
        let options = FlowOptions {
            connections,
            congestion_control: Some("cubic".to_owned()),
            ..FlowOptions::default()
        };
        let report = flows(&path, &options, &control)?;
        println!("flows, {connections:?}: {:?}", report.completion_ns);
    }
    println!("ping: {:?}", ping(&path, &PingOptions::default(), &control)?.round_trip_ns);
    Ok(())
}
