//! Values that are lists: links in a row, and loss rates one after the other.

use linkmend_quantity::{BitRate, LossRate, Span};
use std::fmt;
use std::str::FromStr;

/// Links in a row: as many as there are, all alike, or one by one.
#[derive(Debug, Clone, PartialEq)]
pub enum Hops {
    Alike(u32),
    Listed(Vec<Hop>),
}

/// One link of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// Of both directions.
    pub speed: BitRate,
    /// Its loss rate, if it is not that of the run.
    pub loss: Option<LossRate>,
    /// Whether nothing protects it.
    pub off: bool,
}

impl FromStr for Hops {
    type Err = String;

    fn from_str(text: &str) -> Result<Hops, String> {
        if let Ok(count) = text.trim().parse() {
            return Ok(Hops::Alike(count));
        }
        text.split('/').map(str::parse).collect::<Result<_, _>>().map(Hops::Listed)
    }
}

impl FromStr for Hop {
    type Err = String;

    fn from_str(text: &str) -> Result<Hop, String> {
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let off = parts.len() > 1 && parts.pop_if(|last| *last == "off").is_some();
        let (speed, loss) = match parts[..] {
            [speed] => (speed, None),
            [speed, loss] => (speed, Some(loss)),
            _ => return Err(format!("`{text}` is not RATE[,LOSS][,off]; write it like 25G,1e-3 or 25G,off")),
        };
        let speed = speed.parse().map_err(|error| format!("{error}"))?;
        let loss = loss.map(str::parse).transpose().map_err(|error| format!("{error}"))?;
        Ok(Hop { speed, loss, off })
    }
}

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hops::Alike(count) => count.fmt(f),
            Hops::Listed(hops) => joined(f, hops),
        }
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.speed.fmt(f)?;
        self.loss.map_or(Ok(()), |loss| write!(f, ",{loss}"))?;
        if self.off { f.write_str(",off") } else { Ok(()) }
    }
}

/// Loss rates one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases(pub Vec<PhaseText>);

/// How long a loss rate lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseText(pub Span, pub LossRate);

impl FromStr for Phases {
    type Err = String;

    fn from_str(text: &str) -> Result<Phases, String> {
        let phase = |text: &str| {
            let requirement = || format!("`{text}` is not TIME,LOSS; write it like 5ms,1e-3");
            let (duration, loss) = text.split_once(',').ok_or_else(requirement)?;
            let duration = duration.trim().parse().map_err(|error| format!("{error}"))?;
            Ok(PhaseText(duration, loss.trim().parse().map_err(|error| format!("{error}"))?))
        };
        text.split('/').map(phase).collect::<Result<_, String>>().map(Phases)
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(f, &self.0)
    }
}

impl fmt::Display for PhaseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.0, self.1)
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display]) -> fmt::Result {
    let texts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    f.write_str(&texts.join("/"))
}
