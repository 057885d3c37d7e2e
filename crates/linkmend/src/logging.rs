//! Logs go to standard error; standard output is for data.

use tracing_subscriber::EnvFilter;

/// `RUST_LOG` decides if it is set, otherwise the number of `-v`. `quiet` commands show their own progress.
pub fn start(verbose: u8, quiet: bool) {
    let level = match verbose + u8::from(!quiet) {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(verbose > 0);
    // The journal has its own clock.
    if std::env::var_os("JOURNAL_STREAM").is_some() {
        subscriber.without_time().init();
    } else {
        subscriber.init();
    }
}
