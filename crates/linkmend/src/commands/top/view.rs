//! The display: all links in a table, one of them in detail.

use super::App;
use super::history::History;
use crate::commands::status::failover_lines;
use linkmend_control::report::{BufferReport, FallbackLevel, Mode, TransmitState};
use linkmend_diagnose::printable;
use linkmend_report::quantity::{bytes, count, duration, loss_rate, rate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table, TableState};

/// Lines of the details of a link end with one link, their frame included.
const DETAIL_LINES: u16 = 9;
/// Lines of the plot of losses, its frame included.
const PLOT_LINES: u16 = 6;

/// Draws the links, their history and the help line.
pub fn draw(frame: &mut Frame<'_>, app: &App) {
    let of_links = app.links.get(app.selected).map_or(0, |link| links_of(link).len());
    let of_links = u16::try_from(of_links).unwrap_or(0);
    let [head, links, detail, plot, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(DETAIL_LINES + of_links),
        Constraint::Length(PLOT_LINES),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, app);
    draw_links(frame, links, app);
    if let Some(link) = app.links.get(app.selected) {
        draw_detail(frame, detail, link);
        draw_plot(frame, plot, link, app.interval_s);
    }
    draw_foot(frame, foot, app);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let noun = if app.links.len() == 1 { "link" } else { "links" };
    let state = if app.paused { ", PAUSED" } else { "" };
    let text = format!("Linkmend: {} {noun}, every {} s{state}", app.links.len(), app.interval_s);
    frame.render_widget(Line::from(text).bold(), area);
}

fn draw_links(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let heads = ["LINK", "SENDING", "OUT", "IN", "LOSS", "AFTER", "RECOVERY"];
    let widths = [
        Constraint::Min(8),
        Constraint::Length(20),
        Constraint::Length(11),
        Constraint::Length(11),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(8),
    ];
    let rows = app.links.iter().map(|link| Row::new(cells(link)));
    let table = Table::new(rows, widths)
        .header(Row::new(heads).style(Style::new().add_modifier(Modifier::DIM)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(Some(app.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn cells(link: &History) -> Vec<Cell<'static>> {
    let (report, rates) = (&link.report, &link.rates);
    let p99 = report.recovery_latency_ns.p99;
    let recovery = if report.recovery_latency_ns.count == 0 { "-".to_owned() } else { time(p99) };
    let after = Cell::from(share(rates.loss_after));
    let lossy = rates.loss_after.is_some_and(|loss| loss > 0.0);
    vec![
        Cell::from(printable(&report.name).into_owned()),
        Cell::from(sending(link)).style(state_style(link)),
        Cell::from(rate(rates.tx_bps)),
        Cell::from(rate(rates.rx_bps)),
        Cell::from(share(rates.loss_before)),
        if lossy { after.style(Style::new().fg(Color::Red)) } else { after },
        Cell::from(recovery),
    ]
}

fn sending(link: &History) -> String {
    let report = &link.report;
    if report.gone.is_some() {
        return "OUT OF OPERATION".to_owned();
    }
    if report.transmit_state == TransmitState::Dormant {
        return report.transmit_state.to_string();
    }
    format!("{} {}x{}", report.transmit_state, short_mode(report.mode), report.copies)
}

fn short_mode(mode: Mode) -> &'static str {
    if mode == Mode::NonBlocking { "non-blk " } else { "ordered " }
}

fn state_style(link: &History) -> Style {
    let report = &link.report;
    match report.transmit_state {
        _ if report.gone.is_some() => Style::new().fg(Color::Red),
        _ if report.fallback_level != FallbackLevel::Full && report.protection_requested => {
            Style::new().fg(Color::Yellow)
        }
        TransmitState::Active => Style::new().fg(Color::Green),
        TransmitState::Dormant => Style::new(),
        _ => Style::new().fg(Color::Yellow),
    }
}

fn draw_detail(frame: &mut Frame<'_>, area: Rect, link: &History) {
    let (report, rates) = (&link.report, &link.rates);
    let peer = match (report.peer_known, report.parameters.link_rtt_ns) {
        _ if report.third_end.is_some() => "and a THIRD END".to_owned(),
        _ if report.mismatched_format.is_some() => "uses another format".to_owned(),
        (false, _) => "not heard".to_owned(),
        (true, None) => "speaks Linkmend".to_owned(),
        (true, Some(rtt)) => format!("round trip {}", time(rtt)),
    };
    let latency = &report.recovery_latency_ns;
    let counters = &report.counters;
    let state = match &report.gone {
        Some(why) => printable(why).into_owned(),
        None => {
            format!("receiving {}, peer {peer}, fallback {}", report.receive_state, report.fallback_level)
        }
    };
    let mut lines = vec![
        field("state", &state),
        field(
            "frames",
            &format!(
                "{}/s out, {}/s in, {}/s copies",
                count(rates.tx_fps.round()),
                count(rates.rx_fps.round()),
                count(rates.copies_ps.round())
            ),
        ),
        field(
            "losses",
            &format!(
                "{} found, {} recovered, {} given up",
                count(counters.lost_frames as f64),
                count(counters.recovered_frames as f64),
                count(counters.given_up_frames() as f64)
            ),
        ),
        field(
            "recovery",
            &format!(
                "half within {}, 99 % {}, all {}",
                time(latency.p50),
                time(latency.p99),
                time(latency.max)
            ),
        ),
        field("Tx buffer", &fill(report.tx_buffer, Some(report.parameters.tx_buffer_bytes))),
        field("Rx buffer", &fill(report.rx_buffer, Some(report.parameters.rx_buffer_bytes))),
        field(
            "queue",
            &format!("{}, {} dropped", fill(report.queue, None), count(counters.queue_drops as f64)),
        ),
    ];
    for (label, text) in links_of(link) {
        lines.push(field(label, &text));
    }
    let title = format!(" {}: {} <-> {} ", report.name, report.inner.interface, report.link.interface);
    let title = printable(&title).into_owned();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}

/// What there is to say of two links.
fn links_of(link: &History) -> Vec<(&'static str, String)> {
    link.report.failover.as_ref().map(failover_lines).unwrap_or_default()
}

fn draw_plot(frame: &mut Frame<'_>, area: Rect, link: &History, interval_s: f64) {
    let width = usize::from(area.width.saturating_sub(2));
    let skipped = link.losses_ppm.len().saturating_sub(width);
    let shown: Vec<u64> = link.losses_ppm.iter().skip(skipped).copied().collect();
    let most = shown.iter().copied().max().unwrap_or(0);
    let seconds = width as f64 * interval_s;
    let title = format!(
        " loss before recovery, last {}, most {} ",
        duration(seconds),
        share(Some(most as f64 / 1e6))
    );
    let plot = Sparkline::default().data(&shown).max(most.max(1)).style(Style::new().fg(Color::Cyan));
    frame.render_widget(plot.block(Block::bordered().title(title)), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let line = match &app.trouble {
        Some(trouble) => {
            Line::from(format!("no answer: {}", printable(trouble))).style(Style::new().fg(Color::Red))
        }
        None => Line::from("q quit   up/down choose   r reset extremes   p pause").dim(),
    };
    frame.render_widget(line, area);
}

fn field(label: &str, value: &str) -> Line<'static> {
    Line::from(format!("{label:<10} {}", printable(value)))
}

fn fill(buffer: BufferReport, bound: Option<u64>) -> String {
    let of = bound.map(|bound| format!(" of {}", bytes(bound as f64))).unwrap_or_default();
    format!("{}{of}, at most {}", bytes(buffer.now as f64), bytes(buffer.max as f64))
}

fn share(loss: Option<f64>) -> String {
    match loss {
        None => "-".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(loss) => loss_rate(loss),
    }
}

fn time(ns: u64) -> String {
    duration(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_control::LinkReport;
    use linkmend_control::report::{HistogramReport, ReceiveState};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    fn app() -> App {
        let start = Instant::now();
        let mut app = App { interval_s: 1.0, ..App::default() };
        for second in 0..30u64 {
            let mut report = LinkReport { name: "uplink".to_owned(), copies: 2, ..LinkReport::default() };
            (report.transmit_state, report.receive_state) = (TransmitState::Active, ReceiveState::Active);
            (report.mode, report.fallback_level) = (Mode::NonBlocking, FallbackLevel::Full);
            (report.inner.interface, report.link.interface) = ("eth1".into(), "eth2".into());
            report.inner.tx_bytes = second * 1_175_000_000;
            report.inner.tx_frames = second * 800_000;
            report.counters.delivered_frames = second * 800_000;
            report.counters.lost_frames = second * second * 40;
            report.counters.recovered_frames = second * second * 40;
            report.rx_buffer.max = 54_321;
            report.recovery_latency_ns =
                HistogramReport { count: 9, p50: 131_071, p99: 262_143, max: 300_000, ..Default::default() };
            let dormant = LinkReport {
                name: "spare".into(),
                transmit_state: TransmitState::Dormant,
                ..LinkReport::default()
            };
            app.take(vec![report, dormant], start + Duration::from_secs(second));
        }
        app
    }

    fn screen(app: &App, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("in memory");
        terminal.draw(|frame| draw(frame, app)).expect("in memory");
        terminal.backend().to_string()
    }

    #[test]
    fn it_fits_80_by_24() {
        expect_test::expect_file!["../../../tests/golden/top.txt"].assert_eq(&screen(&app(), 80, 24));
    }

    /// A terminal would obey some of these characters, and the others would be dropped: two names would look the same.
    #[test]
    fn names_that_deceive_are_shown_escaped() {
        let mut app = app();
        let report = LinkReport {
            name: "up\u{202e}link\u{1b}[2J".to_owned(),
            gone: Some("its\u{200b} end".to_owned()),
            ..LinkReport::default()
        };
        app.take(vec![report], Instant::now());
        app.trouble = Some("no\u{9b}2J answer".to_owned());
        let shown = screen(&app, 120, 24);
        for escaped in [r"up\u202elink\u001b[2J", r"its\u200b end", r"no\u009b2J answer"] {
            assert!(shown.contains(escaped), "{escaped} is missing:\n{shown}");
        }
    }

    #[test]
    fn any_size_and_nothing_at_all_are_drawn() {
        for (width, height) in [(1, 1), (10, 3), (80, 5), (300, 100)] {
            screen(&app(), width, height);
            screen(&App::default(), width, height);
        }
        let trouble = App { trouble: Some("no daemon answers".to_owned()), ..App::default() };
        assert!(screen(&trouble, 80, 24).contains("no answer: no daemon answers"));
    }
}
