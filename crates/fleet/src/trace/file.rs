//! Trace files of any format. The end of a file's name determines its format.

use super::{AuthorsTrace, Trace, read_authors, read_csv, read_parquet, write_csv, write_parquet};
use crate::FileError;
use linkmend_topology::{FabricParameters, Topology};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The format of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON of the authors' simulator, which names its network. This format can only be read.
    Authors,
    /// Parquet; the name ends in `.parquet`.
    Parquet,
    /// CSV, for any other name.
    Csv,
}

impl TraceFormat {
    /// The format of a file with this name.
    pub fn from_path(path: &Path) -> TraceFormat {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => TraceFormat::Authors,
            Some("parquet") => TraceFormat::Parquet,
            _ => TraceFormat::Csv,
        }
    }
}

/// A trace file, which may include a description of its network.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    format: TraceFormat,
    authors: Option<AuthorsTrace>,
}

impl TraceFile {
    /// Opens a file, and reads it if it describes its network.
    ///
    /// # Errors
    /// If it is one of the authors' files and cannot be read.
    pub fn open(path: &Path) -> Result<TraceFile, FileError> {
        let format = TraceFormat::from_path(path);
        let authors = match format {
            TraceFormat::Authors => Some(read_authors(path)?),
            TraceFormat::Parquet | TraceFormat::Csv => None,
        };
        Ok(TraceFile { path: path.to_owned(), format, authors })
    }

    /// The network that the file was made for, if it says so.
    pub fn fabric(&self) -> Option<FabricParameters> {
        self.authors.as_ref().map(|authors| authors.fabric)
    }

    /// Reads the trace for this network.
    ///
    /// # Errors
    /// If it was made for another network, or cannot be read.
    pub fn for_network(self, topology: &Topology) -> Result<Trace, FileError> {
        let file = self.path.display().to_string();
        match (self.authors, self.format) {
            (Some(AuthorsTrace { fabric, trace }), _) if topology.fabric() == Some(fabric) => Ok(trace),
            (Some(AuthorsTrace { fabric, .. }), _) => {
                Err(FileError::OtherNetwork { file, network: fabric.to_string() })
            }
            (None, TraceFormat::Parquet) => read_parquet(&self.path, topology),
            (None, _) => match File::open(&self.path) {
                Ok(reader) => read_csv(BufReader::new(reader), &file, topology),
                Err(source) => Err(FileError::Io { file, source }),
            },
        }
    }
}

/// Writes a trace to the file of this path in the format that its name determines: Parquet, or else CSV.
///
/// # Errors
/// If the file cannot be written.
pub fn write_trace(trace: &Trace, topology: &Topology, path: &Path, file: File) -> std::io::Result<()> {
    if TraceFormat::from_path(path) == TraceFormat::Parquet {
        return write_parquet(trace, topology, file).map_err(std::io::Error::other);
    }
    let mut writer = BufWriter::new(file);
    write_csv(trace, topology, &mut writer)?;
    writer.flush()
}
