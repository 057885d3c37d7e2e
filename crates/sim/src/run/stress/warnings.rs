//! Warnings about what was too slow or too small in a run.

use super::report::StressReport;
use crate::link::scheme::LlrConfig;
use crate::run::flows::Recovery;
use crate::run::links::LinksConfig;
use linkmend_llr::config::FrameAction;
use linkmend_quantity::ByteSize;

/// Share of the time for which the Tx buffer may be full before that is worth a word, in percent.
const FULL_PCT_MAX: f64 = 1.0;

/// A FLUSH that nothing ends: what happened to the other frames.
fn stopped_for_good(llr: &LlrConfig, report: &StressReport) -> Option<String> {
    let count = |name: &str| {
        let counter = report.counters.iter().find(|counter| counter.name == name);
        counter.map_or(0, |counter| counter.sender)
    };
    let given_up = count("frames given up");
    if given_up == 0 || llr.registers.re_init_on_discard {
        return None;
    }
    let numbered = count("TX_OK").saturating_sub(count("replayed frames"));
    let after = match llr.registers.flush_action {
        FrameAction::BestEffort => {
            format!("and sent {} frames without protection", report.frames_sent.saturating_sub(numbered))
        }
        FrameAction::Block => "and sent nothing from then on".to_owned(),
        FrameAction::Discard => format!("and discarded {} frames", count("TX_DISCARD")),
    };
    Some(format!(
        "LLR entered FLUSH, gave up {given_up} frames, {after}; set `re_init_on_discard`, or raise `replay_count_max` or \
         `data_age_timeout_ns`"
    ))
}

impl LinksConfig {
    /// Warnings about what was too slow or too small in a run.
    pub(super) fn warnings_of(&self, report: &StressReport) -> Vec<String> {
        let mut warnings = self.links[0].warnings();
        let fast_enough = warnings.is_empty();
        if fast_enough
            && report.tx_buffer_full_pct > FULL_PCT_MAX
            && let Some(protocol) = self.links[0].protocol_config()
        {
            let name = if self.links[0].recirculates() { "`recirculation-buffer`" } else { "the buffer" };
            warnings.push(format!(
                "the Tx buffer was full for {:.0} % of the time, and frames waited for acknowledgements: {name} holds {}, \
                 and `window` {} frames",
                report.tx_buffer_full_pct,
                ByteSize(protocol.window_bytes),
                protocol.window_frames
            ));
        }
        if fast_enough {
            warnings.extend(self.links[0].shortfalls());
        }
        if let Recovery::Llr(llr) = &self.recovery {
            warnings.extend(self.links[0].llr_shortfall(llr));
            warnings.extend(stopped_for_good(llr, report));
        }
        warnings
    }

    /// Share of the time in which the Tx buffer had no room for another frame, in percent.
    pub(super) fn full_pct(&self, levels: &[(u64, f64)]) -> f64 {
        let Some(protocol) = self.links[0].protocol_config() else { return 0.0 };
        let frame = u64::from(self.links[0].frame_bytes);
        let room = protocol.window_bytes.min(u64::from(protocol.window_frames) * frame);
        // Levels are rounded up to whole frames.
        let full = levels.iter().filter(|(bytes, _)| bytes + frame > room);
        // Nothing was recorded of a run that was too short.
        full.map(|(_, share)| 100.0 * share)
            .filter(|share| share.is_finite())
            .fold(0.0, |sum, share| sum + share)
    }
}
