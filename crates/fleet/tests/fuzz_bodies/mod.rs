//! Bodies of the fuzz targets of the file readers. The targets under `fuzz/` include this file, and so do the ordinary
//! tests, which replay the committed corpora with it.

mod traces;

pub use traces::{trace_authors, trace_csv};

use linkmend_fleet::FileError;
use linkmend_fleet::plan::read_links;
use linkmend_fleet::protection::ProtectionTable;
use linkmend_fleet::repair::RepairDelays;
use linkmend_topology::file::{TopologyFileOptions, parse_topology};
use linkmend_topology::{LinkId, Topology};
use std::collections::BTreeSet;

/// The file name that is passed to readers.
const FILE: &str = "the/file";

/// Two ToRs and two spines whose names need quotes, contain the separator of ends, or are numbers of other links.
const NETWORK: &str = r#"
default_speed: 100G
switches:
- {name: a, layer: 0}
- {name: "b, the other", layer: 0}
- {name: s--1, layer: 1}
- {name: "2", layer: 1}
links:
- {from: a, to: s--1}
- {from: a, to: s--1}
- {from: "b, the other", to: s--1, name: "1"}
- {from: "b, the other", to: "2", name: "say \"2\""}
"#;

/// The network to which files of links and traces refer.
fn network() -> Topology {
    let loaded = parse_topology(NETWORK.into(), FILE, &TopologyFileOptions::default());
    loaded.expect("it is a network").topology
}

/// An error must name a line that the file has; the end of the text counts as one.
fn check_refusal(error: &FileError, data: &[u8]) {
    let FileError::Form { file, line, .. } = error else { panic!("memory does not fail: {error}") };
    assert_eq!(file, FILE);
    let lines = data.iter().filter(|&&byte| byte == b'\n').count() + 1;
    assert!((1..=lines).contains(line), "{error}");
    assert!(!error.to_string().contains(" at line "), "two positions: {error}");
}

/// Links that the operator reports. Whatever is accepted must exist, occur only once, and have a possible loss rate.
pub fn reported_links(data: &[u8]) {
    let network = network();
    match read_links(data, FILE, &network) {
        Ok(links) => {
            let different: BTreeSet<LinkId> = links.iter().map(|reported| reported.link).collect();
            assert_eq!(different.len(), links.len());
            for reported in links {
                assert!(reported.link.index() < network.link_count());
                assert!(reported.loss_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)));
                assert!(reported.disabled || reported.loss_rate.is_some());
            }
        }
        Err(error) => check_refusal(&error, data),
    }
}

/// Repair times as text. Whatever is accepted must read back the same after it is written.
pub fn repair_delays(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<RepairDelays>() {
        Ok(delays) => assert_eq!(delays.to_string().parse(), Ok(delays)),
        Err(error) => assert!(error.to_string().starts_with(&format!("repair {text}: "))),
    }
}

/// Protection tables: every loss rate has a row, and its values are shares.
pub fn protection_table(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(table) = ProtectionTable::from_json(text) else { return };
    assert!((0.0..=1.0).contains(&table.best_capacity()));
    let ordered = table.clone();
    let tables = [Some(ordered), table.into_non_blocking()];
    for table in tables.into_iter().flatten() {
        for loss_rate in [f64::MIN_POSITIVE, 1e-18, 1e-8, 1e-3, 0.5, 1.0] {
            let row = table.row(loss_rate);
            for share in [row.loss_rate, row.effective_loss_rate, row.capacity] {
                assert!((0.0..=1.0).contains(&share));
            }
            // The row for exactly this loss rate is the nearest.
            let own = table.row(row.loss_rate);
            assert!(own.loss_rate == row.loss_rate, "{own:?} is nearer than {row:?}");
        }
    }
}
