//! Labels, and counters with them.

use linkmend_control::report::PortReport;
use linkmend_control::{LinkReport, Side};
use linkmend_diagnose::printable;
use prometheus_client::encoding::MetricEncoder;
use std::fmt;

pub(super) type Label = (&'static str, String);

pub(super) fn label(link: &str) -> Label {
    ("link", printable(link).into_owned())
}

pub(super) fn port_labels(report: &LinkReport, side: Side, port: &PortReport) -> [Label; 3] {
    [label(&report.name), ("port", side.word().to_owned()), ("interface", port.interface.clone())]
}

pub(super) fn count(family: &mut MetricEncoder<'_>, labels: &[Label], value: u64) -> fmt::Result {
    family.encode_family(&labels)?.encode_counter::<[Label; 0], u64, f64>(&value, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever looks at a page of metrics sees which link it is.
    #[test]
    fn the_name_of_a_link_is_escaped() {
        assert_eq!(label("leaf\u{202e}1\u{1b}[2J"), ("link", "leaf\\u202e1\\u001b[2J".to_owned()));
    }
}
