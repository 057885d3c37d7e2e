//! A network in layers: nodes in rows, edges between rows, and bundles of edges that leave at the top.
//!
//! Plain edges recede into one pale tangle; those that the reader should see have a hue and lie above it.

use super::emphasis::{Mark, Stroke, draw_node, draw_stroke};
use super::frame::{TEXT, px};
use super::legend::{self, Key};
use super::node_labels::{self, Naming, SMALL, UPRIGHT_GAP};
use super::{Drawing, Figure, WIDTH};
use crate::labels;
use crate::table::{Cell, Column, Table};
use maud::{Markup, html};

const LAYER_GAP: f64 = 112.0;
const BUNDLE_GAP: f64 = 84.0;
const NODE_HEIGHT: f64 = 15.0;
const NODE_WIDTH_MAX: f64 = 64.0;
const NODE_WIDTH_MIN: f64 = 2.0;
const LABEL_MARGIN_MAX: f64 = 150.0;

/// A place in a layered graph: layer from the bottom, node from the left.
pub type Place = (usize, usize);

#[derive(Clone, Debug, PartialEq)]
struct Node {
    label: String,
    tooltip: String,
    mark: Option<Mark>,
}

#[derive(Clone, Debug, PartialEq)]
struct Layer {
    label: String,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
struct Edge {
    from: Place,
    to: Place,
    tooltip: String,
    stroke: Option<Stroke>,
}

/// Edges from one node to a layer that is not drawn.
#[derive(Clone, Debug, PartialEq)]
struct Bundle {
    from: Place,
    label: String,
    tooltip: String,
    strands: usize,
    /// Strands that stand out, by number from the left.
    marked: Vec<(usize, Stroke, String)>,
}

/// Nodes in layers from bottom to top, edges between them, and bundles upwards. Places that do not exist are not drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct LayeredGraph {
    title: String,
    description: Option<String>,
    layers: Vec<Layer>,
    edges: Vec<Edge>,
    bundles: Vec<Bundle>,
    bundle_label: String,
    legend: Vec<(Key, String)>,
}

impl LayeredGraph {
    /// A graph without layers.
    pub fn new(title: impl Into<String>) -> Self {
        LayeredGraph {
            title: title.into(),
            description: None,
            layers: Vec::new(),
            edges: Vec::new(),
            bundles: Vec::new(),
            bundle_label: String::new(),
            legend: Vec::new(),
        }
    }

    /// Describes in words what the graph shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds an empty layer above the others.
    #[must_use]
    pub fn layer(mut self, label: impl Into<String>) -> Self {
        self.layers.push(Layer { label: label.into(), nodes: Vec::new() });
        self
    }

    /// Adds a node at the right end of a layer. Labels are shown at even steps
    /// where not all have room.
    pub fn push_node(
        &mut self,
        layer: usize,
        label: impl Into<String>,
        tooltip: impl Into<String>,
        mark: Option<Mark>,
    ) {
        if let Some(layer) = self.layers.get_mut(layer) {
            layer.nodes.push(Node { label: label.into(), tooltip: tooltip.into(), mark });
        }
    }

    /// Joins two nodes. Without a stroke the edge recedes, and its tooltip is not shown.
    pub fn push_edge(&mut self, from: Place, to: Place, tooltip: impl Into<String>, stroke: Option<Stroke>) {
        self.edges.push(Edge { from, to, tooltip: tooltip.into(), stroke });
    }

    /// What the bundles lead to.
    #[must_use]
    pub fn bundles_to(mut self, label: impl Into<String>) -> Self {
        self.bundle_label = label.into();
        self
    }

    /// Adds a bundle of `strands` edges from a node upwards; those of `marked` stand out, by number from the left.
    pub fn push_bundle(
        &mut self,
        from: Place,
        label: impl Into<String>,
        tooltip: impl Into<String>,
        strands: usize,
        marked: Vec<(usize, Stroke, String)>,
    ) {
        let (label, tooltip) = (label.into(), tooltip.into());
        self.bundles.push(Bundle { from, label, tooltip, strands, marked });
    }

    /// Names a stroke in the legend.
    #[must_use]
    pub fn explain_stroke(mut self, stroke: Stroke, name: impl Into<String>) -> Self {
        self.legend.push((Key::Edge(stroke), name.into()));
        self
    }

    /// Names a mark of nodes in the legend.
    #[must_use]
    pub fn explain_node(mut self, mark: Mark, name: impl Into<String>) -> Self {
        self.legend.push((Key::Node(mark), name.into()));
        self
    }
}

/// Computes where everything stands.
struct Layout<'a> {
    graph: &'a LayeredGraph,
    left: f64,
    top: f64,
}

impl<'a> Layout<'a> {
    fn new(graph: &'a LayeredGraph, top: f64) -> Self {
        let names = graph.layers.iter().map(|layer| &layer.label).chain([&graph.bundle_label]);
        let widest = names.map(|name| labels::width(name, TEXT)).fold(0.0, f64::max);
        Layout { graph, left: (widest + 18.0).min(LABEL_MARGIN_MAX), top }
    }

    /// Height of the row of bundles, if there is one.
    fn bundle_height(&self) -> f64 {
        if self.graph.bundles.is_empty() { 0.0 } else { BUNDLE_GAP }
    }

    /// Ordinate of a layer's middle; the highest layer is at the top. Upright names have their room above their layer.
    fn y(&self, layer: usize) -> f64 {
        let from_top = self.graph.layers.len().saturating_sub(layer + 1);
        let names: f64 =
            (layer.max(1)..self.graph.layers.len()).map(|above| self.naming(above).height()).sum();
        self.top + self.bundle_height() + NODE_HEIGHT / 2.0 + 6.0 + from_top as f64 * LAYER_GAP + names
    }

    fn names(&self, layer: usize) -> Vec<&str> {
        let nodes = self.graph.layers.get(layer).map_or(&[][..], |layer| &layer.nodes);
        nodes.iter().map(|node| node.label.as_str()).collect()
    }

    fn naming(&self, layer: usize) -> Naming {
        node_labels::naming(&self.names(layer), layer == 0, self.pitch(layer), self.node_width(layer))
    }

    /// Space for each node of a layer.
    fn pitch(&self, layer: usize) -> f64 {
        let nodes = self.graph.layers.get(layer).map_or(0, |layer| layer.nodes.len());
        (WIDTH - 8.0 - self.left) / nodes.max(1) as f64
    }

    fn x(&self, (layer, node): Place) -> f64 {
        self.left + self.pitch(layer) * (node as f64 + 0.5)
    }

    fn node_width(&self, layer: usize) -> f64 {
        let usual = (self.pitch(layer) * 0.8).clamp(NODE_WIDTH_MIN, NODE_WIDTH_MAX);
        node_labels::node_width(&self.names(layer), self.pitch(layer), usual)
    }

    fn exists(&self, (layer, node): Place) -> bool {
        self.graph.layers.get(layer).is_some_and(|layer| node < layer.nodes.len())
    }

    /// The line of an edge, from the upper side of its lower node to the lower side of its upper node. Within a layer it is
    /// an arc between the layers.
    fn line(&self, edge: &Edge) -> Option<String> {
        if !self.exists(edge.from) || !self.exists(edge.to) {
            return None;
        }
        if edge.from.0 == edge.to.0 {
            let (one, other) = (self.x(edge.from), self.x(edge.to));
            let side = if edge.from.0 == 0 { -1.0 } else { 1.0 };
            let y = self.y(edge.from.0) + side * NODE_HEIGHT / 2.0;
            let depth = y + side * (24.0 + (other - one).abs() * 0.08).min(60.0);
            let middle = px(f64::midpoint(one, other));
            return Some(format!("M{} {}Q{middle} {} {} {}", px(one), px(y), px(depth), px(other), px(y)));
        }
        let (lower, upper) =
            if edge.from.0 <= edge.to.0 { (edge.from, edge.to) } else { (edge.to, edge.from) };
        let (y_lower, y_upper) = (self.y(lower.0) - NODE_HEIGHT / 2.0, self.y(upper.0) + NODE_HEIGHT / 2.0);
        Some(format!("M{} {}L{} {}", px(self.x(lower)), px(y_lower), px(self.x(upper)), px(y_upper)))
    }

    fn height(&self) -> f64 {
        self.y(0) + self.naming(0).height() + NODE_HEIGHT / 2.0 + 28.0
    }
}

impl Layout<'_> {
    fn draw_edges(&self) -> Markup {
        let plain: String = self
            .graph
            .edges
            .iter()
            .filter(|edge| edge.stroke.is_none())
            .filter_map(|edge| self.line(edge))
            .collect();
        html! {
            @if !plain.is_empty() { path.lm-strands d=(plain) {} }
            @for edge in &self.graph.edges {
                @if let (Some(stroke), Some(line)) = (edge.stroke, self.line(edge)) {
                    (draw_stroke(stroke, &line, &edge.tooltip))
                }
            }
        }
    }

    fn draw_bundles(&self) -> Markup {
        html! {
            @for bundle in self.graph.bundles.iter().filter(|bundle| self.exists(bundle.from)) {
                (self.draw_bundle(bundle))
            }
        }
    }

    /// A wedge from the node up, with the strands that stand out.
    fn draw_bundle(&self, bundle: &Bundle) -> Markup {
        let (x, bottom) = (self.x(bundle.from), self.y(bundle.from.0) - NODE_HEIGHT / 2.0);
        let top = self.top + 20.0;
        let half = (self.pitch(bundle.from.0) * 0.44).min(90.0);
        let narrow = (self.node_width(bundle.from.0) / 2.0).min(half) * 0.6;
        let across = |strand: usize, half: f64| {
            let place = (strand as f64 + 0.5) / bundle.strands.max(1) as f64;
            x - half + 2.0 * half * place.min(1.0)
        };
        let wedge = format!(
            "M{} {}L{} {}H{}L{} {}z",
            px(x - narrow),
            px(bottom),
            px(x - half),
            px(top),
            px(x + half),
            px(x + narrow),
            px(bottom)
        );
        // Half a label says less than the tooltip.
        let fits = labels::width(&bundle.label, SMALL) <= self.pitch(bundle.from.0);
        html! {
            path.lm-bundle d=(wedge) { title { (bundle.tooltip) } }
            @for (strand, stroke, tooltip) in &bundle.marked {
                @let (from, to) = (across(*strand, narrow), across(*strand, half));
                @let line = format!("M{} {}L{} {}", px(from), px(bottom), px(to), px(top));
                (draw_stroke(*stroke, &line, tooltip))
            }
            @if fits { text.lm-small.lm-muted.lm-middle x=(px(x)) y=(px(top - 6.0)) { (bundle.label) } }
        }
    }

    fn draw_nodes(&self) -> Markup {
        html! {
            @for (index, layer) in self.graph.layers.iter().enumerate() { (self.draw_layer(index, layer)) }
        }
    }

    fn draw_layer(&self, index: usize, layer: &Layer) -> Markup {
        let (y, width, naming) = (self.y(index), self.node_width(index), self.naming(index));
        html! {
            text.lm-muted x="4" y=(px(y + 4.0)) { (labels::fit(&layer.label, TEXT, self.left - 10.0)) }
            @for (place, node) in layer.nodes.iter().enumerate() {
                @let x = self.x((index, place));
                (draw_node(node.mark, (x - width / 2.0, y - NODE_HEIGHT / 2.0), (width, NODE_HEIGHT), &node.tooltip))
            }
            @for (place, node) in layer.nodes.iter().enumerate().filter(|(place, _)| naming.shows(*place)) {
                (draw_name(node, naming, (self.x((index, place)), y), index == 0))
            }
        }
    }
}

/// The name of a node whose middle is at `x` and `y`.
fn draw_name(node: &Node, naming: Naming, (x, y): (f64, f64), is_lowest: bool) -> Markup {
    let text = naming.text(&node.label);
    let edge = NODE_HEIGHT / 2.0;
    match naming {
        Naming::Inside => {
            let class = match node.mark {
                Some(Mark::Outlined(_)) => "lm-small lm-middle",
                _ => "lm-small lm-middle lm-on-fill",
            };
            html! { text class=(class) x=(px(x)) y=(px(y + 4.0)) pointer-events="none" { (text) } }
        }
        Naming::Level { .. } => {
            let y = px(y + edge + 12.0);
            html! { text.lm-small.lm-muted.lm-middle x=(px(x)) y=(y) pointer-events="none" { (text) } }
        }
        // Edges pass behind the names of middle layers, which `lm-value` keeps readable.
        Naming::Upright { .. } => {
            let (class, y) = if is_lowest {
                ("lm-small lm-value lm-end", y + edge + UPRIGHT_GAP)
            } else {
                ("lm-small lm-value", y - edge - UPRIGHT_GAP)
            };
            let (x, y) = (px(x + 4.0), px(y));
            let turn = format!("rotate(-90 {x} {y})");
            html! { text class=(class) x=(x) y=(y) transform=(turn) pointer-events="none" { (text) } }
        }
        Naming::Nowhere => html! {},
    }
}

impl Figure for LayeredGraph {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let marked = self.edges.iter().filter(|edge| edge.stroke.is_some()).count()
            + self.bundles.iter().map(|bundle| bundle.marked.len()).sum::<usize>();
        let nodes: usize = self.layers.iter().map(|layer| layer.nodes.len()).sum();
        format!("{nodes} nodes in {} layers; {marked} edges stand out.", self.layers.len())
    }

    fn draw(&self) -> Drawing {
        let (legend, legend_height) = legend::header(0.0, "", &self.legend);
        let layout = Layout::new(self, legend_height);
        let body = html! {
            (legend)
            @if !self.bundle_label.is_empty() && !self.bundles.is_empty() {
                text.lm-muted x="4" y=(px(layout.top + 24.0)) {
                    (labels::fit(&self.bundle_label, TEXT, layout.left - 10.0))
                }
            }
            (layout.draw_edges())
            (layout.draw_bundles())
            (layout.draw_nodes())
        };
        Drawing { body, height: layout.height() }
    }

    fn data(&self) -> Table {
        let name = |(layer, node): Place| {
            self.layers.get(layer).and_then(|layer| layer.nodes.get(node)).map_or("", |node| &node.label)
        };
        let mut table = Table::new(&self.title)
            .column(Column::text("From"))
            .column(Column::text("To"))
            .column(Column::text("What"));
        for edge in self.edges.iter().filter(|edge| edge.stroke.is_some()) {
            table.push_row([
                Cell::text(name(edge.from)),
                Cell::text(name(edge.to)),
                Cell::text(&edge.tooltip),
            ]);
        }
        for bundle in &self.bundles {
            for (_, _, tooltip) in &bundle.marked {
                let to = Cell::text(&self.bundle_label);
                table.push_row([Cell::text(name(bundle.from)), to, Cell::text(tooltip)]);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Hue, Line, Plot};

    const DOWN: Stroke = Stroke { hue: Hue::Blue, line: Line::Dashed };
    const SHORT: Mark = Mark::Framed(Hue::Vermillion);

    fn graph() -> LayeredGraph {
        let mut graph = LayeredGraph::new("A <pod>").layer("low").layer("high").bundles_to("top");
        graph.push_node(0, "a", "node a", None);
        graph.push_node(0, "b", "node b", Some(SHORT));
        graph.push_node(1, "c", "node c", None);
        graph.push_edge((0, 0), (1, 0), "a to c", None);
        graph.push_edge((0, 1), (1, 0), "b & c", Some(DOWN));
        graph.push_bundle((1, 0), "2 of 3", "up", 3, vec![(1, DOWN, "second".to_owned())]);
        graph.explain_stroke(DOWN, "down").explain_node(SHORT, "short")
    }

    #[test]
    fn what_stands_out_has_a_tooltip_and_a_row() {
        let plot = Plot::from(graph());
        let svg = plot.to_svg();
        assert!(svg.contains("<title>b &amp; c</title>") && svg.contains("<title>second</title>"), "{svg}");
        assert!(!svg.contains("a to c"), "{svg}");
        assert_eq!(plot.to_csv(), "From,To,What\nb,c,b & c\nc,top,second\n");
        assert_eq!(plot.description(), "3 nodes in 2 layers; 2 edges stand out.");
    }

    /// Names that have no room in a row of nodes stand upright above it, and the layers below move down.
    #[test]
    fn every_node_of_an_upper_layer_is_named() {
        let mut graph = LayeredGraph::new("").layer("low").layer("high");
        graph.push_node(0, "leaf1", "", None);
        for spine in 0..24 {
            graph.push_node(1, format!("spine{spine}.dc1.example.com"), "", None);
        }
        graph.push_edge((1, 0), (1, 5), "peers", Some(DOWN));
        let svg = Plot::from(graph).to_svg();
        for spine in 0..24 {
            assert!(svg.contains(&format!(">spine{spine}.dc1.example.com</text>")), "{svg}");
        }
        assert!(svg.contains("rotate(-90") && svg.contains("Q"), "{svg}");
    }

    #[test]
    fn places_that_do_not_exist_are_not_drawn() {
        let mut graph = graph();
        graph.push_node(7, "x", "x", None);
        graph.push_edge((0, 9), (4, 0), "nowhere", Some(DOWN));
        graph.push_bundle((9, 9), "", "", 0, vec![(5, DOWN, "lost".to_owned())]);
        graph.push_bundle((1, 0), "", "", 0, vec![(5, DOWN, "beyond".to_owned())]);
        let svg = Plot::from(graph).to_svg();
        assert!(!svg.contains("nowhere") && !svg.contains("lost") && svg.contains("beyond"), "{svg}");
        let empty = Plot::from(LayeredGraph::new("")).to_svg();
        assert!(!empty.contains("NaN") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}
