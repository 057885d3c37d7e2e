//! How long flows are: published distributions, or one size.

mod file;

use crate::link::config::ParameterError;
use crate::random::Random;
use linkmend_quantity::ByteSize;
use std::path::Path;
use std::str::FromStr;

/// Bytes of payload in a packet of the data-mining workload, which is published in packets.
const DATA_MINING_PACKET_BYTES: f64 = 1_460.0;

/// Between the name of a workload and the longest of its flows that are meant.
const UP_TO: char = ':';

/// A distribution of flow sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSizes {
    name: String,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    One(u64),
    /// Points of a cumulative distribution, by size. Sizes between two points are equally likely, or do not occur.
    Points {
        points: Vec<Point>,
        between: Between,
    },
}

/// A size in bytes, and the share of flows that are not longer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    bytes: f64,
    share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// Interpolated linearly in bytes.
    Linear,
    /// The sizes at the points are the only ones.
    Stepped,
    /// Linear in packets, of which a flow has a whole number.
    Packets,
}

/// A published workload.
struct Published {
    name: &'static str,
    source: &'static str,
    table: &'static str,
    between: Between,
    /// Largest value of the column of shares.
    all: f64,
}

/// The workloads of Figure 2 and others, each with its source.
const PUBLISHED: [Published; 8] = [
    Published {
        name: "web-search",
        source: "web search: Alizadeh et al., DCTCP, SIGCOMM 2010",
        table: include_str!("../../data/flow-sizes/web-search.txt"),
        between: Between::Linear,
        all: 100.0,
    },
    Published {
        name: "facebook-hadoop",
        source: "Facebook Hadoop: Roy et al., SIGCOMM 2015",
        table: include_str!("../../data/flow-sizes/facebook-hadoop.txt"),
        between: Between::Linear,
        all: 100.0,
    },
    Published {
        name: "alibaba-storage",
        source: "Alibaba storage 2019: Li et al., HPCC, SIGCOMM 2019",
        table: include_str!("../../data/flow-sizes/alibaba-storage.txt"),
        between: Between::Linear,
        all: 100.0,
    },
    Published {
        name: "google-all-rpc",
        source: "Google, all RPC, before 2008: Sivaram, reference 52 of LinkGuardian, SIGCOMM 2023",
        table: include_str!("../../data/flow-sizes/google-all-rpc.txt"),
        between: Between::Linear,
        all: 100.0,
    },
    Published {
        name: "google-search-rpc",
        source: "Google search RPC: Montazeri et al., Homa, SIGCOMM 2018",
        table: include_str!("../../data/flow-sizes/google-search-rpc.txt"),
        between: Between::Stepped,
        all: 1.0,
    },
    Published {
        name: "facebook-key-value",
        source: "Facebook key-value: Atikoglu et al., SIGMETRICS 2012",
        table: include_str!("../../data/flow-sizes/facebook-key-value.txt"),
        between: Between::Stepped,
        all: 1.0,
    },
    Published {
        name: "data-mining",
        source: "data mining: Greenberg et al., VL2, SIGCOMM 2009",
        table: include_str!("../../data/flow-sizes/data-mining-packets.txt"),
        between: Between::Packets,
        all: 1.0,
    },
    Published {
        name: "mice-and-elephants",
        source: "mice and elephants: 90 % and 10 % of flows (Usubütün et al., HPSR 2023); their sizes are assumed",
        table: include_str!("../../data/flow-sizes/mice-and-elephants.txt"),
        between: Between::Stepped,
        all: 100.0,
    },
];

impl FlowSizes {
    /// Flows of one size; `None` for a size of 0.
    pub fn one(bytes: u64) -> Option<FlowSizes> {
        (bytes > 0).then(|| FlowSizes { name: ByteSize(bytes).to_string(), shape: Shape::One(bytes) })
    }

    /// The names of the published workloads.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PUBLISHED.iter().map(|published| published.name)
    }

    /// The published workloads and where they come from.
    pub fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
        PUBLISHED.iter().map(|published| (published.name, published.source))
    }

    /// The published workload of this name.
    pub fn published(name: &str) -> Option<FlowSizes> {
        let published = PUBLISHED.iter().find(|published| published.name == name)?;
        let points = points(published.table, published.all);
        let shape = Shape::Points { points, between: published.between };
        Some(FlowSizes { name: name.to_owned(), shape })
    }

    /// The flows of this distribution that have at most `bytes`; `None` if it has none.
    pub fn up_to(&self, bytes: u64) -> Option<FlowSizes> {
        let name = format!("{}{UP_TO}{}", self.name, ByteSize(bytes));
        let (points, between) = match &self.shape {
            Shape::One(only) => return (*only <= bytes).then(|| self.clone()),
            Shape::Points { points, between } => (points, *between),
        };
        let unit = if between == Between::Packets { DATA_MINING_PACKET_BYTES } else { 1.0 };
        let most = if between == Between::Packets { libm::floor(bytes as f64 / unit) } else { bytes as f64 };
        let mut kept: Vec<Point> = points.iter().copied().take_while(|point| point.bytes <= most).collect();
        let last = *kept.last()?;
        if let Some(next) = points.get(kept.len())
            && between != Between::Stepped
            && last.bytes < most
        {
            let within = (most - last.bytes) / (next.bytes - last.bytes);
            kept.push(Point { bytes: most, share: last.share + (next.share - last.share) * within });
        }
        let all = kept.last()?.share;
        if all <= 0.0 {
            return None;
        }
        kept.iter_mut().for_each(|point| point.share /= all);
        Some(FlowSizes { name, shape: Shape::Points { points: kept, between } })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of all flows, if they have only one.
    pub fn only(&self) -> Option<u64> {
        match self.shape {
            Shape::One(bytes) => Some(bytes),
            Shape::Points { .. } => None,
        }
    }

    /// Sizes of as many flows, evenly over the distribution, in ascending order.
    pub fn spread(&self, flows: u32) -> Vec<u64> {
        (0..flows).map(|number| self.at((f64::from(number) + 0.5) / f64::from(flows))).collect()
    }

    /// Draws a size in bytes, at least 1.
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.at(random.uniform())
    }

    /// The size that a share of `share` of all flows is not longer than.
    pub fn at(&self, share: f64) -> u64 {
        let (points, between) = match &self.shape {
            Shape::One(bytes) => return *bytes,
            Shape::Points { points, between } => (points, *between),
        };
        let above = points.partition_point(|point| point.share <= share).min(points.len() - 1);
        let (low, high) = (points[above.saturating_sub(1)], points[above]);
        let within =
            if high.share > low.share { (share - low.share) / (high.share - low.share) } else { 1.0 };
        let bytes = match between {
            Between::Stepped => high.bytes,
            Between::Linear => low.bytes + (high.bytes - low.bytes) * within,
            Between::Packets => {
                libm::ceil(low.bytes + (high.bytes - low.bytes) * within) * DATA_MINING_PACKET_BYTES
            }
        };
        (bytes as u64).max(1)
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let (points, between) = match &self.shape {
            Shape::One(bytes) => return *bytes as f64,
            Shape::Points { points, between } => (points, *between),
        };
        let mut mean = points[0].share * points[0].bytes;
        for pair in points.windows(2) {
            let share = pair[1].share - pair[0].share;
            mean += share
                * match between {
                    Between::Stepped => pair[1].bytes,
                    // What is rounded up to whole packets gains half a packet on average, except where nothing is between.
                    Between::Linear | Between::Packets => (pair[0].bytes + pair[1].bytes) / 2.0,
                };
        }
        if between == Between::Packets { mean * DATA_MINING_PACKET_BYTES } else { mean }
    }
}

impl FromStr for FlowSizes {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<FlowSizes, ParameterError> {
        if let Some(sizes) = FlowSizes::published(text) {
            return Ok(sizes);
        }
        let bounded = text
            .split_once(UP_TO)
            .and_then(|(name, most)| FlowSizes::published(name)?.up_to(most.parse::<ByteSize>().ok()?.0));
        if let Some(sizes) = bounded {
            return Ok(sizes);
        }
        if file::is_named_by(text) {
            return file::read(Path::new(text))
                .map_err(|requirement| ParameterError::new("size", text, requirement));
        }
        let size = text.parse::<ByteSize>().ok();
        size.and_then(|size| FlowSizes::one(size.0)).ok_or_else(|| {
            let names = FlowSizes::names().collect::<Vec<_>>().join(", ");
            ParameterError::new(
                "size",
                text,
                format!("must be a size above 0, such as 24387B, or one of {names}, or one of these with a limit on the flow size, such as web-search:100kB, or a file of sizes (.csv or .txt)"),
            )
        })
    }
}

/// The points of a table: a size first and a share last in each line; a first line of one number is the mean.
fn points(table: &str, all: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for line in table.lines() {
        let mut numbers = line.split_whitespace().filter_map(|number| number.parse::<f64>().ok());
        let Some(bytes) = numbers.next() else { continue };
        if let Some(share) = numbers.next_back() {
            points.push(Point { bytes, share: share / all });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_their_published_means() {
        for (name, mean) in [
            ("web-search", 1_711_250.0),
            ("facebook-hadoop", 120_421.0),
            ("alibaba-storage", 40_870.0),
            ("google-all-rpc", 2_892.0),
            ("google-search-rpc", 440.790_7),
            // Its own steps give 187.51; the mean in its first line, 187.77, was taken before they were rounded.
            ("facebook-key-value", 187.510_7),
            ("data-mining", 5_117.0 * 1_460.0),
        ] {
            let sizes = FlowSizes::published(name).expect("it is there");
            let error = (sizes.mean() / mean - 1.0).abs();
            assert!(error < 0.001, "{name}: {} instead of {mean}", sizes.mean());
        }
    }

    /// Figure 2 of LinkGuardian's paper: "most flows in datacenters fit within a single packet".
    #[test]
    fn most_flows_of_data_centres_fit_into_a_packet() {
        for name in ["facebook-hadoop", "google-all-rpc", "google-search-rpc", "facebook-key-value"] {
            let sizes = FlowSizes::published(name).expect("it is there");
            assert!(sizes.at(0.5) <= 1_460, "{name}: half of the flows are up to {} B", sizes.at(0.5));
        }
        let sizes = FlowSizes::published("web-search").expect("it is there");
        assert!(sizes.at(0.5) > 1_460, "web search has longer ones");
    }

    #[test]
    fn drawn_sizes_have_the_mean_of_the_distribution() {
        for name in FlowSizes::names() {
            let sizes = FlowSizes::published(name).expect("it is there");
            let steps = 1_000_000;
            let total: f64 =
                (0..steps).map(|step| sizes.at((f64::from(step) + 0.5) / f64::from(steps)) as f64).sum();
            let error = (total / f64::from(steps) / sizes.mean() - 1.0).abs();
            assert!(error < 0.01, "{name}: {} instead of {}", total / f64::from(steps), sizes.mean());
        }
    }

    #[test]
    fn a_workload_may_be_cut_off() {
        for name in FlowSizes::names() {
            let all = FlowSizes::published(name).expect("it is there");
            for most in [400, 3_000, 100_000, 1_000_000] {
                let Some(sizes) = all.up_to(most) else { continue };
                assert!(
                    sizes.at(0.999_999_999) <= most && sizes.at(1.0) <= most,
                    "{name} up to {most}: {}",
                    sizes.at(1.0)
                );
                // Its flows are as likely among each other as they were among all.
                let share =
                    (0..=10_000).map(|at| f64::from(at) / 1e4).take_while(|share| all.at(*share) <= most);
                let below = share.last().expect("some are shorter");
                for at in [0.1, 0.5, 0.9] {
                    let [cut, whole] = [sizes.at(at) as f64, all.at(at * below) as f64];
                    assert!(
                        (cut - whole).abs() <= 1.0 + 0.03 * whole,
                        "{name} up to {most} at {at}: {cut}, {whole}"
                    );
                }
            }
        }
        assert_eq!(
            "web-search:100kB".parse::<FlowSizes>().map(|sizes| sizes.name().to_owned()),
            Ok("web-search:100kB".to_owned())
        );
    }

    #[test]
    fn sizes_are_read_from_names_and_from_sizes() {
        assert_eq!("24387B".parse::<FlowSizes>().map(|sizes| sizes.at(0.3)), Ok(24_387));
        assert_eq!("web-search".parse::<FlowSizes>().map(|sizes| sizes.at(0.15)), Ok(10_000));
        for wrong in ["0B", "24387", "websearch", "web-search:", "1kB:2kB", ""] {
            let error = wrong.parse::<FlowSizes>().expect_err("refused").to_string();
            assert!(error.contains("web-search") && error.contains(wrong), "{error}");
        }
    }
}
