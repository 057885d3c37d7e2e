//! Renders the small markup that prose may contain: paragraphs, lists, code in backticks.

use maud::{Markup, html};

pub(super) fn render(text: &str) -> Markup {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    html! {
        @for block in blocks {
            @let items: Vec<&str> = block.trim().lines().map(str::trim).collect();
            @if items.iter().all(|line| line.starts_with("- ")) {
                ul { @for item in items { li { (inline(item.trim_start_matches("- "))) } } }
            } @else {
                p { (inline(block.trim())) }
            }
        }
    }
}

/// Every second piece between backticks is code; a backtick without a partner stays a backtick.
fn inline(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split('`').collect();
    let unpaired = pieces.len().is_multiple_of(2);
    html! {
        @for (index, piece) in pieces.iter().enumerate() {
            @let last = index + 1 == pieces.len();
            @if unpaired && last { "`" (piece) }
            @else if index % 2 == 1 { code { (piece) } }
            @else { (piece) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn paragraphs_lists_and_code() {
        let html = render("One `a<b` two.\n\n- first\n- `second`\n\na ` b").into_string();
        let expected = "<p>One <code>a&lt;b</code> two.</p>\
            <ul><li>first</li><li><code>second</code></li></ul><p>a ` b</p>";
        assert_eq!(html, expected);
    }
}
