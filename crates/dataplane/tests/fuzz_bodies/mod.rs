//! The body of the fuzz target of capture filters. The target under `fuzz/` includes this file, and so does the ordinary
//! test, which replays the committed corpus with it.

use linkmend_control::Side;
use linkmend_dataplane::capture::{Filter, Layers};

/// An expression, and behind its line a frame. Negated twice, an expression means the same; negated once, the opposite.
pub fn capture_filter(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (text, frame) = (String::from_utf8_lossy(&data[..end]), data.get(end + 1..).unwrap_or_default());
    let layers = [false, true].map(|is_tagged| Layers::parse(Side::Link, is_tagged, frame));
    match Filter::parse(&text) {
        Ok(filter) if !text.trim().is_empty() => {
            let negated = |count| Filter::parse(&format!("{}({text})", "not ".repeat(count)));
            // An expression as deep as is allowed leaves no room for more.
            let (Ok(once), Ok(twice)) = (negated(1), negated(2)) else { return };
            for layers in &layers {
                assert_eq!(filter.passes(layers), !once.passes(layers), "{text}");
                assert_eq!(filter.passes(layers), twice.passes(layers), "{text}");
            }
        }
        Ok(filter) => {
            assert!(layers.iter().all(|layers| filter.passes(layers)), "an empty filter passes all")
        }
        Err(error) => assert!(error.filter == text && !error.problem.is_empty(), "{error}"),
    }
}
