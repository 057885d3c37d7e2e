"""A netlab plug-in: `linkmend.loss` on a link of two nodes puts a link end of Linkmend before each of them, and corrupts
that share of the frames between the link ends.

The two nodes keep their addresses and stay neighbours, because link ends are wires to them. Other attributes are
`linkmend.mode` (ordered or non-blocking) and `linkmend.image` (by default, linkmend).
"""

from box import Box
from netsim.utils import log

HEADER_BYTES = 8
HOST_MTU = 1500


def init(topology: Box) -> None:
    topology.defaults.attributes.link.linkmend = {
        "loss": {"type": "float", "min_value": 0, "max_value": 1},
        "mode": {"type": "str", "valid_values": ["ordered", "non-blocking"]},
        "image": "str",
    }
    for number, link in enumerate(_protected(topology), 1):
        wanted = link.linkmend or {}
        environment = {"LINKMEND_INNER": "eth1", "LINKMEND_LINK": "eth2"}
        if "loss" in wanted:
            environment["LINKMEND_CORRUPT"] = str(wanted["loss"])
        if "mode" in wanted:
            environment["LINKMEND_OPTIONS"] = f"--mode {wanted['mode']}"
        for name in _end_names(number):
            topology.nodes[name] = {
                "name": name, "device": "linux", "clab": {"image": wanted.get("image", "linkmend"), "env": environment}, "module": [],
            }


def post_transform(topology: Box) -> None:
    for number, link in enumerate(_protected(topology), 1):
        if topology.provider != "clab":
            problem = f"the provider is {topology.provider}, but only clab runs link ends"
        elif len(link.interfaces) != 2:
            problem = f"{link._linkname} has {len(link.interfaces)} nodes, but a protected link has two"
        else:
            _insert(topology, link, _end_names(number))
            continue
        log.error(problem, log.IncorrectValue, "linkmend")


def _protected(topology: Box) -> list[Box]:
    return [link for link in topology.links if isinstance(link, dict) and "linkmend" in link]


def _end_names(number: int) -> list[str]:
    return [f"linkmend{number}a", f"linkmend{number}b"]


def _insert(topology: Box, link: Box, ends: list[str]) -> None:
    """Makes three links of this one, with the two link ends between them."""
    mtu = link.get("mtu", HOST_MTU)
    unused = max(other.linkindex for other in topology.links) + 1
    # Each of the two nodes keeps its interface, which now leads to a link end.
    facing, between = [link.linkindex, unused], unused + 1
    for at, index, end in zip(link.interfaces, facing, ends):
        for interface in topology.nodes[at.node].interfaces:
            if interface.linkindex == link.linkindex:
                interface.linkindex = index
        topology.nodes[end].interfaces = [
            {"ifindex": 1, "ifname": "eth1", "linkindex": index, "type": "p2p", "mtu": mtu, "neighbors": []},
            {"ifindex": 2, "ifname": "eth2", "linkindex": between, "type": "p2p", "mtu": mtu + HEADER_BYTES, "neighbors": []},
        ]
    pairs = {unused: [link.interfaces[1].node, ends[1]], between: ends}
    for index, pair in pairs.items():
        interfaces = [{"node": node} for node in pair]
        topology.links.append({"linkindex": index, "type": "p2p", "node_count": 2, "interfaces": interfaces})
