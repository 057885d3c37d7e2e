//! The page of a daemon's links.

use super::encode::encode;
use crate::command::Command;
use crate::control::Backend;

/// The page of a daemon's links.
pub fn page_of_links(backend: &dyn Backend) -> String {
    let (mut reports, mut silent) = (Vec::new(), Vec::new());
    for link in backend.links() {
        match backend.command(&link, Command::Report) {
            Some(Ok(report)) if report.gone.is_none() => reports.push(*report),
            _ => silent.push(link),
        }
    }
    encode(reports, silent)
}
