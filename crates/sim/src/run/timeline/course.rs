//! What happens to the link of a timeline, and when.

use super::config::TimelineConfig;
use crate::corruption::Corruption;
use crate::link::Observer;
use crate::link::config::ParameterError;
use crate::network::{Hosts, Network, OPENING_MAX};
use crate::random::Random;
use crate::run::flows::FlowSchemes;
use crate::time::Time;

/// What happens to the link, in time since the beginning.
pub(super) struct Course {
    began: Time,
}

/// How a course ended.
pub(super) enum Ended {
    Stopped,
    Done {
        /// When the handshake of the link's protection had ended, since the beginning.
        protected_at: Option<Time>,
    },
}

impl Course {
    /// Begins with a link that corrupts nothing and is not protected. `None` if `wanted` ended it.
    pub(super) fn begin<O: Observer<FlowSchemes>, H: Hosts>(
        config: &TimelineConfig,
        network: &mut Network<O, FlowSchemes, H>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Course>, ParameterError> {
        let port = config.port();
        network.set_corruption(port, &Corruption::None, Random::new(config.flows.seed, "no corruption"))?;
        let link = config.described()?;
        let goes_on = network.open_sessions(wanted).goes_on(|_| link.not_opened(OPENING_MAX))?;
        Ok(goes_on.then(|| Course { began: network.now() }))
    }

    /// Runs to the end. `look` is called after each event, `take` at the end of each sample with that time and the sample's
    /// length.
    pub(super) fn run<O: Observer<FlowSchemes>, H: Hosts>(
        &self,
        config: &TimelineConfig,
        network: &mut Network<O, FlowSchemes, H>,
        wanted: &mut dyn FnMut() -> bool,
        look: &impl Fn(&mut Network<O, FlowSchemes, H>),
        take: &mut impl FnMut(&mut Network<O, FlowSchemes, H>, Time, Time),
    ) -> Result<Ended, ParameterError> {
        let (port, seed) = (config.port(), config.flows.seed);
        let mut protected_at = None;
        let mut changes = vec![(config.protection_at, true), (config.corruption_at, false)];
        let mut begin = Time::ZERO;
        for sample in 1..=config.samples() {
            let end = Time((sample * config.sample.0).min(config.duration().0));
            while let Some((at, protects)) = changes.pop_if(|(at, _)| *at < end) {
                run_until(network, self.began + at, look, |_| true);
                if protects {
                    network.with_scheme(port, FlowSchemes::protect);
                    run_until(network, self.began + end, look, |network| {
                        !network.scheme(port).is_protecting()
                    });
                    let protects = network.scheme(port).is_protecting();
                    protected_at = protects.then(|| network.now() - self.began);
                } else {
                    let random = Random::new(seed, "corruption of the timeline");
                    network.set_corruption(port, &config.flows.link.corruption, random)?;
                }
            }
            run_until(network, self.began + end, look, |_| true);
            take(network, end, end - begin);
            begin = end;
            if !wanted() {
                return Ok(Ended::Stopped);
            }
        }
        Ok(Ended::Done { protected_at })
    }
}

/// Runs until `last`, at most as long as `goes_on`; `look` is called after each event.
fn run_until<O: Observer<FlowSchemes>, H: Hosts>(
    network: &mut Network<O, FlowSchemes, H>,
    last: Time,
    look: &impl Fn(&mut Network<O, FlowSchemes, H>),
    goes_on: impl Fn(&Network<O, FlowSchemes, H>) -> bool,
) {
    let goes_on = |network: &mut Network<O, FlowSchemes, H>| {
        look(network);
        goes_on(network)
    };
    network.run_while(last, goes_on, &mut || true);
    look(network);
}
