//! What the machine took from the demo, in words.

use linkmend_lab::demo::{Calm, DemoResult};
use linkmend_report::quantity;

/// One sentence about all of it.
pub fn summary(result: &DemoResult) -> String {
    let all = result.noise.all();
    let repeated = match all.repeated {
        0 => String::new(),
        count => format!(", {count} repeated"),
    };
    format!("{} of {} slots disturbed{repeated} ({})", all.disturbed, all.slots, worst(&all))
}

/// A sentence for each experiment about which nothing can be said.
pub fn complaints(result: &DemoResult) -> Vec<String> {
    let noise = &result.noise;
    let experiments = [
        ("Goodput", noise.goodput),
        ("Flow completion times", noise.fct),
        ("Stress test", noise.stress),
        ("Timeline", noise.timeline),
    ];
    let said = |(name, calm): (&str, Calm)| {
        calm.too_disturbed.then(|| {
            format!(
                "{name}: this machine was too disturbed to tell: {} of {} slots, after {} repeats ({}). Try again when it \
                 is calmer.",
                calm.disturbed,
                calm.slots,
                calm.repeated,
                worst(&calm)
            )
        })
    };
    experiments.into_iter().filter_map(said).collect()
}

fn worst(calm: &Calm) -> String {
    let late_ns = calm.worst.worst_wakeup_ns.max(calm.worst.worst_loop_ns);
    format!(
        "at worst {} of a slot stolen, a wake-up {} late",
        quantity::percent(calm.worst.stolen_share),
        quantity::duration(late_ns as f64 / 1e9)
    )
}
