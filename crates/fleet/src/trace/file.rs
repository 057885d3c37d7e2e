//! Trace files of any format. The end of a file's name determines its format.

use super::{AuthorsTrace, Trace, read_authors, read_csv};
use crate::FileError;
use linkmend_topology::{FabricParameters, Topology};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What Parquet files begin with.
const PARQUET: &[u8] = b"PAR1";

/// The format of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON of the authors' simulator, which names its network. This format can only be read.
    Authors,
    /// CSV, for any other name.
    Csv,
}

impl TraceFormat {
    /// The format of a file with this name.
    pub fn from_path(path: &Path) -> TraceFormat {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => TraceFormat::Authors,
            _ => TraceFormat::Csv,
        }
    }
}

/// A trace file, which may include a description of its network.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
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
            TraceFormat::Csv => None,
        };
        Ok(TraceFile { path: path.to_owned(), authors })
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
        match self.authors {
            Some(AuthorsTrace { fabric, trace }) if topology.fabric() == Some(fabric) => Ok(trace),
            Some(AuthorsTrace { fabric, .. }) => {
                Err(FileError::OtherNetwork { file, network: fabric.to_string() })
            }
            None => read_table(&self.path, file, topology),
        }
    }
}

fn read_table(path: &Path, file: String, topology: &Topology) -> Result<Trace, FileError> {
    let mut reader = match File::open(path) {
        Ok(opened) => BufReader::new(opened),
        Err(source) => return Err(FileError::Io { file, source }),
    };
    match reader.fill_buf() {
        Ok(begin) if begin.starts_with(PARQUET) => Err(FileError::Parquet { file }),
        _ => read_csv(reader, &file, topology),
    }
}
