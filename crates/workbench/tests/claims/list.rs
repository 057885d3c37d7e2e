//! The claims of the papers, as their files list them.

use crate::root;
use serde::Deserialize;

/// A paper and its claims.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its authors, title and venue.
    pub paper: String,
    /// The file that lists the claims, from the root of the repository.
    #[serde(skip)]
    pub file: String,
    /// The claims, in the order of the paper.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One number, or one sentence that can be wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// The section, figure or table.
    pub place: String,
    pub kind: Kind,
    /// What the paper claims, in our words.
    pub claim: String,
    /// What it prints, with its unit.
    pub value: Option<String>,
    /// Which published values test it: those in which all of these keys are the same.
    #[serde(default)]
    pub rows: Vec<toml::Table>,
    /// The test that shows it: a package and a function.
    pub test: Option<String>,
    /// Why there is neither.
    pub why_not: Option<String>,
}

/// What kind of claim it is, which decides how it is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A measured or derived number.
    Number,
    /// One thing is larger than another.
    Order,
    /// How something changes.
    Shape,
    /// Two things are the same.
    Equality,
    /// A parameter of the paper's testbed or design, not a result.
    Setting,
    /// Nothing here can show it.
    NotTestable,
}

/// All papers, in the order of their files' names.
pub fn papers() -> Vec<Paper> {
    let entries = std::fs::read_dir(root().join("experiments/claims")).expect("the folder can be listed");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    let read = |name: String| {
        let file = format!("experiments/claims/{name}.toml");
        let text = std::fs::read_to_string(root().join(&file)).expect("a file");
        let paper: Paper = toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        Paper { file, ..paper }
    };
    names.into_iter().map(read).collect()
}
