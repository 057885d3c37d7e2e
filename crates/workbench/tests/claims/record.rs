//! Published values and the verdicts on record: those of the experiments, and the table of docs/rdma-published.md.

use crate::root;
use toml::{Table, Value};

/// The page whose table counts as an experiment, and the name of that.
const DERIVED: (&str, &str) = ("docs/rdma-published.md", "rdma-published");

/// Why a tolerance is what it is.
const REASON: &str = "tolerance-reason";

/// A published value.
#[derive(Debug)]
pub struct Row {
    /// The experiment that measures it.
    pub experiment: String,
    /// What its file says of it.
    pub table: Table,
    /// Whether it is expected by a theory rather than published.
    pub is_theory: bool,
}

impl Row {
    /// Whether a claim means it. `in` names the experiment; other keys are those of the row.
    pub fn is_selected(&self, selection: &Table) -> bool {
        selection.iter().all(|(key, value)| match key.as_str() {
            "in" => value.as_str() == Some(&self.experiment),
            key => self.table.get(key).is_some_and(|own| is_within(value, own)),
        })
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        let kept = |(key, _): &(String, Value)| {
            ["metric", "at", "over", "of", "value", "source"].contains(&key.as_str())
        };
        let table: Table = self.table.clone().into_iter().filter(kept).collect();
        format!("{}: {}", self.experiment, Value::Table(table))
    }

    /// Whether it has a tolerance, and nobody says why that is what it is.
    pub fn lacks_reason(&self) -> bool {
        self.table.contains_key("tolerance") && !self.table.contains_key(REASON)
    }

    /// The verdict on record.
    pub fn verdict(&self) -> &str {
        self.table.get("verdict").and_then(Value::as_str).unwrap_or("reproduced")
    }
}

/// Whether a value is the same as another, or a table a part of it.
fn is_within(part: &Value, whole: &Value) -> bool {
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|integer| integer as f64));
    match (part, whole) {
        (Value::Table(part), Value::Table(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|own| is_within(value, own)))
        }
        _ => part == whole || number(part).is_some() && number(part) == number(whole),
    }
}

/// All rows, in the order of files.
pub fn rows() -> Vec<Row> {
    let mut paths: Vec<_> = ["experiments", "experiments/fleet"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).expect("the folder can be listed"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a file");
        let file: Table = toml::from_str(&text).expect("TOML");
        let experiment = file["id"].as_str().expect("an id");
        for (name, is_theory) in [("published", false), ("expected", true)] {
            for table in file.get(name).and_then(Value::as_array).into_iter().flatten() {
                let mut table = table.as_table().expect("a table").clone();
                // What the file says about all of its tolerances.
                if let Some(reason) = file.get(REASON) {
                    table.entry(REASON).or_insert_with(|| reason.clone());
                }
                rows.push(Row { experiment: experiment.to_owned(), table, is_theory });
            }
        }
    }
    rows.extend(derived());
    rows
}

/// The rows of the printed table. A test of `linkmend-rdma` computes it.
fn derived() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join(DERIVED.0)).expect("the page is there");
    let (_, table) = page.split_once("```text\n").expect("the table begins");
    let mut lines = table.lines().skip(1).take_while(|line| !line.starts_with("```"));
    let head = lines.next().expect("a head");
    let [source, published, verdict, explanation] = ["Source", "Published", "Verdict", "Explanation"]
        .map(|column| head[..head.find(column).expect("a column")].chars().count());
    let cell = |line: &str, from: usize, to: usize| {
        line.chars().skip(from).take(to - from).collect::<String>().trim().to_owned()
    };
    let mut rows: Vec<[String; 2]> = Vec::new();
    for line in lines.skip(1) {
        let (metric, judged) = (cell(line, 0, source), cell(line, verdict, explanation));
        if cell(line, source, published).is_empty() {
            // A long name goes on in the next line. The last line counts the verdicts.
            let goes_on = !metric.is_empty() && !metric.ends_with(" reproduced.");
            if let Some([name, _]) = rows.last_mut().filter(|_| goes_on) {
                *name = format!("{name} {metric}");
            }
        } else if !judged.is_empty() {
            rows.push([metric, judged]);
        }
    }
    let row = |[metric, judged]: [String; 2]| {
        let verdict = judged.trim_start_matches(|mark: char| !mark.is_alphabetic()).replace(' ', "-");
        let table = Table::from_iter(
            [("metric", metric), ("verdict", verdict)]
                .map(|(key, text)| (key.to_owned(), Value::String(text))),
        );
        Row { experiment: DERIVED.1.to_owned(), table, is_theory: false }
    };
    rows.into_iter().map(row).collect()
}
