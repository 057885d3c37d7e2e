//! Nothing is done, and what would be is written down.

use super::Actuator;
use crate::exchange::{Effect, Request};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct DryRun;

impl Actuator for DryRun {
    fn describe(&self) -> String {
        "none: a dry run".to_owned()
    }

    fn apply(&mut self, _: &str, _: &Request, _: bool) -> Result<Effect, String> {
        Ok(Effect::Rehearsed)
    }

    fn observe(&mut self, _: &str) -> Result<Option<Effect>, String> {
        Ok(None)
    }
}
