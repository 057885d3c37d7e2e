//! Graphs: GML, GraphML and DOT.

use super::*;

#[test]
fn gml_of_the_topology_zoo_and_of_networkx_is_read() {
    let text = "Creator \"Topology Zoo\"\nVersion \"1.0\"\ngraph [\n  directed 0\n  Network \"x\"\n  node [\n    id 0\n    label \"leaf1\"\n    \
                graphics [ x 1.0 y [ z 2 ] ]\n  ]\n  node [ id 1 label \"leaf2\" ]\n  node [ id 2 label \"Spine Z&#252;rich\" ]\n  \
                edge [ source 0 target 2 LinkSpeed \"2.5\" LinkSpeedUnits \"G\" LinkSpeedRaw 2500000000.0 ]\n  \
                edge [ source 0 target 2 LinkLabel \"10 Gbps\" ]\n  edge [ source 1 target 2 bandwidth 40 ]\n]\n";
    let loaded = read_text("zoo.gml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(
        links(&loaded.topology),
        ["leaf1--Spine Zürich#1 2500M", "leaf1--Spine Zürich#2 10G", "leaf2--Spine Zürich 100G"]
    );
    assert_eq!(loaded.understood.doubts[0].text, "1 edge has a speed without a unit, which is ignored");
}

#[test]
fn directed_graphs_have_two_edges_a_link() {
    let text = "graph [ directed 1 multigraph 1\n node [ id \"a\" label \"leaf1\" ] node [ id \"b\" label \"spine1\" ]\n \
                edge [ source \"a\" target \"b\" key 0 ] edge [ source \"b\" target \"a\" key 0 ]\n \
                edge [ source \"a\" target \"b\" key 1 ] ]";
    let loaded = read_text("g.gml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1--spine1#1 100G", "leaf1--spine1#2 100G"]);
}

#[test]
fn labels_that_several_nodes_have_are_told_apart_by_id() {
    let text = "graph [ node [ id 0 label \"leaf\" ] node [ id 1 label \"leaf\" ] node [ id 2 label \"spine\" ]\n \
                edge [ source 0 target 2 ] edge [ source 1 target 2 ] ]";
    let loaded = read_text("g.gml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf (0)--spine 100G", "leaf (1)--spine 100G"]);
    assert_eq!(
        loaded.understood.doubts[0].text,
        "2 nodes have labels that other nodes share, so their id is part of the name"
    );
}

#[test]
fn graphml_of_yed_is_read_without_its_groups() {
    let text = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/><key for="edge" id="d10" yfiles.type="edgegraphics"/>
<key for="node" id="d5" attr.name="role"/>
<graph edgedefault="directed" id="G">
<node id="n0" yfiles.foldertype="group"><data key="d6"><y:GroupNode><y:NodeLabel>Rack</y:NodeLabel></y:GroupNode></data>
<graph edgedefault="directed" id="n0:"><node id="n0::n0"><data key="d5">leaf</data>
<data key="d6"><y:ShapeNode><y:NodeLabel>sw
1</y:NodeLabel></y:ShapeNode></data></node></graph></node>
<node id="n1"><data key="d5">spine</data><data key="d6"><y:ShapeNode><y:NodeLabel>sw 2</y:NodeLabel></y:ShapeNode></data></node>
<edge id="e0" source="n0::n0" target="n1"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>100G</y:EdgeLabel></y:PolyLineEdge></data></edge>
</graph></graphml>"#;
    let loaded = read_text("drawn.graphml", text.as_bytes(), &NO_OPTIONS).unwrap();
    assert_eq!(links(&loaded.topology), ["sw 1--sw 2 100G"]);
}

#[test]
fn dot_of_ptm_is_read() {
    let text = "// cables\ngraph \"fabric\" {\n  # hosts last\n  rankdir=LR; node [shape=box]\n  \"spine1\" [function=\"spine\", memory=768]\n  \
                subgraph cluster_a { leaf1; leaf2 [role=leaf]; }\n  \"leaf1\":\"swp51\" -- \"spine1\":\"swp1\" [left_mac=\"44:38:39:00:00:01\"]\n  \
                leaf2:swp51 -- spine1:swp2 [speed=\"25G\"];\n  \"leaf1\":\"swp49\" -- \"leaf2\":\"swp49\"\n  \
                \"server01\":\"eth1\" -- \"leaf1\":\"swp1\" /* mlag */\n  \"oob-mgmt-switch\":\"swp2\" -- \"leaf1\":\"eth0\"\n}\n";
    let loaded = read_text("topology.dot", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(
        links(&loaded.topology),
        ["leaf1:swp51--spine1:swp1 100G", "leaf2:swp51--spine1:swp2 25G", "leaf1:swp49--leaf2:swp49 100G"]
    );
    assert_eq!(loaded.host_links[0].host, "server01");
    assert_eq!(loaded.understood.outside[0].name, "oob-mgmt-switch");
    assert_eq!(loaded.understood.top_guess, None);
}

#[test]
fn broken_graphs_are_refused_with_their_line() {
    let deep = format!("graph [\n{}", "a [".repeat(100_000));
    let deep_dot = format!("graph {{\n{}", "{".repeat(100_000));
    for (name, text, expected) in [
        ("g.gml", "graph [\n node [ label \"x\" ]\n]", "g.gml:2: a node needs an `id`"),
        (
            "g.gml",
            "graph [\n node [ id 0 ]\n edge [ source 0 target 7 ]\n]",
            "g.gml:3: the target `7` is not a node",
        ),
        (
            "g.gml",
            "graph [\n node [ id 0 ]\n node [ id 0 ]\n]",
            "g.gml:3: there is already a node with the id `0`",
        ),
        ("g.gml", "graph [\n node [ id 0\n", "g.gml:3: a list is not closed by `]`"),
        ("g.gml", "graph [\n node [ label \"x ]\n", "g.gml:2: a text is not closed by `\"`"),
        ("g.gml", &deep, "g.gml:2: lists are nested more than 32 deep"),
        ("g.dot", &deep_dot, "g.dot:2: graphs are nested more than 32 deep"),
        ("g.dot", "graph {\n a -- \n}", "g.dot:3: an edge has a node at both ends"),
        ("g.dot", "graph {\n a -- {b c}\n}", "g.dot:2: edges to several nodes at once are not supported"),
        ("g.dot", "graph {\n a -- b\n", "g.dot:"),
        (
            "g.dot",
            "graph {\n a:e1 -- b:e1\n a:e1 -- c:e1\n}",
            "g.dot:3: a:e1 is connected to c:e1, but at g.dot:2 to b:e1",
        ),
        ("g.graphml", "<graphml><graph>\n<node/></graph></graphml>", "g.graphml:2: a node needs an `id`"),
        (
            "g.graphml",
            "<graphml><graph><node id=\"a\"/>\n<edge source=\"a\" target=\"b\"/></graph></graphml>",
            "g.graphml:2: the target `b` is not a node",
        ),
        (
            "g.gml",
            "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]",
            "g.gml: cannot determine the layers",
        ),
    ] {
        let message = refused(name, text);
        assert!(message.starts_with(expected), "{message}");
    }
}
