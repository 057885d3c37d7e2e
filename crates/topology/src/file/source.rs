//! From a path to a network or its cables, whatever the format.

use super::formats::{Format, recognise};
use super::sketch::Sketch;
use super::some_of::some_of;
use super::yaml::{self, Text};
use super::{
    Loaded, PortCable, TopologyFault, TopologyFileError, TopologyFileOptions, containerlab, dot, gml,
    graphml, htsim, layered, lldp, netbox, netlab, sonic, table,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of SONiC that a folder may have for each switch, in folders of their own.
const SONIC_FILES: [&str; 2] = ["config_db.json", "minigraph.xml"];

/// What a path leads to.
enum Source {
    Layered(Text),
    Htsim(Text),
    Lldp { directory: PathBuf, dumps: Vec<PathBuf> },
    Sketch(Sketch),
}

/// Reads a network from a file, or from a directory with a file of each switch.
///
/// # Errors
/// If a file cannot be read, is of no known format, or describes something that is no layered network in which every ToR
/// has a path to the top; with file and line.
pub fn read_topology(path: &Path, options: &TopologyFileOptions) -> Result<Loaded, TopologyFileError> {
    match open(path)? {
        Source::Layered(Text { file, text }) => layered::read(text, file, options),
        Source::Htsim(Text { file, text }) => htsim::read(&text, file, options),
        Source::Lldp { directory, dumps } => lldp::read(&directory, dumps, options),
        Source::Sketch(sketch) => sketch.build(options),
    }
}

/// Reads the cables whose ports are named at both ends, from a file or directory of any format. Layers do not matter.
///
/// # Errors
/// As [`read_topology`], but for what concerns layers.
pub fn read_cables(path: &Path) -> Result<Vec<PortCable>, TopologyFileError> {
    match open(path)? {
        Source::Layered(Text { file, text }) => layered::cables(&text, &file),
        Source::Htsim(Text { file, text }) => htsim::cables(&text, file),
        Source::Lldp { directory, dumps } => lldp::cables(&directory, &dumps),
        Source::Sketch(sketch) => Ok(sketch.cables()),
    }
}

/// Reads the content of a file that describes a whole network; `file` is the name that messages use. LLDP dumps also
/// need rules: see [`parse_lldp`](super::parse_lldp).
///
/// # Errors
/// As [`read_topology`].
pub fn parse_topology(
    content: Vec<u8>,
    file: &str,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    let text = Text::new(content, file.to_owned())?;
    match recognise(&text.text, file)? {
        Format::Layered => layered::read(text.text, text.file, options),
        Format::Htsim => htsim::read(&text.text, text.file, options),
        Format::Lldp => Err(TopologyFault::NoRules.at(file, None)),
        format => sketch(format, text, &BTreeMap::new())?.build(options),
    }
}

fn open(path: &Path) -> Result<Source, TopologyFileError> {
    if path.is_dir() {
        return folder(path);
    }
    let text = yaml::read(path)?;
    match recognise(&text.text, &text.file)? {
        Format::Layered => Ok(Source::Layered(text)),
        Format::Htsim => Ok(Source::Htsim(text)),
        Format::Lldp => {
            let directory = path.parent().unwrap_or(Path::new(".")).to_owned();
            Ok(Source::Lldp { directory, dumps: vec![path.to_owned()] })
        }
        format => {
            let roles = match format {
                Format::Table | Format::NetBox => roles_beside(path)?,
                _ => BTreeMap::new(),
            };
            sketch(format, text, &roles).map(Source::Sketch)
        }
    }
}

/// Lists of cables in a folder, as NetBox exports them.
const CABLES: [&str; 2] = ["cables.json", "cables.csv"];

/// What a file says, if it is of a format whose layers are inferred.
fn sketch(format: Format, text: Text, roles: &BTreeMap<String, String>) -> Result<Sketch, TopologyFileError> {
    let Text { file, text: content } = text;
    match format {
        Format::Containerlab => containerlab::read(&content, file),
        Format::Netlab => netlab::read(&content, file),
        Format::GraphMl => graphml::read(&content, file),
        Format::Gml => gml::read(&content, file),
        Format::Dot => dot::read(&content, file),
        Format::NetBox => netbox::read(&content, file, roles),
        Format::Table => table::read(&content, file, roles),
        Format::ConfigDb | Format::Minigraph => {
            sonic::read(std::iter::once(Ok(sonic::File { text: Text { file, text: content }, format })))
        }
        Format::Layered | Format::Htsim | Format::Lldp => Err(TopologyFault::NoRules.at(&file, None)),
    }
}

/// A folder has a list of cables with one of devices beside it, LLDP dumps, or files of SONiC. CONFIG_DBs beside dumps say
/// what aliases mean.
fn folder(directory: &Path) -> Result<Source, TopologyFileError> {
    if let Some(cables) = CABLES.iter().map(|name| directory.join(name)).find(|path| path.is_file()) {
        return open(&cables);
    }
    let mut found: Vec<(PathBuf, Format)> = Vec::new();
    let mut strange: Vec<String> = Vec::new();
    for path in files_of_switches(directory)? {
        let text = yaml::read(&path)?;
        match recognise(&text.text, &text.file) {
            Ok(Format::Lldp) => {
                let dumps = lldp::dumps_in(directory)?;
                return Ok(Source::Lldp { directory: directory.to_owned(), dumps });
            }
            Ok(format @ (Format::ConfigDb | Format::Minigraph)) => found.push((path, format)),
            _ => strange
                .push(path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()),
        }
    }
    if found.is_empty() {
        // The reader of dumps says what is missing.
        let dumps = lldp::dumps_in(directory)?;
        return Ok(Source::Lldp { directory: directory.to_owned(), dumps });
    }
    let file = |(path, format): (PathBuf, Format)| Ok(sonic::File { text: yaml::read(&path)?, format });
    let mut sketch = sonic::read(found.into_iter().map(file))?;
    if !strange.is_empty() {
        sketch.warnings.push(format!(
            "left out files that are neither a CONFIG_DB nor a minigraph: {}",
            some_of(&strange)
        ));
    }
    Ok(Source::Sketch(sketch))
}

/// JSON and XML files of a folder, and SONiC's files in the folders of switches, in order of their names.
fn files_of_switches(directory: &Path) -> Result<Vec<PathBuf>, TopologyFileError> {
    let io = |source| TopologyFileError::Io { file: directory.display().to_string(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_dir() {
            files.extend(SONIC_FILES.iter().map(|name| path.join(name)).filter(|path| path.is_file()));
        } else if path.extension().is_some_and(|extension| extension == "json" || extension == "xml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The roles that a list of devices beside a list of cables has: `devices.csv` beside `cables.csv`.
fn roles_beside(path: &Path) -> Result<BTreeMap<String, String>, TopologyFileError> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let of_cables = stem.replace("cables", "devices").replace("cable", "device");
    for name in [of_cables.as_str(), "devices"].into_iter().filter(|name| *name != stem) {
        for extension in ["csv", "json"] {
            let beside = path.with_file_name(format!("{name}.{extension}"));
            if beside.is_file() {
                let text = yaml::read(&beside)?;
                return if extension == "csv" { table::roles(&text) } else { netbox::roles(&text) };
            }
        }
    }
    Ok(BTreeMap::new())
}
