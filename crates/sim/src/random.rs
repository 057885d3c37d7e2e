//! Random numbers: one seed per run, split into a stream per component.
