//! The native half of the Python package `linkmend`: declarations, studies and runs. The other half, in `python/linkmend`,
//! turns keywords into arguments, and results into what notebooks show.
//!
//! - `declared` lists what can be asked: the parameters of runs, what they measure, and the studies with their arguments.
//! - `study` executes a study, `run` a single run, both without the interpreter's lock.
//! - `frame` hands tables over as Arrow streams.
//! - `refused` turns errors into exceptions.

mod declared;
mod frame;
mod refused;
mod run;
mod study;

use pyo3::prelude::*;

/// The module `linkmend._native`.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    refused::add_to(module)?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<study::Result>()?;
    for function in [
        wrap_pyfunction!(declared::parameters, module)?,
        wrap_pyfunction!(declared::metrics, module)?,
        wrap_pyfunction!(declared::studies, module)?,
        wrap_pyfunction!(declared::identity, module)?,
        wrap_pyfunction!(declared::canonical, module)?,
        wrap_pyfunction!(study::call, module)?,
        wrap_pyfunction!(run::measure, module)?,
        wrap_pyfunction!(run::check, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
