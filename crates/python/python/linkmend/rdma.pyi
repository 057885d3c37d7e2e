"""A model of how often corruption makes RDMA wait for a timeout.

Made by `python -m linkmend._stubs` from the declarations of parameters.
"""

from collections.abc import Sequence
from typing import Any, Literal

from ._progress import Progress
from ._result import Result
from ._text import Number, Path


def model(
    *,
    links: Number | None = None,
    corrupting: Number | None = None,
    loss: Number | None = None,
    bit_error_rate: Number | None = None,
    size: Path | float | None = None,
    mtu: Number | None = None,
    headers: Number | None = None,
    nak_bytes: Number | None = None,
    dummy_bytes: Number | None = None,
    mechanisms: str | float | Sequence[object] | None = None,
    nak_replicas: Number | None = None,
    packet_replicas: Number | None = None,
    dummies: Number | None = None,
    tail_replicas: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Compute how often each kind of timeout occurs, as published and exactly.

    The same as `linkmend rdma model`, with the same results.

    Parameters
    ----------
    links : whole number, optional
        Links that a packet crosses, 1 to 64
        [default: 4]
    corrupting : text or number, optional
        Share of links that corrupt frames
        [default: 1]
    loss : text or number, optional
        Share of full-size packets that a corrupting link loses
        [default: 1e-3]
    bit_error_rate : text or number, optional
        Alternatively, share of bits that a corrupting link corrupts
    size : text with a unit, or a number in B, optional
        Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage,
        google-all-rpc, google-search-rpc, facebook-key-value, data-mining; or a file with a cumulative
        distribution
        [default: web-search]
    mtu : text or number, optional
        Payload of full-size packets, in bytes
        [default: 1024]
    headers : text or number, optional
        Size of the headers of a packet and its frame check sequence, in bytes
        [default: 62]
    nak_bytes : text or number, optional
        Frame size of an ACK or NAK, in bytes
        [default: 68]
    dummy_bytes : text or number, optional
        Frame size of a dummy, in bytes
        [default: 62]
    mechanisms : text or number, optional
        Mechanisms of the paper's figures: none, nak, twice, dummy, repeat, all, all-optimized or
        testbed
        [default: none]
    nak_replicas : whole number, optional
        Copies of each NAK
    packet_replicas : whole number, optional
        Copies of each packet that a NAK requests
    dummies : whole number, optional
        Empty messages after each flow
    tail_replicas : whole number, optional
        Copies of each flow's last packet
    progress : bool or callable, optional
        Show progress, or call this with the steps done and all.

    Raises
    ------
    ParameterError
        If a value cannot be used; it has the parameter, the value and the requirement.
    StudyError
        If the study failed.
    KeyboardInterrupt
        After Ctrl-C.
    """

def plan(
    *,
    links: Number | None = None,
    corrupting: Number | None = None,
    loss: Number | None = None,
    bit_error_rate: Number | None = None,
    size: Path | float | None = None,
    mtu: Number | None = None,
    headers: Number | None = None,
    nak_bytes: Number | None = None,
    dummy_bytes: Number | None = None,
    wanted: Number,
    progress: Progress = None,
) -> Result:
    """Find the cheapest mechanisms that achieve a given rate of timeouts.

    The same as `linkmend rdma plan`, with the same results.

    Parameters
    ----------
    links : whole number, optional
        Links that a packet crosses, 1 to 64
        [default: 4]
    corrupting : text or number, optional
        Share of links that corrupt frames
        [default: 1]
    loss : text or number, optional
        Share of full-size packets that a corrupting link loses
        [default: 1e-3]
    bit_error_rate : text or number, optional
        Alternatively, share of bits that a corrupting link corrupts
    size : text with a unit, or a number in B, optional
        Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage,
        google-all-rpc, google-search-rpc, facebook-key-value, data-mining; or a file with a cumulative
        distribution
        [default: web-search]
    mtu : text or number, optional
        Payload of full-size packets, in bytes
        [default: 1024]
    headers : text or number, optional
        Size of the headers of a packet and its frame check sequence, in bytes
        [default: 62]
    nak_bytes : text or number, optional
        Frame size of an ACK or NAK, in bytes
        [default: 68]
    dummy_bytes : text or number, optional
        Frame size of a dummy, in bytes
        [default: 62]
    wanted : text or number
        Maximum mean number of timeouts per flow
    progress : bool or callable, optional
        Show progress, or call this with the steps done and all.

    Raises
    ------
    ParameterError
        If a value cannot be used; it has the parameter, the value and the requirement.
    StudyError
        If the study failed.
    KeyboardInterrupt
        After Ctrl-C.
    """

def check(
    *,
    trials: Number | None = None,
    seed: str | float | Sequence[object] | None = None,
    threads: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Compare the model with the simulated transport.

    The same as `linkmend rdma check`, with the same results.

    Parameters
    ----------
    trials : whole number, optional
        Flows per case
        [default: 100k]
    seed : text or number, optional
        Seed for all random choices
        [default: 1]
    threads : whole number, optional
        Threads to use [default: one for each processor]
    progress : bool or callable, optional
        Show progress, or call this with the steps done and all.

    Raises
    ------
    ParameterError
        If a value cannot be used; it has the parameter, the value and the requirement.
    StudyError
        If the study failed.
    KeyboardInterrupt
        After Ctrl-C.
    """
