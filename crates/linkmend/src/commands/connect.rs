//! Finds the daemons.

use crate::commands::arguments::Daemons;
use crate::failure::{Hinted, Result};
use linkmend_control::{CONTROL_FOLDER, Client, ClientError, sockets};
use std::path::PathBuf;

impl Daemons {
    fn paths(&self) -> Vec<PathBuf> {
        self.control.clone().map_or_else(sockets, |path| vec![path])
    }

    /// Connects to the daemon that serves `link`.
    ///
    /// # Errors
    /// Those of [`Client::find`].
    pub fn serving(&self, link: &str) -> Result<Client, ClientError> {
        Client::find(link, &self.paths())
    }

    /// Connects to all daemons. Sockets at which nobody answers are skipped, unless there is no other.
    pub(crate) fn all(&self) -> Result<Vec<Client>> {
        let mut clients = Vec::new();
        let mut failure = None;
        for path in self.paths() {
            match Client::connect(&path) {
                Ok(client) => clients.push(client),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            _ if !clients.is_empty() => Ok(clients),
            Some(error) => Err(error.into()),
            None => Err(Hinted {
                message: format!("no daemon is running: there is no socket in {CONTROL_FOLDER}"),
                hint: "start one with `linkmend run`, or give its socket with --control".to_owned(),
            }
            .into()),
        }
    }
}
