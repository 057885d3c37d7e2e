//! Describes how the machine disturbed the demo.

use linkmend_lab::demo::{DemoResult, NoiseSummary};
use linkmend_report::quantity;

/// One sentence about the whole demo.
pub fn summary(result: &DemoResult) -> String {
    let all = result.noise.all();
    let repeated = match all.repeated {
        0 => String::new(),
        count => format!(", {count} repeated"),
    };
    format!("{} of {} slots disturbed{repeated} ({})", all.disturbed, all.slots, worst(&all))
}

/// A sentence for each experiment that the machine disturbed too much.
pub fn complaints(result: &DemoResult) -> Vec<String> {
    let noise = &result.noise;
    let experiments = [
        ("Goodput", noise.goodput),
        ("Flow completion times", noise.fct),
        ("Stress test", noise.stress),
        ("Timeline", noise.timeline),
    ];
    let said = |(name, calm): (&str, NoiseSummary)| {
        calm.too_disturbed.then(|| {
            format!(
                "{name}: this machine was too disturbed for meaningful results: {} of {} slots, after {} repeats \
                 ({}). Try again when it is less busy.",
                calm.disturbed,
                calm.slots,
                calm.repeated,
                worst(&calm)
            )
        })
    };
    experiments.into_iter().filter_map(said).collect()
}

fn worst(calm: &NoiseSummary) -> String {
    let late_ns = calm.worst.worst_wakeup_ns.max(calm.worst.worst_loop_ns);
    format!(
        "at worst {} of a slot stolen, a wake-up {} late, an ordinary thread {} without a processor",
        quantity::percent(calm.worst.stolen_share),
        quantity::duration(late_ns as f64 / 1e9),
        quantity::duration(calm.worst.worst_thread_ns as f64 / 1e9)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::commands::demo::tables;
    use linkmend_lab::demo::{DemoOptions, Noise, Part, Timeline};

    pub(in crate::commands::demo) fn result(noise: Noise) -> DemoResult {
        DemoResult {
            version: String::new(),
            options: DemoOptions::standard(Part::Link),
            ports: String::new(),
            kernel: String::new(),
            seconds: 90.0,
            noise,
            stress: Vec::new(),
            fct: Vec::new(),
            goodput: Vec::new(),
            timeline: Timeline { corruption_at_s: 1.0, protection_at_s: 2.0, samples: Vec::new() },
        }
    }

    #[test]
    fn a_calm_machine_is_summed_up_in_a_line() {
        let calm = NoiseSummary { slots: 20, repeated: 1, ..NoiseSummary::default() };
        let result =
            result(Noise { stress: calm, fct: NoiseSummary { disturbed: 3, ..calm }, ..Noise::default() });
        assert!(
            summary(&result).starts_with("3 of 40 slots disturbed, 2 repeated (at worst"),
            "{}",
            summary(&result)
        );
        assert_eq!((complaints(&result), tables::all(&result).len()), (Vec::new(), 3));
    }

    #[test]
    fn an_experiment_that_was_too_disturbed_has_a_sentence_in_place_of_its_table() {
        let disturbed = NoiseSummary {
            slots: 20,
            repeated: 10,
            disturbed: 14,
            too_disturbed: true,
            ..NoiseSummary::default()
        };
        let result = result(Noise { stress: disturbed, ..Noise::default() });
        let [complaint] = &complaints(&result)[..] else { panic!("one") };
        assert!(complaint.starts_with(
            "Stress test: this machine was too disturbed for meaningful results: \
         14 of 20 slots"
        ));
        let tables = tables::all(&result);
        assert_eq!(tables.len(), 2);
        assert!(tables.iter().all(|table| !table.to_text(110, false).contains("Stress test")));
    }
}
