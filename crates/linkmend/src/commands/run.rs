//! `linkmend run`.

use super::arguments::RunArgs;
use crate::commands::arguments::{first_written, written_beside};
use crate::daemon::{Signals, serve};
use crate::failure::{Result, UsageError};
use crate::output::print;
use clap::{ArgMatches, Command};
use linkmend_dataplane::Daemon;
use linkmend_dataplane::config::{DaemonConfig, check_all_devices, device_problems};
use linkmend_diagnose::Diagnose;

/// Options that are allowed with a configuration file.
const BESIDE_CONFIG: [&str; 7] = ["config", "check", "control", "metrics", "state", "restore", "verbose"];

/// Validates, then runs until a signal. `matches` tells which options were written.
pub fn execute(arguments: RunArgs, matches: &ArgMatches, command: &Command) -> Result<()> {
    let check = arguments.check;
    let config = configuration(arguments, matches, command)?;
    if check {
        let mut unusable = 0;
        for problems in config.links.iter().map(device_problems) {
            for error in &problems {
                let hint = error.hint().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                tracing::warn!("{error}{hint}");
            }
            unusable += usize::from(!problems.is_empty());
        }
        if unusable > 0 {
            let links = config.links.len();
            tracing::warn!(
                "the configuration is valid, but the daemon could not start now, because the interfaces of \
                 {unusable} of {links} links cannot be used"
            );
        }
        print(&config.to_toml())?;
        return Ok(());
    }
    // This comes before anything is changed, so that an early Ctrl-C leaves nothing behind.
    let signals = Signals::catch()?;
    check_all_devices(&config.links)?;
    serve(Daemon::start(&config, crate::logging::lost_lines)?, &signals)
}

fn configuration(arguments: RunArgs, matches: &ArgMatches, command: &Command) -> Result<DaemonConfig> {
    let RunArgs { config, daemon, link, .. } = arguments;
    match config {
        Some(path) => {
            let refused = written_beside("run", &BESIDE_CONFIG, matches, command);
            if let Some(option) = refused {
                let file = path.display();
                return Err(UsageError::new(format!(
                    "--{option} cannot be used with --config; set it in {file}, in the [[link]] that it concerns"
                ))
                .into());
            }
            let file = DaemonConfig::read(&path)?;
            let control = daemon.control.or(file.control);
            let metrics = daemon.metrics.or(file.metrics);
            let state = daemon.state.or(file.state);
            let restore = daemon.restore.or(file.restore);
            let config = DaemonConfig { control, metrics, state, restore, links: file.links };
            Ok(config.resolved(true))
        }
        None => {
            // The configuration itself cannot tell a value that was written from the same default.
            let of_backup = |id: &str| ["detection", "return_after", "backup_rate"].contains(&id);
            if link.backup.is_none()
                && let Some(option) = first_written("run", matches, command, of_backup)
            {
                return Err(UsageError::new(format!(
                    "--{option} requires --backup, the interface of a second link; add --backup or remove --{option}"
                ))
                .into());
            }
            Ok(daemon.with_link(link)?.resolved(false))
        }
    }
}
