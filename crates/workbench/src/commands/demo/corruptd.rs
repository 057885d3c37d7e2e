//! `linkmend demo --corruptd`: a link that nobody attends to.

use super::DemoArgs;
use super::progress::Steps;
use super::show::{Shown, show};
use linkmend::failure::{Context, Result};
use linkmend_lab::StopFlag;
use linkmend_lab::unattended::{GoodputSample, Moments, UnattendedOptions, UnattendedResult, run};
use linkmend_lab::unprivileged::Privileges;
use linkmend_report::quantity::{count, duration, loss_rate, rate};
use linkmend_report::{
    Alignment, Axis, Cell, Column, Panel, Report, Section, Series, Table, Timeline, Tone, Unit,
};

const ABOUT: &str = "corruptd reads the link's counters every second. There is no other intervention: protection \
    begins when more frames were corrupted in two polls than chance explains, and ends when the link has been \
    healthy for the hold-down.";

/// Runs it and shows what came of it.
pub(super) fn execute(
    arguments: &DemoArgs,
    privileges: Privileges,
    stop: &StopFlag,
    progress: &Steps,
) -> Result<()> {
    let mut options = UnattendedOptions { seed: arguments.seed, ..UnattendedOptions::default() };
    options.packet_ports = arguments.takes_packet_ports(privileges);
    options.loss = arguments.loss.unwrap_or(options.loss);
    arguments.adjust(&mut options.impairments)?;
    let result = run(&options, stop, &|what| progress.print_line(what));
    progress.finish();
    let result = result.context("the demo did not finish")?;
    let shown = Shown {
        tables: vec![table(&result)],
        sentences: vec![ABOUT.to_owned()],
        plots: vec![("corruptd", plot(&result).into())],
    };
    show(arguments, progress, &result, &shown, page)
}

fn table(result: &UnattendedResult) -> Table {
    let UnattendedResult { transfer, frames, .. } = result;
    let mut table = Table::new("A link starts to corrupt frames, and only corruptd intervenes")
        .column(Column::text(""))
        .column(Column::text("CUBIC").align(Alignment::Right))
        .column(Column::text("numbered frames").align(Alignment::Right));
    let mut moments = |name: &str, value: &dyn Fn(&Moments) -> Option<f64>| {
        let cell = |moments: &Moments| {
            value(moments).map_or_else(|| Cell::text("never").bad(), |time| Cell::text(duration(time)))
        };
        table.push_row([Cell::text(name), cell(&transfer.moments), cell(&frames.moments)]);
    };
    let loss = loss_rate(result.options.loss);
    moments(&format!("corruption at {loss} begins"), &|moments| Some(moments.corruption_s));
    moments("protected, after that", &Moments::detection_s);
    moments("repaired", &|moments| Some(moments.repair_s));
    moments("no longer protected, after that", &Moments::release_s);
    let goodput = |bps: Option<f64>| bps.map_or_else(Cell::missing, |bps| Cell::text(rate(bps)));
    for (name, bps) in [
        ("goodput while healthy", Some(transfer.healthy_bps)),
        ("corrupting, unprotected", transfer.unprotected_bps),
        ("corrupting, protected", transfer.protected_bps),
    ] {
        table.push_row([Cell::text(name), goodput(bps), Cell::text("")]);
    }
    let good = |number: u64| {
        let cell = Cell::text(count(number as f64));
        if number == 0 { cell.good() } else { cell.bad() }
    };
    for (name, cell) in [
        ("frames sent", Cell::text(count(frames.sent as f64))),
        ("lost before protection", Cell::text(count(frames.lost.min(frames.corrupted_unprotected) as f64))),
        ("lost during switching or while protected", good(frames.lost_by_switching())),
        ("duplicated", good(frames.duplicated)),
        ("reordered", good(frames.reordered)),
        ("times the kernel took over from a stalled daemon", Cell::text(count(frames.stalls as f64))),
    ] {
        table.push_row([Cell::text(name), Cell::text(""), cell]);
    }
    table
}

fn plot(result: &UnattendedResult) -> Timeline {
    let samples = &result.transfer.samples;
    let panel = |name: &str, unit, value: fn(&GoodputSample) -> f64| {
        let points = samples.iter().map(|sample| (sample.at_s, value(sample)));
        Panel::new(Axis::new(name, unit).with_zero()).series(Series::step(name, points))
    };
    let Moments { corruption_s, protected_s, repair_s, unprotected_s } = result.transfer.moments;
    let mut timeline = Timeline::new("Corruption, found and repaired")
        .time(Axis::new("time", Unit::Second))
        .panel(panel("goodput", Unit::BitPerSecond, |sample| sample.goodput_bps))
        .panel(panel("retransmissions by the host", Unit::Count, |sample| {
            sample.retransmitted_segments as f64
        }))
        .phase(corruption_s, "corrupts", Tone::Bad);
    if let Some(protected_s) = protected_s {
        timeline = timeline.phase(protected_s, "protected by corruptd", Tone::Good);
    }
    timeline = timeline.phase(repair_s, "repaired", Tone::Good);
    if let Some(unprotected_s) = unprotected_s {
        timeline = timeline.phase(unprotected_s, "protection ended", Tone::Neutral);
    }
    timeline
}

fn page(result: &UnattendedResult) -> Result<String> {
    let time = |value: Option<f64>| value.map_or_else(|| "never".to_owned(), duration);
    let tone = |reached: bool| if reached { Tone::Good } else { Tone::Bad };
    let moments = &result.transfer.moments;
    let frames = &result.frames;
    let spoiled = frames.lost_by_switching() + frames.duplicated + frames.reordered;
    let decisions = result
        .decisions
        .iter()
        .fold(Section::new("What corruptd decided"), |section, line| section.prose(line.clone()));
    Ok(Report::new("linkmend demo --corruptd")
        .subtitle("A link starts to corrupt frames, and only corruptd intervenes")
        .fact("Version", result.version.clone())
        .fact("Kernel", result.kernel.clone())
        .fact("Path", result.options.impairments.to_string())
        .fact("Seed", result.options.seed.to_string())
        .headline(
            "Protected after",
            time(moments.detection_s()),
            "from the beginning of corruption",
            tone(moments.protected_s.is_some()),
        )
        .headline(
            "Protection ended after",
            time(moments.release_s()),
            "from the repair, hold-down included",
            tone(moments.unprotected_s.is_some()),
        )
        .headline(
            "Lost, duplicated or reordered by switching",
            count(spoiled as f64),
            format!("of {} numbered frames", count(frames.sent as f64)),
            tone(spoiled == 0),
        )
        .section(Section::new("Timeline").prose(ABOUT).plot(plot(result)))
        .section(Section::new("In numbers").table(table(result)))
        .section(decisions)
        .section(Section::new("Raw results").json("All of it as JSON", result)?)
        .to_html())
}
