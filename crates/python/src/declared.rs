//! What can be asked: declarations as JSON, from which the package makes functions, documentation and stubs.

use crate::refused;
use linkmend_experiment::Quantity;
use linkmend_sim::parameters::{PARAMETERS, Parameter, RunParameters, Runs};
use linkmend_workbench::studies::{Argument, ENTRIES};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use siphasher::sip::SipHasher24;

/// The kinds of runs, by the names that the package gives them.
const KINDS: [(&str, Runs); 3] =
    [("line-rate", Runs::LINE_RATE), ("links", Runs::LINKS), ("flows", Runs::HOSTS)];

fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Rate => "rate",
        Quantity::Size => "size",
        Quantity::Time => "time",
        Quantity::Distance => "distance",
        Quantity::Attenuation => "attenuation",
        Quantity::Count => "count",
        Quantity::LossRate => "loss-rate",
        Quantity::Share => "share",
        Quantity::Plain => "number",
        Quantity::Word => "word",
    }
}

/// The parameters of runs.
#[pyfunction]
pub fn parameters(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let described = PARAMETERS.iter().map(|parameter| {
        let all = PyDict::new(py);
        all.set_item("name", parameter.key)?;
        all.set_item("label", parameter.label)?;
        all.set_item("quantity", quantity(parameter.quantity))?;
        all.set_item("help", joined(parameter.help))?;
        all.set_item("value", parameter.value_name)?;
        all.set_item("section", parameter.section)?;
        all.set_item("is_flag", parameter.is_flag)?;
        all.set_item("words", parameter.words())?;
        let kinds = KINDS.iter().filter(|(_, runs)| parameter.runs.include(*runs));
        all.set_item("runs", kinds.map(|(name, _)| *name).collect::<Vec<_>>())?;
        Ok(all)
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// What runs measure.
#[pyfunction]
pub fn metrics(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let described = linkmend_sim::experiment::metrics().iter().map(|metric| {
        let all = PyDict::new(py);
        all.set_item("name", metric.name)?;
        all.set_item("label", metric.label)?;
        all.set_item("quantity", quantity(metric.quantity))?;
        all.set_item("unit", metric.unit_of_name())?;
        Ok(all)
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}

/// The studies, with their arguments.
#[pyfunction]
pub fn studies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let described = ENTRIES.iter().map(|entry| {
        let all = PyDict::new(py);
        all.set_item("name", entry.path.join(" "))?;
        let arguments = entry.arguments().into_iter().map(|argument| described(py, argument));
        all.set_item("arguments", arguments.collect::<PyResult<Vec<_>>>()?)?;
        Ok(all)
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}

fn described(py: Python<'_>, argument: Argument) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("name", argument.name)?;
    all.set_item("is_positional", argument.is_positional)?;
    all.set_item("is_multiple", argument.is_multiple)?;
    all.set_item("is_flag", argument.is_flag)?;
    all.set_item("is_required", argument.is_required)?;
    all.set_item("help", argument.help)?;
    all.set_item("value", argument.value)?;
    all.set_item("words", argument.words)?;
    all.set_item("default", argument.default)?;
    all.set_item("quantity", argument.quantity.map(quantity))?;
    Ok(all)
}

/// The parameters of a run as files write them: those that are set, in the order of their declarations.
#[pyfunction]
pub fn canonical(py: Python<'_>, parameters: Vec<(String, String)>) -> PyResult<Vec<(&'static str, String)>> {
    let read = read(py, parameters)?;
    Ok(PARAMETERS
        .iter()
        .filter_map(|parameter| Some((parameter.key, read.value(parameter.key)?.text)))
        .collect())
}

/// Reads the parameters of a run.
pub fn read(py: Python<'_>, written: Vec<(String, String)>) -> PyResult<RunParameters> {
    let mut read = RunParameters::default();
    for (name, value) in written {
        if Parameter::named(&name).is_none() {
            let near = PARAMETERS.iter().map(|parameter| parameter.key.replace('-', "_"));
            return Err(refused::unknown(&name, near));
        }
        read.set(&name, &value)
            .map_err(|requirement| refused::parameter(py, &name, &value, &requirement, None))?;
    }
    Ok(read)
}

/// What results depend on besides the parameters: the version, and a digest of this module's file.
#[pyfunction(pass_module)]
pub fn identity(module: &Bound<'_, PyModule>) -> PyResult<String> {
    let file = std::fs::read(module.filename()?.to_cow()?.as_ref())?;
    Ok(format!("linkmend {} {:016x}", env!("CARGO_PKG_VERSION"), SipHasher24::new().hash(&file)))
}
