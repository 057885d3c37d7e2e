//! Labels, and counters with them.

use prometheus_client::encoding::MetricEncoder;
use std::fmt;

pub(super) type Label = (&'static str, String);

pub(super) fn label(link: &str) -> Label {
    ("link", link.to_owned())
}

pub(super) fn count(family: &mut MetricEncoder<'_>, labels: &[Label], value: u64) -> fmt::Result {
    family.encode_family(&labels)?.encode_counter::<[Label; 0], u64, f64>(&value, None)
}
