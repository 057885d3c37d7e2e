//! `linkmend top`: the state of links, live.

mod history;
mod view;

use crate::commands::arguments::TopArgs;
use crate::failure::{Hinted, Result, UsageError};
use history::History;
use linkmend_control::LinkReport;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Allowed times between updates, in seconds.
const INTERVAL_S: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// The state of the display.
#[derive(Debug, Default)]
pub(crate) struct App {
    /// Links with their history, in the order of the daemons' answers.
    links: Vec<History>,
    /// Index of the link whose details are shown.
    selected: usize,
    /// Whether the display is paused.
    paused: bool,
    /// Why the last request was not answered.
    trouble: Option<String>,
    interval_s: f64,
}

/// The action that a key requests.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    None,
    Quit,
    ResetExtremes,
}

/// Requests reports and draws them until `q`.
pub fn execute(arguments: &TopArgs) -> Result<()> {
    if !INTERVAL_S.contains(&arguments.interval) {
        let (least, most) = (INTERVAL_S.start(), INTERVAL_S.end());
        let message = format!("--interval {}: must be from {least} to {most} seconds", arguments.interval);
        return Err(UsageError::new(message).into());
    }
    if !std::io::stdout().is_terminal() {
        return Err(Hinted {
            message: "top needs a terminal".to_owned(),
            hint: "`linkmend status --json` is for programs".to_owned(),
        }
        .into());
    }
    let mut app = App { interval_s: arguments.interval, ..App::default() };
    // An error at the start is easier to read on the ordinary screen.
    app.take(arguments.daemons.reports()?, Instant::now());
    let mut terminal = ratatui::try_init()?;
    let result = run(&mut terminal, &mut app, arguments);
    ratatui::restore();
    result
}

fn run(terminal: &mut ratatui::DefaultTerminal, app: &mut App, arguments: &TopArgs) -> Result<()> {
    let interval = Duration::from_secs_f64(arguments.interval);
    let mut due = Instant::now() + interval;
    loop {
        terminal.draw(|frame| view::draw(frame, app))?;
        if event::poll(due.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match app.press(key) {
                    Action::Quit => return Ok(()),
                    Action::ResetExtremes => reset_extremes(app, arguments),
                    Action::None => {}
                },
                _ => {}
            }
            continue;
        }
        due = Instant::now() + interval;
        if app.paused {
            continue;
        }
        match arguments.daemons.reports() {
            Ok(reports) => app.take(reports, Instant::now()),
            Err(error) => app.trouble = Some(error.to_string()),
        }
    }
}

fn reset_extremes(app: &mut App, arguments: &TopArgs) {
    let Some(name) = app.links.get(app.selected).map(|link| link.report.name.clone()) else { return };
    let reset = arguments.daemons.serving(&name).and_then(|mut client| client.reset_extremes(Some(&name)));
    app.trouble = reset.err().map(|error| error.to_string());
}

impl App {
    /// Takes a new set of reports.
    fn take(&mut self, reports: Vec<LinkReport>, now: Instant) {
        let mut before = std::mem::take(&mut self.links);
        for report in reports {
            let same = |link: &History| link.report.name == report.name && link.report.pid == report.pid;
            match before.iter().position(same) {
                Some(index) => {
                    let mut link = before.swap_remove(index);
                    link.push(report, now);
                    self.links.push(link);
                }
                None => self.links.push(History::new(report, now)),
            }
        }
        self.selected = self.selected.min(self.links.len().saturating_sub(1));
        self.trouble = None;
    }

    fn press(&mut self, key: KeyEvent) -> Action {
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Action::Quit,
            KeyCode::Char('r') => return Action::ResetExtremes,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => {
                self.selected = (self.selected + 1).min(self.links.len().saturating_sub(1));
            }
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            _ => {}
        }
        Action::None
    }
}
