//! `linkmend rdma model`: how often each kind of timeout occurs.

use super::arguments::{MechanismArgs, PathArgs, TABLE_WIDTH};
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::Result;
use linkmend_rdma::{Chances, Costs, Kind, Mechanisms, Model};
use linkmend_report::{Cell, Column, Table, Unit};
use serde::Serialize;

/// Arguments of `linkmend rdma model`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend rdma model --links 1 --loss 0.78125% --size 1024B  # the paper's ping-pong
  linkmend rdma model --links 4 --loss 1e-3 --mechanisms all  # web-search traffic in its fat tree
  linkmend rdma model --mtu 4096 --dummies 1 --json           # longer packets, one dummy

\"Paper\" is the probability per packet according to Theorems 4 to 12; for tails, it is the mean over flows. \"Exact\" is \
the probability per packet in the network, without approximations. \"Per flow\" multiplies it by the number of packets in \
a flow of the workload, with the actual lengths of last packets. Both include timeouts that follow other timeouts.")]
pub struct ModelArgs {
    #[command(flatten)]
    path: PathArgs,
    #[command(flatten)]
    mechanisms: MechanismArgs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// What the model says.
#[derive(Debug, Serialize)]
struct Report {
    /// Links that a packet crosses.
    links: u32,
    /// Share of links that corrupt frames.
    corrupting: f64,
    /// Share of bits that a corrupting link corrupts, and of full packets.
    bit_error_rate: f64,
    packet_loss: f64,
    /// Mean packets of a flow, E(S), and mean of their inverse, E(1/S).
    packets: f64,
    inverse_packets: f64,
    mechanisms: Mechanisms,
    /// Probabilities of timeouts.
    timeouts: Chances,
    timeouts_per_flow: f64,
    /// Shares of what flows take on a wire, by the paper's formulas and by bytes.
    published_costs: Costs,
    costs: Costs,
}

impl Report {
    fn new(model: &Model, mechanisms: Mechanisms) -> Report {
        let timeouts = model.chances(&mechanisms);
        Report {
            links: model.path.links,
            corrupting: model.path.corrupting,
            bit_error_rate: model.path.bit_error_rate,
            packet_loss: model.packet_loss(),
            packets: model.flows.packets,
            inverse_packets: model.flows.inverse_packets,
            mechanisms,
            timeouts,
            timeouts_per_flow: timeouts.per_flow(),
            published_costs: model.published_costs(&mechanisms),
            costs: model.costs(&mechanisms),
        }
    }

    fn timeouts(&self, title: String) -> Table {
        let mut table = Table::new(title)
            .column(Column::text("timeout"))
            .column(Column::text("theorems"))
            .column(Column::number("paper", Unit::LossRate))
            .column(Column::number("exact", Unit::LossRate))
            .column(Column::number("per flow", Unit::LossRate))
            .note(format!(
                "A flow has {:.1} packets on average; E(1/S) is {:.4}",
                self.packets, self.inverse_packets
            ));
        for kind in Kind::ALL {
            let chance = self.timeouts.of(kind);
            table.push_row([
                Cell::text(kind.name()),
                Cell::text(kind.theorems()),
                chance.published.into(),
                chance.exact.into(),
                chance.per_flow.into(),
            ]);
        }
        table.push_row([
            Cell::text("all"),
            Cell::text(""),
            Cell::text(""),
            Cell::text(""),
            self.timeouts_per_flow.into(),
        ]);
        table
    }

    fn costs(&self) -> Table {
        let mut table = Table::new("cost, as a share of the bytes of the flows on the wire")
            .column(Column::text("mechanism"))
            .column(Column::number("copies", Unit::Count))
            .column(Column::number("paper", Unit::Share))
            .column(Column::number("by bytes", Unit::Share));
        let Mechanisms { nak_replicas, packet_replicas, dummies, tail_replicas } = self.mechanisms;
        let rows = [
            ("NAK replicas", nak_replicas, self.published_costs.nak, self.costs.nak),
            ("packet replicas", packet_replicas, self.published_costs.twice, self.costs.twice),
            ("dummies", dummies, self.published_costs.dummies, self.costs.dummies),
            ("tail replicas", tail_replicas, self.published_costs.tail, self.costs.tail),
        ];
        for (name, copies, published, by_bytes) in rows {
            table.push_row([Cell::text(name), f64::from(copies).into(), published.into(), by_bytes.into()]);
        }
        table.push_row([
            Cell::text("all"),
            Cell::text(""),
            self.published_costs.sum().into(),
            self.costs.sum().into(),
        ]);
        table
    }
}

impl Study for ModelArgs {
    fn find(&self, _watch: &dyn Watch) -> Result<Found> {
        found(&self.path.model()?, self.mechanisms.mechanisms()?, &self.path)
    }
}

/// What the model says of these mechanisms.
pub(super) fn found(model: &Model, mechanisms: Mechanisms, path: &PathArgs) -> Result<Found> {
    let report = Report::new(model, mechanisms);
    let costs = (!mechanisms.is_none()).then(|| report.costs());
    let tables = [report.timeouts(path.title(model))].into_iter().chain(costs).collect();
    Found::new(&report, TABLE_WIDTH, tables)
}
