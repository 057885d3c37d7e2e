//! Every script of `tests/scripts` passes, and what the runner says of others.

use linkmend_packetdrill::{Outcome, run_text};
use std::path::Path;

#[test]
fn every_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(&folder).expect("the folder of scripts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 20, "{} scripts", paths.len());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a script");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match run_text(&text) {
            Ok(Outcome::Pass) => (),
            Ok(outcome) => failures.push(format!("{name}: {outcome}")),
            Err(error) => failures.push(format!("{name}:{error}")),
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}
