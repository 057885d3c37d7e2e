//! The points of a sweep: every combination of the values that an experiment file lists.

use crate::error::{ExperimentError, Source};
use linkmend_quantity::Count;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use toml::{Spanned, Table, Value};

/// Parameters and their values as written, each with its position in the file.
pub type Settings = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The parameters that an experiment varies, by the names that files and command lines use.
pub trait Parameters: Clone + Debug + DeserializeOwned {
    /// The names of all parameters, in the order of tables.
    fn keys() -> impl Iterator<Item = &'static str>;

    /// The heading of a parameter in tables.
    fn label_of(key: &str) -> &'static str;

    /// The value of a parameter, if it has one.
    fn value_of(&self, key: &str) -> Option<crate::Value>;

    /// Whether a value is understood without its heading, like `100G`.
    fn needs_no_heading(key: &str) -> bool;

    /// A value below its heading, as people write it.
    fn in_words(_key: &str, value: &str) -> String {
        value.to_owned()
    }

    /// A value of a parameter in words that need no heading.
    fn word(key: &str, value: String) -> String {
        let words = Self::in_words(key, &value);
        if Self::needs_no_heading(key) { words } else { format!("{} {words}", Self::label_of(key)) }
    }

    /// Whether a parameter only decides how long a run takes, so that points are not told apart by it.
    fn only_lengthens(_key: &str) -> bool {
        false
    }
}

/// The largest number of points of one experiment: a guard against a product of long lists.
pub const POINTS_MAX: usize = 10_000;
/// The largest number of independent runs that are pooled at one point.
const RUNS_MAX: u64 = 10_000_000;
/// The key of an experiment file that is not a parameter of a run.
const RUNS: &str = "runs";

/// One combination of values.
#[derive(Debug)]
pub struct Combination<P> {
    /// The parameters as they are written.
    pub parameters: P,
    /// How many independent runs are pooled.
    pub runs: u64,
    /// The position in the file at which each parameter is set.
    pub places: Vec<(String, usize)>,
    /// The position at which the sweep, or else the base, begins.
    pub place: Option<usize>,
}

impl<P> Combination<P> {
    /// The position at which a parameter is set, or else that of the sweep.
    pub fn place_of(&self, parameter: &str) -> Option<usize> {
        self.places.iter().find(|(name, _)| name == parameter).map(|(_, at)| *at).or(self.place)
    }
}

/// All combinations: each sweep is the product of its lists, on top of what the base sets.
///
/// # Errors
/// The first value that is impossible, with its line; or that there are more than [`POINTS_MAX`] combinations.
pub fn combinations<P: Parameters>(
    source: Source<'_>,
    base: &Settings,
    sweeps: &[Settings],
) -> Result<Vec<Combination<P>>, ExperimentError> {
    let empty = Settings::new();
    let sweeps: Vec<&Settings> = if sweeps.is_empty() { vec![&empty] } else { sweeps.iter().collect() };
    let mut all = Vec::new();
    for sweep in sweeps {
        // A sweep's settings replace those of the base.
        let mut settings: Vec<(&Spanned<String>, &Spanned<Value>)> =
            base.iter().filter(|(key, _)| !sweep.contains_key(*key)).chain(sweep).collect();
        settings.sort_by_key(|(key, _)| key.span().start);
        let axes = settings
            .iter()
            .map(|(key, value)| Axis::new::<P>(source, key, value))
            .collect::<Result<Vec<_>, _>>()?;
        let size = axes.iter().try_fold(1_usize, |size, axis| size.checked_mul(axis.values.len()));
        let place = sweep.keys().chain(base.keys()).map(|key| key.span().start).next();
        let fits = size.and_then(|size| size.checked_add(all.len())).is_some_and(|total| total <= POINTS_MAX);
        if !fits {
            return Err(source.error(place, format!("the sweep has more than {POINTS_MAX} points")));
        }
        for index in 0..size.unwrap_or(0) {
            all.push(combination(source, &axes, index, place)?);
        }
    }
    Ok(all)
}

/// A parameter and the values it takes.
struct Axis<'a> {
    key: &'a str,
    place: usize,
    values: Vec<&'a Value>,
}

impl<'a> Axis<'a> {
    fn new<P: Parameters>(
        source: Source<'_>,
        key: &'a Spanned<String>,
        value: &'a Spanned<Value>,
    ) -> Result<Self, ExperimentError> {
        let name = key.get_ref().as_str();
        let place = key.span().start;
        let values: Vec<&Value> = match value.get_ref() {
            Value::Array(values) => values.iter().collect(),
            value => vec![value],
        };
        if values.is_empty() {
            return Err(source.error(Some(place), format!("`{name}` has no value")));
        }
        let mut texts: Vec<String> = Vec::new();
        for value in &values {
            let text = check::<P>(source, name, value, place)?;
            if texts.contains(&text) {
                let message = format!("`{name}` lists {text} twice; leave one of them out");
                return Err(source.error(Some(place), message));
            }
            texts.push(text);
        }
        Ok(Axis { key: name, place, values })
    }
}

/// Checks one value, so that an error can name its position, and writes it as it is shown.
fn check<P: Parameters>(
    source: Source<'_>,
    name: &str,
    value: &Value,
    place: usize,
) -> Result<String, ExperimentError> {
    let text = match name {
        RUNS => runs(value).map(|runs| runs.to_string()),
        _ => read_one::<P>(name, value)
            .map(|one| one.value_of(name).map_or_else(|| value.to_string(), |value| value.text)),
    };
    text.map_err(|message| source.error(Some(place), message))
}

/// A single parameter.
fn read_one<P: Parameters>(name: &str, value: &Value) -> Result<P, String> {
    if !P::keys().any(|key| key == name) {
        let known: Vec<&str> = P::keys().collect();
        return Err(format!("unknown key `{name}`, expected {RUNS} or one of {}", known.join(", ")));
    }
    let table: Table = [(name.to_owned(), value.clone())].into_iter().collect();
    P::deserialize(Value::Table(table))
        .map_err(|error| format!("{name}: {}", error.message().trim_end().replace('\n', ", ")))
}

fn runs(value: &Value) -> Result<u64, String> {
    let count = Count::deserialize(value.clone())
        .map_err(|error| format!("{RUNS}: {}", error.message().trim_end().replace('\n', ", ")))?;
    if (1..=RUNS_MAX).contains(&count.0) {
        Ok(count.0)
    } else {
        Err(format!("{RUNS} = {}: must be from 1 to {RUNS_MAX}", count.0))
    }
}

/// The combination with this index; the last axis varies fastest.
fn combination<P: Parameters>(
    source: Source<'_>,
    axes: &[Axis<'_>],
    index: usize,
    place: Option<usize>,
) -> Result<Combination<P>, ExperimentError> {
    let mut left = index;
    let mut table = Table::new();
    let mut pooled = 1;
    for axis in axes.iter().rev() {
        let value = axis.values[left % axis.values.len()];
        left /= axis.values.len();
        if axis.key == RUNS {
            pooled = runs(value).map_err(|message| source.error(Some(axis.place), message))?;
        } else {
            table.insert(axis.key.to_owned(), value.clone());
        }
    }
    let parameters = P::deserialize(Value::Table(table))
        .map_err(|error| source.error(place, error.message().trim_end().replace('\n', ", ")))?;
    let places = axes.iter().map(|axis| (axis.key.to_owned(), axis.place)).collect();
    Ok(Combination { parameters, runs: pooled, places, place })
}

/// Selects points: for each parameter, the values that it may have, as text.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    wanted: Vec<Wanted>,
}

/// The values that are wanted of a parameter.
#[derive(Debug, Clone)]
struct Wanted {
    key: String,
    /// Puts its values in words that need no heading.
    word: fn(&str, String) -> String,
    /// Where tables show it, counted from the left.
    rank: usize,
    values: Vec<String>,
}

impl Selection {
    /// Reads a selection: values of parameters.
    ///
    /// # Errors
    /// The first value that is impossible, with its line.
    pub fn read<P: Parameters>(
        source: Source<'_>,
        settings: &Settings,
    ) -> Result<Selection, ExperimentError> {
        let mut wanted = Vec::new();
        for (key, value) in settings {
            let name = key.get_ref().as_str();
            let at = Some(key.span().start);
            let values: Vec<&Value> = match value.get_ref() {
                Value::Array(values) => values.iter().collect(),
                value => vec![value],
            };
            let mut texts = Vec::new();
            for value in values {
                let one: P = read_one(name, value).map_err(|message| source.error(at, message))?;
                texts.extend(one.value_of(name).map(|value| value.text));
            }
            wanted.push(Wanted {
                key: name.to_owned(),
                word: P::word,
                rank: P::keys().position(|key| key == name).unwrap_or(usize::MAX),
                values: texts,
            });
        }
        Ok(Selection { wanted })
    }

    /// Whether these parameters are selected. They must be resolved.
    pub fn matches(&self, parameters: &impl Parameters) -> bool {
        self.wanted.iter().all(|Wanted { key, values, .. }| {
            parameters.value_of(key).is_some_and(|value| values.contains(&value.text))
        })
    }

    /// The parameters with their values, in words: `100G, ordered`.
    pub fn describe(&self) -> String {
        let words = |wanted: &Wanted| (wanted.word)(&wanted.key, wanted.values.join(" or "));
        let mut parts: Vec<&Wanted> = self.wanted.iter().collect();
        parts.sort_by_key(|wanted| wanted.rank);
        parts.into_iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

/// Parameters and values that replace a point's own: those of the points with which others are compared.
#[derive(Debug, Clone)]
pub struct Replacement(Selection);

impl Replacement {
    /// Replaces parameters by the values of a selection. `None` if a parameter has several.
    pub fn new(values: Selection) -> Option<Replacement> {
        values.wanted.iter().all(|wanted| wanted.values.len() == 1).then_some(Replacement(values))
    }

    /// The value that replaces a parameter's own.
    pub fn value_of(&self, key: &str) -> Option<&str> {
        let wanted = self.0.wanted.iter().find(|wanted| wanted.key == key)?;
        wanted.values.first().map(String::as_str)
    }

    /// The parameters with their values, in words: `100G, ordered`.
    pub fn describe(&self) -> String {
        self.0.describe()
    }
}
