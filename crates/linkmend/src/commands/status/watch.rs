//! `linkmend status --watch`: the state of links, redrawn, with the traffic since the screen before.

use super::{describe, reports};
use crate::commands::arguments::StatusArgs;
use crate::failure::{Hinted, Result, UsageError};
use crate::interrupt;
use crate::output;
use linkmend_control::LinkReport;
use linkmend_control::report::Rates;
use linkmend_report::quantity::{count, loss_rate, rate};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Allowed times between screens, in seconds.
const INTERVAL_S: std::ops::RangeInclusive<f64> = 0.1..=60.0;
/// How often Ctrl-C is looked for.
const NAP: Duration = Duration::from_millis(50);

/// Asks for reports and shows them, until Ctrl-C.
pub fn execute(arguments: &StatusArgs, interval_s: f64) -> Result<()> {
    if !INTERVAL_S.contains(&interval_s) {
        let (least, most) = (INTERVAL_S.start(), INTERVAL_S.end());
        let message = format!("--watch {interval_s}: must be from {least} to {most} seconds");
        return Err(UsageError::new(message).into());
    }
    if !std::io::stdout().is_terminal() {
        return Err(Hinted {
            message: "--watch needs a terminal".to_owned(),
            hint: "`linkmend status --json` is for programs".to_owned(),
        }
        .into());
    }
    let stop = interrupt::flag()?;
    let interval = Duration::from_secs_f64(interval_s);
    // A daemon that is not there at the start is an error; later it may come back.
    let mut screen = Screen::default();
    let mut trouble = None;
    screen.take(reports(arguments)?, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        output::redraw(&screen.text(interval_s, trouble.as_deref()))?;
        let due = Instant::now() + interval;
        while Instant::now() < due && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(NAP.min(due.saturating_duration_since(Instant::now())));
        }
        match reports(arguments) {
            Ok(reports) => {
                screen.take(reports, Instant::now());
                trouble = None;
            }
            Err(error) => trouble = Some(format!("{error:#}")),
        }
    }
    Ok(())
}

/// The latest reports, in the order of the daemons' answers.
#[derive(Debug, Default)]
struct Screen {
    links: Vec<(LinkReport, Option<Rates>)>,
    at: Option<Instant>,
}

impl Screen {
    /// Takes new reports. What has passed since the last ones is known of links whose daemon is the same.
    fn take(&mut self, reports: Vec<LinkReport>, now: Instant) {
        let seconds = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        let before = std::mem::take(&mut self.links);
        let rates = |report: &LinkReport| {
            let same = |(old, _): &&(LinkReport, _)| old.name == report.name && old.pid == report.pid;
            let (old, _) = before.iter().find(same).filter(|_| seconds > 0.0)?;
            Some(Rates::between(old, report, seconds))
        };
        self.links = reports.into_iter().map(|report| (report.clone(), rates(&report))).collect();
        self.at = Some(now);
    }

    fn text(&self, interval_s: f64, trouble: Option<&str>) -> String {
        let noun = if self.links.len() == 1 { "link" } else { "links" };
        let mut blocks = vec![format!("{} {noun}, every {interval_s} s; Ctrl-C ends\n", self.links.len())];
        blocks.extend(trouble.map(|trouble| format!("no answer: {trouble}\n")));
        blocks.extend(self.links.iter().map(|(report, rates)| {
            let mut block = describe(report);
            if let Some(rates) = rates.filter(|_| report.gone.is_none()) {
                block.push_str(&traffic(&rates));
            }
            block
        }));
        blocks.join("\n")
    }
}

/// What passed since the screen before.
fn traffic(rates: &Rates) -> String {
    let share = |loss: Option<f64>| match loss {
        None => "-".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(loss) => loss_rate(loss),
    };
    format!(
        "  {:<12} {} out, {} in; {}/s frames retransmitted; loss {} before, {} after\n",
        "now",
        rate(rates.tx_bps),
        rate(rates.rx_bps),
        count(rates.copies_ps.round()),
        share(rates.loss_before),
        share(rates.loss_after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seconds: u64) -> LinkReport {
        let mut report = LinkReport { name: "uplink".to_owned(), ..LinkReport::default() };
        report.inner.tx_bytes = seconds * 1_175_000_000;
        report.counters.delivered_frames = seconds * 800_000;
        report.counters.lost_frames = seconds * 800;
        report.counters.retransmitted_copies = seconds * 5_000;
        report
    }

    #[test]
    fn a_screen_shows_what_passed_since_the_one_before() {
        let start = Instant::now();
        let mut screen = Screen::default();
        screen.take(vec![report(0)], start);
        let first = screen.text(1.0, None);
        assert!(first.starts_with("1 link, every 1 s; Ctrl-C ends\n\nuplink: "), "{first}");
        assert!(!first.contains("  now "), "{first}");
        screen.take(vec![report(2)], start + Duration::from_secs(2));
        let second = screen.text(1.0, None);
        let now = "  now          0 bit/s out, 9.40 Gbit/s in; 5,000/s frames retransmitted; loss 1.0e-3 before, 0 after";
        assert!(second.contains(now), "{second}");
        // A daemon that was started anew counts from 0.
        screen.take(vec![LinkReport { pid: 7, ..report(0) }], start + Duration::from_secs(3));
        assert!(!screen.text(1.0, None).contains("  now "));
        screen.take(vec![LinkReport { pid: 7, ..report(0) }], start + Duration::from_secs(4));
        assert!(screen.text(1.0, None).contains("loss - before, - after"));
    }

    #[test]
    fn a_daemon_that_does_not_answer_leaves_the_last_screen() {
        let mut screen = Screen::default();
        screen.take(vec![report(1)], Instant::now());
        let text = screen.text(0.5, Some("no daemon answers at /run/c.sock"));
        assert!(
            text.contains("every 0.5 s") && text.contains("no answer: no daemon answers at /run/c.sock\n")
        );
        assert!(text.contains("uplink: "), "{text}");
    }
}
