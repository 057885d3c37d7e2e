//! docs/parameters.md lists what can be set and what is measured. `UPDATE_EXPECT=1` writes it anew.

use linkmend_sim::experiment::metrics;
use linkmend_sim::parameters::{PARAMETERS, Parameter, Runs};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# Parameters and measured values of runs

The same names are used everywhere. A parameter is an option of `linkmend sim stress`, `sim flows`, \
`sim timeline` or `sim links` (with two hyphens before its name), and a key of the files that `linkmend sim run` and \
`linkmend reproduce` read. It is also a column of their tables, and can be on the x-axis of a plot. A measured value can \
be on either axis.

Hosts send flows if `transport` is set. Otherwise a generator sends frames at line rate over one link, or generators send over \
several links, both ways, in both classes or with a loss rate that changes, if a parameter of such runs is set.
";

fn row(text: &mut String, parameter: &Parameter) {
    let kinds = [(Runs::LINE_RATE, "line rate"), (Runs::LINKS, "links"), (Runs::HOSTS, "hosts")];
    let kinds = kinds.into_iter().filter(|(runs, _)| parameter.runs.include(*runs));
    let kinds: Vec<&str> = kinds.map(|(_, name)| name).collect();
    let runs = if kinds.len() == 3 { "all".to_owned() } else { kinds.join(", ") };
    let help =
        parameter.help.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let words = parameter.words();
    let value = match (parameter.is_flag, words.is_empty()) {
        (true, _) => "true, false".to_owned(),
        (false, true) => parameter.value_name.replace('|', " or "),
        (false, false) => words.join(", "),
    };
    writeln!(text, "| `{}` | {value} | {runs} | {help} |", parameter.key).expect("memory");
}

fn reference() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    for parameter in PARAMETERS {
        if parameter.section != section {
            section = parameter.section;
            write!(text, "\n## {section}\n\n| key | value | runs | |\n| --- | --- | --- | --- |\n")
                .expect("memory");
        }
        row(&mut text, parameter);
    }
    text.push_str("\n## Measured values\n\n| name | |\n| --- | --- |\n");
    for metric in metrics() {
        writeln!(text, "| `{}` | {} |", metric.name, metric.label).expect("memory");
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it asks for the page to be written anew")]
fn the_page_lists_every_parameter_and_every_measured_value() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let expected = reference();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("it can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "UPDATE_EXPECT=1 cargo test -p linkmend-sim --test reference writes {}",
        path.display()
    );
}
