//! What the subcommands share: the path, its corruption, and the flows.

use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::{LossRate, Share};
use linkmend_rdma::{CORRUPTION_REQUIREMENT, Flows, Mechanisms, Model, Path, Sizes};
use linkmend_sim::host::FlowSizes;

/// Flows by which a distribution of sizes is computed.
const FLOWS: u32 = 1_000_000;
/// Width of tables when standard output is no terminal.
pub(super) const TABLE_WIDTH: usize = 100;

/// The path, its corruption, and the flows.
#[derive(Debug, Args)]
pub(super) struct PathArgs {
    /// Links that a packet crosses, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4)]
    links: u32,
    /// Share of links that corrupt frames
    #[arg(long, value_name = "SHARE", default_value = "1")]
    corrupting: Share,
    /// Share of full-size packets that a corrupting link loses
    #[arg(long, value_name = "RATE", default_value = "1e-3", conflicts_with = "bit_error_rate")]
    loss: LossRate,
    /// Alternatively, share of bits that a corrupting link corrupts
    #[arg(long, value_name = "RATE")]
    bit_error_rate: Option<LossRate>,
    /// Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage, google-all-rpc,
    /// google-search-rpc, facebook-key-value, data-mining; or a file with a cumulative distribution
    #[arg(long, value_name = "SIZE|WORKLOAD", default_value = "web-search")]
    size: FlowSizes,
    /// Payload of full-size packets, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::default().mtu)]
    mtu: u32,
    /// Size of the headers of a packet and its frame check sequence, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::default().headers)]
    headers: u32,
    /// Frame size of an ACK or NAK, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::default().nak)]
    nak_bytes: u32,
    /// Frame size of a dummy, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::default().dummy)]
    dummy_bytes: u32,
}

impl PathArgs {
    pub(super) fn model(&self) -> Result<Model> {
        let sizes =
            Sizes { mtu: self.mtu, headers: self.headers, nak: self.nak_bytes, dummy: self.dummy_bytes };
        sizes.validate()?;
        let rate = self.bit_error_rate.unwrap_or(self.loss).0;
        if !(rate > 0.0 && rate < 1.0) {
            let option = if self.bit_error_rate.is_some() { "--bit-error-rate" } else { "--loss" };
            return Err(UsageError::new(format!("{option} {rate}: {CORRUPTION_REQUIREMENT}")).into());
        }
        let path = match self.bit_error_rate {
            Some(LossRate(bit_error_rate)) => {
                Path { links: self.links, corrupting: self.corrupting.0, bit_error_rate }
            }
            None => Path::losing(self.links, self.corrupting.0, rate, sizes.packet()),
        };
        let flows = match self.size.only() {
            Some(bytes) => Flows::of_size(bytes, sizes.mtu),
            None => Flows::of_sizes(&self.size.spread(FLOWS), sizes.mtu),
        };
        let model = Model { path, sizes, flows };
        model.validate()?;
        Ok(model)
    }

    /// What the model is of, in a line.
    pub(super) fn title(&self, model: &Model) -> String {
        format!(
            "{}, {} links of which {} corrupt, losing {} of packets of {} B",
            self.size.name(),
            self.links,
            self.corrupting,
            LossRate(model.packet_loss()),
            model.sizes.packet(),
        )
    }
}

/// Copies and dummies.
#[derive(Debug, Args)]
pub(super) struct MechanismArgs {
    /// Mechanisms of the paper's figures: none, nak, twice, dummy, repeat, all, all-optimized or testbed
    #[arg(long, value_name = "NAME", default_value = "none")]
    mechanisms: String,
    /// Copies of each NAK
    #[arg(long, value_name = "N")]
    nak_replicas: Option<u8>,
    /// Copies of each packet that a NAK requests
    #[arg(long, value_name = "N")]
    packet_replicas: Option<u8>,
    /// Empty messages after each flow
    #[arg(long, value_name = "N")]
    dummies: Option<u8>,
    /// Copies of each flow's last packet
    #[arg(long, value_name = "N")]
    tail_replicas: Option<u8>,
}

impl MechanismArgs {
    pub(super) fn mechanisms(&self) -> Result<Mechanisms> {
        let named: Mechanisms = self.mechanisms.parse()?;
        let mechanisms = Mechanisms {
            nak_replicas: self.nak_replicas.unwrap_or(named.nak_replicas),
            packet_replicas: self.packet_replicas.unwrap_or(named.packet_replicas),
            dummies: self.dummies.unwrap_or(named.dummies),
            tail_replicas: self.tail_replicas.unwrap_or(named.tail_replicas),
        };
        mechanisms.validate()?;
        Ok(mechanisms)
    }
}
