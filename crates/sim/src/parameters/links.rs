//! Links in a row, side by side, in pairs or alone at line rate, and what generators send over them.

use super::lists::{Hop, Hops, PhaseText, Phases};
use super::table::RunParameters;
use crate::corruption::Corruption;
use crate::flows::{HandOffKind, SchemeKind};
use crate::link::config::{Buffering, Copies, ParameterError, check};
use crate::link::{LinkConfig, PORT_QUEUE, QueueLimits};
use crate::links::{Course, Layout, LinksConfig, Pair, Phase};
use crate::network::Cuts;
use crate::time::Time;
use linkmend_quantity::{BitRate, ByteSize, Count, Distance, LossRate, Span};
use std::path::Path;
use std::time::Duration;

/// Default number of frames, of those of a stress run, and of failures.
const FRAMES_DEFAULT: u64 = 100_000;
const STRESS_FRAMES_DEFAULT: u64 = 10_000_000;
const CUTS_DEFAULT: u64 = 50;

impl RunParameters {
    /// The run of generators over links that they describe. Relative paths start from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn links(&self, folder: &Path) -> Result<LinksConfig, ParameterError> {
        let requirement = "must be none, ordered or non-blocking between such links";
        let scheme = self.scheme();
        let has_linkguardian = matches!(scheme, SchemeKind::Ordered | SchemeKind::NonBlocking);
        check(has_linkguardian || scheme == SchemeKind::None, "scheme", scheme.name(), requirement)?;
        let layout = self.layout()?;
        let (row, course) = (self.row(&layout, folder)?, self.course()?);
        if !matches!(layout, Layout::Row) || course.is_some() {
            self.refuse(&["hops", "spacing"], "cannot be combined with other links or `phases`")?;
        }
        if matches!(layout, Layout::Pair(_)) || course.is_some() {
            self.refuse(&["frames"], "must follow from `phases` or `failure-every`; remove it")?;
        }
        if self.spacing.is_some() {
            self.refuse(&["load", "non-blocking-load", "reverse-load"], "cannot be combined with `spacing`")?;
        }
        let config = LinksConfig {
            seed: self.seed.unwrap_or(1),
            load: self.load.map_or(1.0, |load| load.0),
            non_blocking_load: self.non_blocking_load.map_or(0.0, |load| load.0),
            reverse_load: self.reverse_load.map_or(0.0, |load| load.0),
            spacing: self.spacing.map(Time::from),
            format: self.format,
            fixed_dummies: self.fixed_dummies.unwrap_or(false),
            layout,
            course,
            ..LinksConfig::row(row, self.frames.map_or(FRAMES_DEFAULT, |frames| frames.0))
        };
        config.validate().map_err(super::link::in_terms_of_files)?;
        Ok(config)
    }

    fn layout(&self) -> Result<Layout, ParameterError> {
        if self.parallel_links.is_some() {
            self.refuse(&["second-link"], "cannot be combined with `parallel-links`")?;
            return Ok(Layout::Parallel { ports: self.recirculation_ports.unwrap_or(1) as usize });
        }
        self.refuse(&["recirculation-ports"], "needs `parallel-links`")?;
        let Some(second) = self.beside()? else {
            self.refuse(
                &["failure-every", "down-for", "detection", "hand-off", "cuts"],
                "needs `second-link`",
            )?;
            return Ok(Layout::Row);
        };
        self.refuse(&["non-blocking-load", "format"], "cannot be combined with `second-link`")?;
        let cuts = second
            .cuts
            .ok_or_else(|| ParameterError::new("failure-every", "", "must be given with `second-link`"))?;
        let hand_off = self.hand_off.unwrap_or_default();
        let requirement = "must be none or sqr: link ends retransmit what is not acknowledged anyway";
        check(hand_off != HandOffKind::Acknowledged, "hand-off", hand_off.name(), requirement)?;
        Ok(Layout::Pair(Pair {
            cuts: Cuts { failures_max: self.cuts.map_or(CUTS_DEFAULT, |cuts| cuts.0), ..cuts },
            silence: second.silence,
            return_after: second.return_after,
            sqr: hand_off == HandOffKind::Sqr,
        }))
    }

    /// The links, in their order.
    fn row(&self, layout: &Layout, folder: &Path) -> Result<Vec<LinkConfig>, ParameterError> {
        let buffering = match layout {
            Layout::Row => self.buffering,
            // The run is about how links share the port, at every speed.
            Layout::Parallel { .. } => self.buffering.or(Some(Buffering::Recirculating)),
            // A session over two ports has one buffer.
            Layout::Pair(_) => self.buffering.or(Some(Buffering::Direct)),
        };
        let common = RunParameters { buffering, ..self.clone() };
        let hop = |hop: &Hop| {
            let scheme = if hop.off { Some(SchemeKind::None) } else { self.scheme };
            let loss = hop.loss.or(self.loss);
            RunParameters { speed: Some(hop.speed), loss, scheme, ..common.clone() }.between(layout, folder)
        };
        match (&self.hops, &self.parallel_links) {
            (Some(Hops::Listed(hops)), _) => hops.iter().map(hop).collect(),
            (Some(Hops::Alike(count)), _) | (None, Some(count)) => {
                layout.check_count(*count as usize)?;
                Ok(vec![common.between(layout, folder)?; *count as usize])
            }
            (None, None) => Ok(vec![common.between(layout, folder)?]),
        }
    }

    /// One of the links.
    fn between(&self, layout: &Layout, folder: &Path) -> Result<LinkConfig, ParameterError> {
        let mut link = self.link(folder)?;
        let both_ways = self.reverse_load.is_some() || matches!(layout, Layout::Pair(_));
        if both_ways && self.reverse_loss.is_none() {
            link.reverse_corruption = link.corruption.clone();
        }
        let QueueLimits { class_bytes, ecn_bytes, .. } = PORT_QUEUE;
        link.queue = QueueLimits {
            class_bytes: self.queue.map_or(class_bytes, |size| size.0),
            ecn_bytes: self.ecn.map_or(ecn_bytes, |size| size.0),
            ..PORT_QUEUE
        };
        Ok(link)
    }

    fn course(&self) -> Result<Option<Course>, ParameterError> {
        const OF_PHASES: [&str; 6] = [
            "sample",
            "fallback-ordered-loss-max",
            "fallback-non-blocking-loss-max",
            "fallback-return-hold",
            "fallback-dormant-hold",
            "loss-window",
        ];
        let Some(Phases(phases)) = &self.phases else {
            self.refuse(&OF_PHASES, "needs `phases`")?;
            return Ok(None);
        };
        self.refuse(
            &["loss", "mean-burst", "losses", "bit-error-rate", "attenuation"],
            "is set by `phases`",
        )?;
        let phase =
            |PhaseText(duration, loss): &PhaseText| Phase { duration: Time::from(*duration), loss: loss.0 };
        let usual = Course::of(phases.iter().map(phase).collect());
        let or = |given: Option<Span>, usual: Time| given.map_or(usual, Time::from);
        Ok(Some(Course {
            sample: or(self.sample, usual.sample),
            ordered_loss_max: self.fallback_ordered_loss_max.map_or(usual.ordered_loss_max, |loss| loss.0),
            non_blocking_loss_max: self
                .fallback_non_blocking_loss_max
                .map_or(usual.non_blocking_loss_max, |loss| loss.0),
            return_hold: or(self.fallback_return_hold, usual.return_hold),
            dormant_hold: or(self.fallback_dormant_hold, usual.dormant_hold),
            loss_window_frames: self.loss_window.unwrap_or(usual.loss_window_frames),
            ..usual
        }))
    }

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
            ..LinksConfig::row(vec![link], self.frames.map_or(STRESS_FRAMES_DEFAULT, |frames| frames.0))
        };
        config.validate_stress().map_err(super::link::in_terms_of_files)?;
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
