//! Statistics of generated traces, within five standard deviations.

use linkmend_fleet::trace::{
    LossDistribution, LossEvent, SharedFailures, Trace, TraceParameters, WithinBucket,
};
use linkmend_topology::{FabricParameters, LinkId, SwitchId, Topology, leaf_spine};
use std::collections::{BTreeMap, BTreeSet};

const HOUR_S: u64 = 3600;

/// 4,800 links: ToRs of 4, fabric switches of 60 and spines of 20.
fn topology() -> Topology {
    let shape =
        FabricParameters { pods: 20, tors_per_pod: 30, spines_per_plane: 30, ..FabricParameters::PAPER };
    shape.build().expect("the parameters are in range")
}

/// Links fail every 1,000 hours, for 20,000 hours.
fn parameters(seed: u64) -> TraceParameters {
    TraceParameters { length_s: 20_000 * HOUR_S, mttf_hours: 1000.0, ..TraceParameters::paper(seed) }
}

fn failures_per_link(trace: &Trace, topology: &Topology) -> Vec<f64> {
    let mut failures = vec![0.0; topology.link_count()];
    trace.events().iter().for_each(|event| failures[event.link.index()] += 1.0);
    failures
}

fn assert_near(found: f64, expected: f64, deviation: f64, what: &str) {
    assert!((found - expected).abs() < 5.0 * deviation, "{what}: {found}, not {expected} +- {deviation}");
}

#[test]
fn failures_are_a_poisson_process_on_every_link() {
    let topology = topology();
    let trace = parameters(1).generate(&topology);
    let expected = 20.0 * topology.link_count() as f64;
    assert_near(trace.events().len() as f64, expected, expected.sqrt(), "failures");
    // Counts for each link: chi-square with as many degrees of freedom as links.
    let degrees = topology.link_count() as f64;
    let counts = failures_per_link(&trace, &topology);
    let spread: f64 = counts.iter().map(|count| (count - 20.0) * (count - 20.0) / 20.0).sum();
    assert_near(spread, degrees, (2.0 * degrees).sqrt() * 1.02, "spread over links");
    // Counts per twentieth of the time.
    let mut parts = [0.0; 20];
    for event in trace.events() {
        parts[(event.time_s / (1000 * HOUR_S)) as usize] += 1.0;
    }
    parts.iter().for_each(|&part| assert_near(part, degrees, degrees.sqrt(), "failures in 1,000 hours"));
}

#[test]
fn a_year_of_the_paper_has_as_many_failures_as_the_issue_says() {
    let topology = FabricParameters::PAPER.build().expect("the parameters are in range");
    let trace = TraceParameters::paper(1).generate(&topology);
    let expected = 100_224.0 * 8760.0 / 10_000.0;
    assert_near(trace.events().len() as f64, expected, expected.sqrt(), "failures");
    let last = trace.events().last().expect("links fail");
    assert!(last.time_s < 365 * 86_400 + 1000);
    assert!(trace.events().is_sorted_by(|one, other| one.time_s < other.time_s));
}

#[test]
fn loss_rates_have_the_shares_of_table_1() {
    let topology = topology();
    let buckets = [(1e-8, 1e-5, 0.4723), (1e-5, 1e-4, 0.1843), (1e-4, 1e-3, 0.2166), (1e-3, 1e-2, 0.1267)];
    for within in [WithinBucket::LogUniform, WithinBucket::Uniform] {
        let loss = LossDistribution::table_1(within);
        let trace = TraceParameters { loss, ..parameters(2) }.generate(&topology);
        let all = trace.events().len() as f64;
        let mut found = 0.0;
        for (from, to, share) in buckets {
            // The published shares sum to 99.99 %.
            let share = share / 0.9999;
            let rates =
                trace.events().iter().map(|event| event.loss_rate).filter(|rate| (from..to).contains(rate));
            // The position of a rate in its bucket is uniform from 0 to 1.
            let places: Vec<f64> = rates
                .map(|rate| match within {
                    WithinBucket::LogUniform => libm::log(rate / from) / libm::log(to / from),
                    WithinBucket::Uniform => (rate - from) / (to - from),
                })
                .collect();
            let count = places.len() as f64;
            found += count;
            assert_near(count, all * share, (all * share * (1.0 - share)).sqrt(), "rates in a bucket");
            for quarter in 0..4 {
                let inside = places.iter().filter(|place| (*place * 4.0) as u32 == quarter).count() as f64;
                assert_near(
                    inside,
                    count / 4.0,
                    (count * 3.0 / 16.0).sqrt(),
                    "rates in a quarter of a bucket",
                );
            }
        }
        assert_eq!(found, all);
    }
}

/// By renewal theory, a link has length/mean + (variance/mean^2 - 1)/2 failures.
#[test]
fn weibull_times_of_shape_2_have_the_mean_and_variance_they_should() {
    let topology = topology();
    let trace = TraceParameters { weibull_shape: 2.0, ..parameters(3) }.generate(&topology);
    let links = topology.link_count() as f64;
    let variance = 4.0 / std::f64::consts::PI - 1.0;
    let expected = links * (20.0 + (variance - 1.0) / 2.0);
    assert_near(trace.events().len() as f64, expected, (links * variance * 20.0).sqrt(), "failures");
    let counts = failures_per_link(&trace, &topology);
    let mean = counts.iter().sum::<f64>() / links;
    let spread = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / links;
    assert!((spread / (variance * 20.0) - 1.0).abs() < 0.15, "variance {spread}, not {}", variance * 20.0);
}

/// Half of the links fail before scale * ln(2)^(1/shape), where scale = mean / gamma(1 + 1/shape).
#[test]
fn first_failures_have_the_weibull_median() {
    let topology = topology();
    let links = topology.link_count() as f64;
    for (shape, gamma) in [(0.5, 2.0), (1.0, 1.0), (2.0, 0.886_226_925_452_758), (3.0, 0.892_979_511_569_249)]
    {
        let trace = TraceParameters { weibull_shape: shape, ..parameters(4) }.generate(&topology);
        let median_s = 1000.0 * HOUR_S as f64 / gamma * libm::pow(std::f64::consts::LN_2, 1.0 / shape);
        let early = trace.events().iter().filter(|event| (event.time_s as f64) < median_s);
        let failed: BTreeSet<LinkId> = early.map(|event| event.link).collect();
        assert_near(
            failed.len() as f64,
            links / 2.0,
            (links / 4.0).sqrt(),
            "links that failed by the median",
        );
    }
}

/// Failures grouped by their loss rate, which all failures of one cause share.
fn causes(trace: &Trace) -> BTreeMap<u64, Vec<LossEvent>> {
    let mut causes: BTreeMap<u64, Vec<LossEvent>> = BTreeMap::new();
    for event in trace.events() {
        causes.entry(event.loss_rate.to_bits()).or_default().push(*event);
    }
    causes
}

#[test]
fn shared_failures_take_neighbours_and_keep_the_rate_of_every_link() {
    let topology = topology();
    let shared = SharedFailures { share: 0.2, links: 4 };
    let trace = TraceParameters { shared: Some(shared), ..parameters(5) }.generate(&topology);
    let expected = 20.0 * topology.link_count() as f64;
    // The variance is that of a compound Poisson process: the mean square of a cause's size over its mean.
    let deviation = (expected * (0.8 + 0.2 * 16.0) / (0.8 + 0.2 * 4.0)).sqrt();
    assert_near(trace.events().len() as f64, expected, deviation, "failures");
    let counts = failures_per_link(&trace, &topology);
    let lower = 20 * 30 * 4;
    for half in [&counts[..lower], &counts[lower..]] {
        let expected = 20.0 * half.len() as f64;
        assert_near(half.iter().sum(), expected, deviation, "failures of a layer");
    }
    let causes = causes(&trace);
    let together = causes.values().filter(|events| events.len() > 1).count() as f64;
    let all = causes.len() as f64;
    assert_near(together, all * 0.2, (all * 0.2 * 0.8).sqrt(), "shared causes");
    for events in causes.values().filter(|events| events.len() > 1) {
        let links: BTreeSet<LinkId> = events.iter().map(|event| event.link).collect();
        assert_eq!((events.len(), links.len()), (4, 4), "{events:?}");
        let ends = |event: &LossEvent| -> BTreeSet<SwitchId> {
            let link = topology.link(event.link);
            BTreeSet::from([link.lower, link.upper])
        };
        let common = events.iter().map(ends).reduce(|one, other| &one & &other);
        assert!(!common.expect("there are events").is_empty(), "{events:?} have no switch in common");
        assert!(events.last().expect("there are events").time_s - events[0].time_s < 60);
    }
}

/// A leaf has 2 links, a spine 50. A shared failure takes 10 links, but a leaf has only 2.
#[test]
fn shared_failures_larger_than_a_switch_keep_the_mean_rate() {
    let topology = leaf_spine(50, 2, 1).expect("the parameters are in range");
    let shared = SharedFailures { share: 0.5, links: 10 };
    let parameters = TraceParameters { shared: Some(shared), length_s: 1_000_000 * HOUR_S, ..parameters(6) };
    let failures = parameters.generate(&topology).events().len() as f64;
    // Causes of size 1, 2 and 10.
    let (mean, square): (f64, f64) = (0.5 + 0.25 * 2.0 + 0.25 * 10.0, 0.5 + 0.25 * 4.0 + 0.25 * 100.0);
    assert_near(failures, 1e5, (1e5 * square / mean).sqrt(), "failures");
}

#[test]
fn a_trace_is_its_seed() {
    let topology = topology();
    assert_eq!(parameters(7).generate(&topology), parameters(7).generate(&topology));
    assert_ne!(parameters(7).generate(&topology), parameters(8).generate(&topology));
}

#[test]
fn an_event_in_an_occupied_second_moves_to_the_next_free_one() {
    let event = |time_s, link| LossEvent { time_s, link: LinkId(link), loss_rate: 0.5 };
    let times = [3, 3, 3, 4, 10, 10, 11, 20];
    let trace = Trace::new((0..).zip(times).map(|(link, time_s)| event(time_s, link)).collect());
    let placed = [3, 4, 5, 6, 10, 11, 12, 20];
    let expected: Vec<LossEvent> = (0..).zip(placed).map(|(link, time_s)| event(time_s, link)).collect();
    assert_eq!(trace.events(), expected);
}
