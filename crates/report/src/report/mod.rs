//! A report: one HTML file with everything in it.

mod html;
mod prose;

use crate::comparison::Comparison;
use crate::plot::Plot;
use crate::table::Table;
use crate::tone::Tone;
use serde::{Deserialize, Serialize};

/// A number that the reader should see first.
#[derive(Clone, Debug, PartialEq)]
struct Headline {
    label: String,
    value: String,
    detail: String,
    tone: Tone,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    Prose(String),
    Table(Table),
    Plot(Plot),
    Folded { summary: String, text: String },
    Raw { summary: String, text: String },
}

/// A heading and the blocks below it, in the order in which they are added.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

impl Section {
    /// A section without content.
    pub fn new(heading: impl Into<String>) -> Self {
        Section { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds text: paragraphs divided by empty lines, lines starting with `- ` as a list, `` `code` `` in backticks.
    #[must_use]
    pub fn prose(self, text: impl Into<String>) -> Self {
        self.block(Block::Prose(text.into()))
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.block(Block::Table(table))
    }

    /// Adds a plot, with a link that saves its data.
    #[must_use]
    pub fn plot(self, plot: impl Into<Plot>) -> Self {
        self.block(Block::Plot(plot.into()))
    }

    /// Adds published and measured values as a table.
    #[must_use]
    pub fn comparisons(self, title: impl Into<String>, comparisons: &[Comparison]) -> Self {
        self.table(Comparison::table(title, comparisons))
    }

    /// Adds text as [`Section::prose`] does, but folded.
    #[must_use]
    pub fn folded(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.block(Block::Folded { summary: summary.into(), text: text.into() })
    }

    /// Adds text that starts folded, such as raw results or a configuration file.
    #[must_use]
    pub fn raw(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.block(Block::Raw { summary: summary.into(), text: text.into() })
    }

    /// Adds a value as folded, indented JSON.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, for example a map with keys that are not strings.
    pub fn json(self, summary: impl Into<String>, value: &impl Serialize) -> serde_json::Result<Self> {
        let text = serde_json::to_string_pretty(value)?;
        Ok(self.raw(summary, text))
    }

    /// The section as it stands in a page.
    pub fn rendered(&self) -> RenderedSection {
        RenderedSection { heading: self.heading.clone(), html: html::draw_section(self).into_string() }
    }

    fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}

/// A section as it stands in a page, so that it can be stored and used again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderedSection {
    heading: String,
    html: String,
}

/// A titled sequence of sections that becomes one self-contained HTML file.
///
/// Facts such as seed, version, machine and date come from the caller: the report reads no clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    title: String,
    subtitle: Option<String>,
    facts: Vec<(String, String)>,
    headlines: Vec<Headline>,
    sections: Vec<RenderedSection>,
}

impl Report {
    /// A report without content.
    pub fn new(title: impl Into<String>) -> Self {
        let (facts, headlines, sections) = (Vec::new(), Vec::new(), Vec::new());
        Report { title: title.into(), subtitle: None, facts, headlines, sections }
    }

    /// Sets the line below the title.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = Some(subtitle.into());
        self
    }

    /// Adds a circumstance of the run, such as its seed.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a result in large type at the top: what it is, how much, and compared with what.
    #[must_use]
    pub fn headline(
        mut self,
        label: impl Into<String>,
        value: impl Into<String>,
        detail: impl Into<String>,
        tone: Tone,
    ) -> Self {
        let (label, value, detail) = (label.into(), value.into(), detail.into());
        self.headlines.push(Headline { label, value, detail, tone });
        self
    }

    /// Adds a section at the end.
    #[must_use]
    pub fn section(self, section: Section) -> Self {
        self.rendered(section.rendered())
    }

    /// Adds a section that has been rendered before.
    #[must_use]
    pub fn rendered(mut self, section: RenderedSection) -> Self {
        self.sections.push(section);
        self
    }

    /// The whole report as one HTML file.
    pub fn to_html(&self) -> String {
        html::render(self).into_string()
    }
}
