//! Line-rate traffic over one link.

use super::link::in_terms_of_files;
use super::table::RunParameters;
use crate::corruption::Corruption;
use crate::link::config::{Copies, ParameterError};
use crate::links::LinksConfig;
use linkmend_quantity::{BitRate, ByteSize, Count, Distance, LossRate, Span};
use std::path::Path;
use std::time::Duration;

/// Default number of frames of a run.
const FRAMES_DEFAULT: u64 = 10_000_000;

impl RunParameters {
    /// The run of line-rate traffic that they describe. Relative paths start from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn line_rate(&self, folder: &Path) -> Result<LinksConfig, ParameterError> {
        let link = self.link(folder)?;
        let config = LinksConfig {
            seed: self.seed.unwrap_or(1),
            recovery: self.recovery(&link)?,
            copy_loss: self.copy_loss.map(|loss| loss.0),
            full: self.full.unwrap_or(false),
            ..LinksConfig::row(vec![link], self.frames.map_or(FRAMES_DEFAULT, |frames| frames.0))
        };
        config.validate_stress().map_err(in_terms_of_files)?;
        Ok(config)
    }

    /// The same parameters with every value written out that `config`, which was made from them, takes from the paper.
    #[must_use]
    pub fn written_out(&self, config: &LinksConfig) -> RunParameters {
        let link = &config.links[0];
        let switch = &link.switch;
        let mut all = RunParameters {
            speed: Some(BitRate(link.rate.bits_per_second())),
            frames: Some(Count(config.frames)),
            frame_size: Some(ByteSize(u64::from(link.frame_bytes))),
            distance: Some(Distance(u64::from(link.distance_m))),
            seed: Some(config.seed),
            scheme: Some(self.scheme()),
            reverse_loss: Some(self.reverse_loss.unwrap_or(LossRate(0.0))),
            buffering: Some(link.buffering),
            egress_latency: Some(span(switch.egress_latency_ns)),
            ingress_latency: Some(span(switch.ingress_latency_ns)),
            pipeline_latency: Some(switch.pipeline_latency_ns).filter(|ns| *ns > 0).map(span),
            loop_latency: Some(span(switch.loop_latency_ns)),
            timer_interval: Some(span(switch.timer_interval_ns)),
            recirculation_speed: Some(BitRate(switch.recirculation_rate.bits_per_second())),
            recirculation_buffer: Some(ByteSize(switch.recirculation_bytes)),
            pipe_capacity: Some(Count(switch.pipe_packets_per_second)),
            no_backpressure: Some(self.no_backpressure.unwrap_or(false)),
            full: Some(config.full),
            ..self.clone()
        };
        match link.corruption {
            Corruption::None => all.loss = Some(LossRate(0.0)),
            Corruption::Iid { loss } | Corruption::GilbertElliott { loss, .. } => {
                all.loss = Some(LossRate(loss));
            }
            _ => {}
        }
        if let Some(protection) = &link.protection {
            match protection.copies {
                Copies::Fixed(copies) => all.copies = Some(copies),
                Copies::Target { loss } => all.target = Some(LossRate(loss)),
            }
            all.recovery_timeout = Some(span(protection.recovery_timeout_ns));
            all.dummy_copies = Some(protection.dummy_copies);
            all.window = Some(protection.window_frames);
            all.rounds = Some(protection.max_rounds);
            all.pause_threshold = protection.backpressure.map(|limits| ByteSize(limits.pause_bytes));
            all.resume_threshold = protection.backpressure.map(|limits| ByteSize(limits.resume_bytes));
        }
        all
    }
}

fn span(nanoseconds: u64) -> Span {
    Span(Duration::from_nanos(nanoseconds))
}
