//! Whether audit files are what corruptd has written.

use super::VerifyArgs;
use super::report::for_each_line;
use crate::failure::Result;
use crate::output::print;
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_monitor::audit_chain::{Damage, Verified, Verifier};
use linkmend_monitor::read_key;
use linkmend_report::quantity::count;
use std::path::Path;

/// The first line of some files that is not what corruptd has written, or that nothing is known of.
#[derive(Debug, thiserror::Error)]
enum NotIntact {
    #[error("{path}, line {line} {damage}")]
    Damaged { path: String, line: u64, damage: Damage },
    #[error("no line in these files has a seal, so nothing can be verified")]
    NoSeals,
}

impl Diagnose for NotIntact {
    fn fault(&self) -> Fault {
        Fault::Failure
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            NotIntact::Damaged { damage: Damage::KeyNeeded, .. } => "give the file in audit-key with --key",
            NotIntact::Damaged { damage: Damage::WithoutKey, .. } => {
                "if the key was introduced later, verify only the files that were written since"
            }
            NotIntact::Damaged { damage: Damage::Removed { .. }, line: 1, .. } => {
                "give all files, the oldest first"
            }
            NotIntact::Damaged { .. } => return None,
            NotIntact::NoSeals => "give files that --audit wrote; those of version 0.1.0 have no seals",
        };
        Some(hint.to_owned())
    }
}

pub(super) fn execute(arguments: &VerifyArgs) -> Result<()> {
    let key = arguments.key.as_ref().map(|path| read_key("key", path)).transpose()?;
    let mut verifier = Verifier::new(key);
    for path in &arguments.files {
        verifier.handle_file();
        let mut number = 0;
        let mut damaged = None;
        for_each_line(path, |line| {
            number += 1;
            if damaged.is_none() {
                damaged = verifier.handle_line(line).err().map(|damage| (number, damage));
            }
        })?;
        if let Some((line, damage)) = damaged {
            return Err(NotIntact::Damaged { path: path.display().to_string(), line, damage }.into());
        }
    }
    let found = verifier.finish();
    if found.lines == 0 {
        return Err(NotIntact::NoSeals.into());
    }
    Ok(print(&told(&found, arguments.key.as_deref()))?)
}

fn told(found: &Verified, key: Option<&Path>) -> String {
    let mut text = format!("intact: {} lines", count(found.lines as f64));
    if let Some(last) = &found.last {
        text.push_str(&format!("; the last is number {}, {}", last.number, last.seal));
    }
    if let Some(begins_at) = found.begins_at {
        text.push_str(&format!(
            "\nnote: the first is number {begins_at}; those before it are in older files"
        ));
    }
    if found.beginnings > 1 {
        text.push_str(&format!("\nnote: {} of these files begin a new chain", found.beginnings));
    }
    if found.unsealed_lines > 0 {
        let lines = count(found.unsealed_lines as f64);
        text.push_str(&format!(
            "\nnote: {lines} lines at the beginning have no seal, and cannot be verified"
        ));
    }
    if key.is_none() {
        text.push_str("\nnote: without a key, whoever could write these files could also have sealed them");
    }
    text.push('\n');
    text
}
