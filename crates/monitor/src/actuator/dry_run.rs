//! Nothing is done, and what would be is written down.

use super::{Actuator, End};
use crate::exchange::{Effect, Request};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct DryRun;

impl Actuator for DryRun {
    fn describe(&self) -> String {
        "none (dry run)".to_owned()
    }

    fn apply(&mut self, _: &str, _: End, request: &Request, again: bool) -> Result<Effect, String> {
        let done = if request.protection.is_some() { Effect::Active } else { Effect::Dormant };
        // What a corruptd that was no dry run has done is done.
        Ok(if again { done } else { Effect::Rehearsed })
    }

    fn observe(&mut self, _: &str) -> Result<Option<Effect>, String> {
        Ok(None)
    }
}
