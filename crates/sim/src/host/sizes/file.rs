//! Distributions of flow sizes in files: a size in bytes and the share of flows that are not longer, in each line.

use super::{Between, FlowSizes, Point, Shape};
use std::path::Path;

/// The largest file that is read.
const FILE_MAX_BYTES: u64 = 64 << 20;
/// The longest flow: up to this, numbers of bytes are exact as floating-point numbers.
const SIZE_MAX: f64 = 9e15;

/// Whether a text names a file rather than a workload or a size.
pub(super) fn is_named_by(text: &str) -> bool {
    [".csv", ".txt"].iter().any(|ending| text.ends_with(ending))
}

/// Reads a distribution. The error says what the file must be.
pub(super) fn read(path: &Path) -> Result<FlowSizes, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    if std::fs::metadata(path).map_err(cannot)?.len() > FILE_MAX_BYTES {
        return Err(format!("must have at most {} MiB", FILE_MAX_BYTES >> 20));
    }
    let points = points(&std::fs::read_to_string(path).map_err(cannot)?)?;
    let shape = Shape::Points { points, between: Between::Linear };
    Ok(FlowSizes { name: path.display().to_string(), shape })
}

fn points(text: &str) -> Result<Vec<Point>, String> {
    let mut points: Vec<Point> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let parts: Vec<&str> = line.split([',', ' ', '\t']).filter(|part| !part.is_empty()).collect();
        let [bytes, share] = parts.as_slice() else {
            if parts.is_empty() {
                continue;
            }
            return Err(format!(
                "line {number}: must be a size in bytes and the share of flows that are not longer"
            ));
        };
        let (Ok(bytes), Ok(share)) = (bytes.parse::<f64>(), share.parse::<f64>()) else {
            // The first line may have headings.
            if points.is_empty() && number == 1 {
                continue;
            }
            return Err(format!("line {number}: `{line}` must be two numbers"));
        };
        if !((0.0..=SIZE_MAX).contains(&bytes) && share >= 0.0 && share.is_finite()) {
            return Err(format!(
                "line {number}: the size must be 0 to {SIZE_MAX:e} and the share at least 0"
            ));
        }
        if points.last().is_some_and(|last| bytes < last.bytes || share < last.share) {
            return Err(format!("line {number}: sizes and shares must not decrease"));
        }
        points.push(Point { bytes, share });
    }
    let last = points.last().map_or(0.0, |last| last.share);
    // Shares are of 1 or in percent.
    if ![1.0, 100.0].contains(&last) {
        return Err("the last line must have the share 1, or 100 if shares are percentages".to_owned());
    }
    points.iter_mut().for_each(|point| point.share /= last);
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn sizes_of(text: &str) -> Result<FlowSizes, String> {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file.path()
            .to_str()
            .expect("a path")
            .parse()
            .map_err(|error: crate::stress::ParameterError| error.requirement)
    }

    #[test]
    fn a_file_is_a_distribution_with_or_without_headings_in_shares_or_percent() {
        for text in ["0,0\n1000,0.5\n3000,1\n", "bytes,share\n0 0\n1000 50 # half\n\n3000 100\n"] {
            let sizes = sizes_of(text).expect(text);
            assert_eq!([0.25, 0.5, 0.75].map(|share| sizes.at(share)), [500, 1_000, 2_000]);
            assert_eq!(sizes.mean(), 1_250.0);
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_line() {
        for (text, said) in [
            ("", "the last line must have the share 1"),
            ("0,0\n10,0.9\n", "the last line must have the share 1"),
            ("0,0\n10\n", "line 2: must be a size in bytes"),
            ("0,0\nx,1\n", "line 2: `x,1` must be two numbers"),
            ("10,0.5\n5,1\n", "line 2: sizes and shares must not decrease"),
            ("-1,0\n5,1\n", "line 1: the size must be 0 to"),
            ("1,NaN\n", "line 1: the size must be 0 to"),
        ] {
            let error = sizes_of(text).expect_err(text);
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
