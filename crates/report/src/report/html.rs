//! Renders the page around tables and plots.

use super::{Block, Headline, RenderedSection, Report, Section, prose};
use crate::plot::{Plot, style_sheet};
use crate::table::Table;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const PAGE_STYLE: &str = include_str!("style.css");

pub(super) fn render(report: &Report) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                style { (PreEscaped(PAGE_STYLE)) (PreEscaped(style_sheet())) }
            }
            body {
                header {
                    h1 { (report.title) }
                    @if let Some(subtitle) = &report.subtitle { p.lm-subtitle { (subtitle) } }
                    (facts(&report.facts))
                }
                main {
                    (headlines(&report.headlines))
                    (contents(&report.sections))
                    @for (index, section) in report.sections.iter().enumerate() {
                        section id=(format!("section-{}", index + 1)) { (PreEscaped(&section.html)) }
                    }
                }
            }
        }
    }
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl.lm-facts {
                @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}

fn headlines(headlines: &[Headline]) -> Markup {
    html! {
        @if !headlines.is_empty() {
            div.lm-headlines {
                @for headline in headlines {
                    div class=(format!("lm-headline {}", headline.tone.class()).trim_end()) {
                        div.lm-headline-label { (headline.label) }
                        div.lm-headline-value { (headline.value) }
                        div.lm-headline-detail { (headline.detail) }
                    }
                }
            }
        }
    }
}

/// Links to the sections, if there are at least four; a shorter report needs none.
fn contents(sections: &[RenderedSection]) -> Markup {
    html! {
        @if sections.len() > 3 {
            nav.lm-contents aria-label="Contents" {
                @for (index, section) in sections.iter().enumerate() {
                    a href=(format!("#section-{}", index + 1)) { (section.heading) }
                }
            }
        }
    }
}

pub(super) fn draw_section(section: &Section) -> Markup {
    html! {
        h2 { (section.heading) }
        @for block in &section.blocks {
            @match block {
                Block::Prose(text) => { (prose::render(text)) }
                Block::Table(table) => { (draw_table(table)) }
                Block::Plot(plot) => { (draw_plot(plot)) }
                Block::Folded { summary, text } => {
                    details { summary { (summary) } div.lm-folded { (prose::render(text)) } }
                }
                Block::Raw { summary, text } => { details { summary { (summary) } pre { code { (text) } } } }
            }
        }
    }
}

fn draw_table(table: &Table) -> Markup {
    html! {
        (table.markup())
        (download(table.title(), &table.to_csv()))
    }
}

fn draw_plot(plot: &Plot) -> Markup {
    html! {
        figure.lm-figure {
            div.lm-scroll { (plot.inline_svg()) }
            @if let Some(caption) = plot.caption() { figcaption { (caption) } }
        }
        (download(plot.title(), &plot.to_csv()))
    }
}

/// A link that contains the data, so that the report stays a single file.
fn download(title: &str, csv: &str) -> Markup {
    let name = format!("{}.csv", slug(title));
    html! {
        p.lm-download { a download=(name) href=(format!("data:text/csv;charset=utf-8,{}", percent_encode(csv))) {
            "Data (CSV)"
        } }
    }
}

/// Lower-case letters and digits with hyphens between them, at most 60.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.chars().take(60) {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "data".to_owned() } else { slug.to_owned() }
}

fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 4);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_downloads_are_plain() {
        assert_eq!(slug("Goodput: 25G / 100G"), "goodput-25g-100g");
        assert_eq!(slug("…"), "data");
        assert_eq!(percent_encode("a b\nµ"), "a%20b%0A%C2%B5");
    }
}
