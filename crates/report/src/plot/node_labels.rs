//! Where the names of a layer's nodes have room.

use crate::labels;

/// Text of nodes and bundles, as the class `lm-small` has it.
pub(super) const SMALL: f64 = 11.0;
/// If fewer than every tenth level label fits, none is shown.
const MAX_STRIDE: usize = 10;
/// Width that one line of upright text takes.
const UPRIGHT_PITCH: f64 = 12.0;
/// Longer upright names are cut; the tooltip has the whole name.
const UPRIGHT_MAX: f64 = 190.0;
/// Space between a node and its name.
const GAP: f64 = 5.0;

/// How the names of a layer are written. Every `stride`-th node is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Naming {
    /// In the nodes.
    Inside,
    /// Under the nodes of the lowest layer.
    Level {
        stride: usize,
    },
    /// Turned by a quarter, under the lowest layer and above all others, `length` pixels long.
    Upright {
        stride: usize,
        length: f64,
    },
    Nowhere,
}

/// Chooses how `names` are written in a layer whose nodes are `node_width` wide and have `pitch` pixels each.
pub(super) fn naming(names: &[&str], is_lowest: bool, pitch: f64, node_width: f64) -> Naming {
    let widest = names.iter().map(|name| labels::width(name, SMALL)).fold(0.0, f64::max);
    if widest == 0.0 {
        return Naming::Nowhere;
    }
    if widest + 6.0 <= node_width {
        return Naming::Inside;
    }
    // A reader counts on from every second or fifth number, but not from a name.
    let are_numbers = names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let stride = ((widest + 4.0) / pitch).ceil().max(1.0) as usize;
    if is_lowest && (stride == 1 || are_numbers) {
        return if stride <= MAX_STRIDE { Naming::Level { stride } } else { Naming::Nowhere };
    }
    let stride = (UPRIGHT_PITCH / pitch).ceil().max(1.0) as usize;
    Naming::Upright { stride, length: widest.min(UPRIGHT_MAX) }
}

impl Naming {
    /// Whether the node at this place is named.
    pub fn shows(self, place: usize) -> bool {
        match self {
            Naming::Inside => true,
            Naming::Level { stride } | Naming::Upright { stride, .. } => place.is_multiple_of(stride),
            Naming::Nowhere => false,
        }
    }

    /// Height of the names outside the nodes.
    pub fn height(self) -> f64 {
        match self {
            Naming::Upright { length, .. } => length + 2.0 * GAP,
            Naming::Inside | Naming::Level { .. } | Naming::Nowhere => 0.0,
        }
    }

    /// The name, cut to what is shown of it.
    pub fn text(self, name: &str) -> String {
        match self {
            Naming::Upright { length, .. } => labels::fit(name, SMALL, length + 1.0),
            Naming::Inside | Naming::Level { .. } | Naming::Nowhere => name.to_owned(),
        }
    }
}

/// The width of nodes with these names: more than usual if that makes room for the names.
pub(super) fn node_width(names: &[&str], pitch: f64, usual: f64) -> f64 {
    let widest = names.iter().map(|name| labels::width(name, SMALL)).fold(0.0, f64::max);
    if widest + 8.0 <= pitch * 0.92 { usual.max(widest + 8.0) } else { usual }
}

/// Distance of upright text from the edge of its node.
pub(super) const UPRIGHT_GAP: f64 = GAP;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_where_they_have_room() {
        let few = ["spine1.dc1.example.com", "spine2.dc1.example.com"];
        assert_eq!(naming(&few, false, 300.0, node_width(&few, 300.0, 64.0)), Naming::Inside);
        let many = ["spine1.dc1.example.com"; 20];
        let upright = naming(&many, false, 33.0, node_width(&many, 33.0, 26.0));
        assert!(matches!(upright, Naming::Upright { stride: 1, length } if length > 100.0), "{upright:?}");
        assert_eq!(upright.text(many[0]), many[0]);
        let numbers = ["10", "11", "12"];
        assert_eq!(naming(&numbers, true, 10.0, 8.0), Naming::Level { stride: 2 });
        assert!(matches!(naming(&["leaf1"; 96], true, 7.0, 5.0), Naming::Upright { stride: 2, .. }));
        assert_eq!(naming(&[], true, 7.0, 5.0), Naming::Nowhere);
    }
}
