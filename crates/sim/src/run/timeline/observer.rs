//! Watches the corrupting link.

use super::config::TimelineConfig;
use crate::link::{Observer, OnWire, PortId, Sent};
use crate::measure::TimeSeries;
use crate::run::flows::{FlowNetwork, FlowObserver, FlowSchemes};
use crate::time::Time;

/// Levels at the corrupting link over time, and what is counted of it.
#[derive(Debug)]
pub(super) struct LinkWatch {
    port: PortId,
    /// Bytes in the normal queue before the link, in the Tx buffer, and in the Rx buffer at its other end.
    pub(super) queue: TimeSeries,
    pub(super) tx: TimeSeries,
    pub(super) rx: TimeSeries,
    queued: u64,
    /// How often the sender has paused, for how long, and since when it does.
    pub(super) pauses: u64,
    pub(super) paused: Time,
    paused_since: Option<Time>,
    /// Copies that the sender has sent.
    pub(super) copies: u64,
}

impl LinkWatch {
    /// Watches from `began` on.
    pub(super) fn new(config: &TimelineConfig, began: Time) -> LinkWatch {
        // One sample more, so that intervals never double.
        let series = || TimeSeries::new(began, config.sample, config.samples() as usize + 3);
        LinkWatch {
            port: config.port(),
            queue: series(),
            tx: series(),
            rx: series(),
            queued: 0,
            pauses: 0,
            paused: Time::ZERO,
            paused_since: None,
            copies: 0,
        }
    }

    /// Brings everything that lasts up to date.
    pub(super) fn advance(&mut self, now: Time) {
        for series in [&mut self.queue, &mut self.tx, &mut self.rx] {
            series.advance(now);
        }
        if let Some(since) = self.paused_since.replace(now) {
            self.paused += now - since;
        } else {
            self.paused_since = None;
        }
    }
}

impl Observer<FlowSchemes> for LinkWatch {
    fn sent(&mut self, port: PortId, _: Time, sent: &Sent<'_, FlowSchemes>) {
        if port == self.port
            && matches!(sent.frame, OnWire::Protected { .. })
            && sent.frame.original().is_none()
        {
            self.copies += 1;
        }
    }

    fn tx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        if port == self.port {
            self.tx.record(at, bytes);
        }
    }

    fn rx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        if port == self.port.peer() {
            self.rx.record(at, bytes);
        }
    }

    fn pause_obeyed(&mut self, port: PortId, at: Time, paused: bool) {
        if port != self.port {
            return;
        }
        if paused {
            self.pauses += 1;
            self.paused_since = Some(at);
        } else if let Some(since) = self.paused_since.take() {
            self.paused += at - since;
        }
    }
}

impl FlowObserver for LinkWatch {
    #[inline]
    fn after_event(network: &mut FlowNetwork<Self>) {
        let port = network.observer.port;
        let queued = network.queued_bytes(port);
        if queued != network.observer.queued {
            let now = network.now();
            network.observer.queued = queued;
            network.observer.queue.record(now, queued);
        }
    }
}
