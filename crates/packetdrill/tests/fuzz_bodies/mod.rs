//! The body of the fuzz target of packetdrill's language. The target under `fuzz/` includes this file, and so does the
//! ordinary test, which replays the committed corpus with it.

use linkmend_packetdrill::run_text;

/// A script, which is executed. An error must name a place in the text.
pub fn packetdrill(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = run_text(&text) {
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&error.at.line), "{error}: the text has {lines} lines");
        assert!(error.at.column >= 1 && !error.message.is_empty(), "{error}");
    }
}
