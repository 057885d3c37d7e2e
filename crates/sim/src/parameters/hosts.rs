//! Hosts of the testbed, and how those of a run differ from them.

use super::table::RunParameters;
use crate::host::{HostLatency, HostsConfig, RdmaConfig, Transport};
use crate::link::config::{ParameterError, check};
use crate::run::flows::{RdmaMechanisms, TransportKind};
use crate::time::Time;
use linkmend_transport::{Nanos, roce};
use std::sync::Arc;

/// Most that a host may add to the time of a frame, a second.
const LATENCY_MAX: Time = Time::from_nanos(1_000_000_000);

impl RunParameters {
    /// The hosts. DCQCN is for links of this rate.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or that their transport does not have.
    pub(super) fn hosts(&self, bits_per_second: u64) -> Result<HostsConfig, ParameterError> {
        let kind = self.transport.unwrap_or(TransportKind::Dctcp);
        let mut hosts = kind.hosts();
        if let Some(recovery) = self.host_recovery {
            hosts = recovery.of(hosts)?;
        }
        if let (TransportKind::RdmaDcqcn, Transport::Roce(card)) = (kind, &mut hosts.transport) {
            Arc::make_mut(card).dcqcn = Some(roce::Dcqcn::of_paper(bits_per_second));
        }
        self.set_rdma(&mut hosts)?;
        self.set_latency(&mut hosts)?;
        if let Some(kernel) = self.host_kernel {
            kernel.set(&mut hosts)?;
        }
        self.set_tcp(&mut hosts)?;
        hosts.mode = self.scheme().mode();
        Ok(hosts)
    }

    fn set_rdma(&self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        let mechanisms = self.rdma_mechanisms.unwrap_or_default().0;
        let verb = self.rdma_verb.unwrap_or_default();
        let dummy_gap = self.dummy_gap.map_or(Time::ZERO, Time::from);
        hosts.rdma = RdmaConfig { queue_pairs: self.queue_pairs, mechanisms, dummy_gap, verb };
        if let Some(gap) = self.dummy_gap {
            check(mechanisms.dummies > 0, "dummy-gap", gap, "needs `rdma-mechanisms` with dummies")?;
        }
        let Transport::Roce(card) = &mut hosts.transport else {
            let needs = "needs an RDMA transport";
            check(mechanisms.is_none(), "rdma-mechanisms", RdmaMechanisms(mechanisms), needs)?;
            return self.refuse(&["timeout-exponent", "rdma-mtu", "rdma-window"], needs);
        };
        let card: &mut roce::Config = Arc::make_mut(card);
        card.timeout_exponent = self.timeout_exponent.unwrap_or(card.timeout_exponent);
        card.path_mtu = self.rdma_mtu.unwrap_or(card.path_mtu);
        card.window_packets = self.rdma_window.unwrap_or(card.window_packets);
        let named = |parameter: &'static str| match parameter {
            "path_mtu" => "rdma-mtu",
            "timeout_exponent" => "timeout-exponent",
            "window_packets" => "rdma-window",
            other => other,
        };
        card.check().map_err(|error| ParameterError { parameter: named(error.parameter), ..error })
    }

    fn set_latency(&self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        if self.testbed_hosts == Some(true) && matches!(hosts.transport, Transport::Tcp(_)) {
            hosts.latency = HostLatency::TESTBED;
        }
        let Some(latency) = self.host_latency else {
            return self.refuse(&["host-latency-min"], "needs `host-latency`");
        };
        let median = Time::from(latency);
        check(median <= LATENCY_MAX, "host-latency", latency, "must be at most 1 s")?;
        let least = self.host_latency_min.map_or(hosts.latency.least.min(median), Time::from);
        if let Some(min) = self.host_latency_min {
            check(least <= median, "host-latency-min", min, "must be at most `host-latency`")?;
        }
        (hosts.latency.least, hosts.latency.median) = (least, median - least);
        // A handshake would have measured it.
        hosts.known_rtt = hosts.known_rtt.map(|known| known.max(Nanos(median.0 / 500)));
        Ok(())
    }

    fn set_tcp(&self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        let needs = "needs a TCP transport";
        let handshake = self.handshake.unwrap_or(false);
        let Transport::Tcp(config) = &mut hosts.transport else {
            check(!handshake, "handshake", "with RDMA", needs)?;
            return self.refuse(&["rto-min"], needs);
        };
        hosts.handshake = handshake;
        if let Some(rto_min) = self.rto_min {
            Arc::make_mut(config).rto_min = Nanos(Time::from(rto_min).0 / 1_000);
        }
        config.check().map_err(|error| match error.parameter {
            "rto_min" => ParameterError { parameter: "rto-min", ..error },
            _ => error,
        })
    }
}
