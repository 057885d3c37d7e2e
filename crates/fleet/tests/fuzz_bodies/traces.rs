//! Fuzz bodies for traces.

use super::{FILE, check_refusal, network};
use linkmend_fleet::trace::{MAX_TIME_S, Trace, parse_authors, read_csv, write_csv};
use linkmend_topology::Topology;

/// A trace as CSV.
pub fn trace_csv(data: &[u8]) {
    let network = network();
    match read_csv(data, FILE, &network) {
        Ok(trace) => {
            check(&trace, network.link_count() as u64);
            check_rewritten(&trace, &network);
        }
        Err(error) => check_refusal(&error, data),
    }
}

/// A trace of the authors' simulator. Only small networks are built.
pub fn trace_authors(data: &[u8]) {
    match parse_authors(data.to_vec(), FILE) {
        Ok(read) => {
            check(&read.trace, read.fabric.links());
            assert!(read.fabric.bits_per_second > 0);
            if read.fabric.links() <= 10_000 {
                let network = read.fabric.build().expect("what is accepted can be built");
                assert_eq!(network.link_count() as u64, read.fabric.links());
                check_rewritten(&read.trace, &network);
            }
        }
        Err(error) => check_refusal(&error, data),
    }
}

/// Events must be in order, each in a second of its own, and name links that exist and lose something.
fn check(trace: &Trace, links: u64) {
    assert!(trace.events().windows(2).all(|pair| pair[0].time_s < pair[1].time_s));
    for event in trace.events() {
        assert!(event.time_s <= MAX_TIME_S, "{event:?}");
        assert!(u64::from(event.link.0) < links, "{event:?}");
        assert!(event.loss_rate > 0.0 && event.loss_rate <= 1.0, "{event:?}");
    }
}

/// A trace that is written as CSV must read back the same.
fn check_rewritten(trace: &Trace, network: &Topology) {
    let mut text = Vec::new();
    write_csv(trace, network, &mut text).expect("memory can be written");
    assert_eq!(read_csv(&text[..], FILE, network).expect("it was written"), *trace);
}
