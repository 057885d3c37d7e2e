"""Networks of many links over time: which of them to disable, protect and repair.

Made by `python -m linkmend._stubs` from the declarations of parameters.
"""

from collections.abc import Sequence
from typing import Any, Literal

from ._progress import Progress
from ._result import Result
from ._text import Number, Path


def simulate(
    *,
    topology: Path | None = None,
    default_speed: Number | None = None,
    layers: Path | None = None,
    trace: Path | None = None,
    days: Number | None = None,
    mttf: Number | None = None,
    weibull_shape: str | float | Sequence[object] | None = None,
    within_bucket: Literal["log-uniform", "uniform"] | None = None,
    shared: Number | None = None,
    shared_links: Number | None = None,
    seed: Number | None = None,
    strategy: Literal["do-nothing", "disable-if-possible", "corropt", "protect", "protect+corropt"] | None = None,
    constraint: Number | None = None,
    repair: str | float | Sequence[object] | None = None,
    crew: Number | None = None,
    repair_order: Literal["first-come", "worst-first", "most-worth"] | None = None,
    take_down: Literal["at-once", "for-repair"] | None = None,
    protection: Path | None = None,
    mode: Literal["ordered", "non-blocking"] | None = None,
    upgraded: Path | None = None,
    deploy: Number | None = None,
    max_protected_per_pipe: Number | None = None,
    max_protected_per_switch: Number | None = None,
    objective: Literal["penalty", "effective"] | None = None,
    capacity_weight: Number | None = None,
    optimizer: Literal["exact", "greedy"] | None = None,
    clean_loss_rate: Number | None = None,
    series: Path | None = None,
    progress: Progress = None,
) -> Result:
    """Simulate a network over a trace of corrupting links, and evaluate a strategy.

    The same as `linkmend fleet simulate`, with the same results.

    Parameters
    ----------
    topology : path, or data of linkmend.data, optional
        Network: a kind with parameters, or a file  facebook-fabric[:pods=261,tors=48,fabric-
        switches=4,spines=48,speed=100G] fat-tree[:k=48,speed=100G] leaf-
        spine[:leaves=64,spines=16,speed=100G] or a file or directory in one of the formats that `fleet
        show help` lists. These values are the defaults. Those of facebook-fabric describe the paper's
        network of 100,224 links.
    default_speed : text with a unit, or a number in bit/s, optional
        Speed of links without a speed in the file [default: 100G]
    layers : path, or data of linkmend.data, optional
        Layer of each switch (0: the ToRs), overriding the file: patterns, like `leaf*=0,spine*=1`, or a
        file of rules [default: from the network file; for LLDP dumps, from layers.yaml beside them]
    trace : path, or data of linkmend.data, optional
        Read the trace from a file instead of generating it: CSV, or JSON of the authors' simulator
    days : text or number, optional
        Length of the trace in days
        [default: 365]
    mttf : text or number, optional
        Mean time to failure of a link in hours
        [default: 10000]
    weibull_shape : text or number, optional
        Shape of the Weibull distribution of times to failure: 1 is memoryless; above 1, links wear out
        [default: 1]
    within_bucket : {'log-uniform', 'uniform'}, optional
        Distribution of loss rates within the buckets of the paper's Table 1
        [default: log-uniform]
    shared : text or number, optional
        Share of failures that affect several links of a switch simultaneously (measured: 10 to 26 %)
        [default: 0%]
    shared_links : whole number, optional
        Number of links affected by such a failure
        [default: 4]
    seed : whole number, optional
        Seed for all random choices
        [default: 1]
    strategy : {'do-nothing', 'disable-if-possible', 'corropt', 'protect', 'protect+corropt'}, optional
        Strategy for handling corrupting links
        [default: protect+corropt]
    constraint : text or number, optional
        Share of its paths and capacity to the top layer that every ToR must keep, while ToRs that can
        reach each other stay connected: one share for both, like 75%; one for each, like
        paths=75%,capacity=50%; or the paper's constraint, like paper=75%, which counts only paths and
        lets ToRs lose contact with each other
        [default: 75%]
    repair : text or number, optional
        Repair times, each with its share of repairs
        [default: 2d:0.8,4d:0.2]
    crew : whole number, optional
        Maximum number of concurrent repairs [default: no limit, every repair begins immediately]
    repair_order : {'first-come', 'worst-first', 'most-worth'}, optional
        Which disabled link is repaired next: the one that was disabled first, the one with the highest
        loss rate, or the one whose return is worth the most (other links that can then be disabled,
        then paths)
        [default: first-come]
    take_down : {'at-once', 'for-repair'}, optional
        When a protected link that may be disabled is taken down: immediately, or when a crew is free to
        repair it
        [default: at-once]
    protection : path, or data of linkmend.data, optional
        Loss rates and capacities that remain with protection: `authors` (published, 100G), measurements
        from Linkmend's simulator with LinkGuardian (`25G`, `100G`, `400G`) or with LLR (`llr-100G`,
        `llr-400G`, `llr-800G`), or a JSON file with rows of loss_rate, effective_loss_rate and capacity
        and, for non-blocking mode, non_blocking_rows
        [default: authors]
    mode : {'ordered', 'non-blocking'}, optional
        Protection mode; the authors measured only ordered mode
        [default: ordered]
    upgraded : path, or data of linkmend.data, optional
        Pods and switches that can protect links, and `top` for the top layer; @FILE lists one per line
        [default: all]  A link is protected by both its ends, so a link between a pod and the top layer
        requires the pod (or its switch) and `top`.
    deploy : text or number, optional
        Share of the pods, chosen at random, whose switches can protect links; the top layer can only do
        so at 100%
        [default: 100%]
    max_protected_per_pipe : whole number, optional
        Maximum number of protected links per forwarding pipe, the part of a switch chip that serves a
        group of ports [default: no limit]
    max_protected_per_switch : whole number, optional
        Maximum number of protected links per switch [default: no limit]
    objective : {'penalty', 'effective'}, optional
        Objective to minimise: CorrOpt's penalty, or the loss and the capacity cost that remain with
        protection
        [default: penalty]
    capacity_weight : text or number, optional
        Loss rate that is as bad as losing a whole link's capacity; for objective effective
        [default: 1e-3]
    optimizer : {'exact', 'greedy'}, optional
        Optimizer: exact, or greedy (the worst link first)
        [default: exact]
    clean_loss_rate : text or number, optional
        Loss rate assumed for a link that does not corrupt frames
        [default: 1e-18]
    series : path, or data of linkmend.data, optional
        Write all metrics before and after every event to this file (CSV); until it is complete, its
        name ends in .part
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
    topology: Path | None = None,
    default_speed: Number | None = None,
    layers: Path | None = None,
    links: Path | None = None,
    corruptd: Path | None = None,
    constraint: Number | None = None,
    target: Number | None = None,
    objective: Literal["penalty", "effective"] | None = None,
    capacity_weight: Number | None = None,
    protection: Path | None = None,
    min_capacity: Number | None = None,
    upgraded: Path | None = None,
    max_protected_per_pipe: Number | None = None,
    max_protected_per_switch: Number | None = None,
    crew: Number | None = None,
    store_and_forward: bool | None = None,
    explain: str | float | Sequence[object] | None = None,
    html: Path | None = None,
    progress: Progress = None,
) -> Result:
    """Decide what to do about corrupting links now: which to disable, protect and repair first.

    The same as `linkmend fleet plan`, with the same results.

    Parameters
    ----------
    topology : path, or data of linkmend.data, optional
        Network: a kind with parameters, or a file  facebook-fabric[:pods=261,tors=48,fabric-
        switches=4,spines=48,speed=100G] fat-tree[:k=48,speed=100G] leaf-
        spine[:leaves=64,spines=16,speed=100G] or a file or directory in one of the formats that `fleet
        show help` lists. These values are the defaults. Those of facebook-fabric describe the paper's
        network of 100,224 links.
    default_speed : text with a unit, or a number in bit/s, optional
        Speed of links without a speed in the file [default: 100G]
    layers : path, or data of linkmend.data, optional
        Layer of each switch (0: the ToRs), overriding the file: patterns, like `leaf*=0,spine*=1`, or a
        file of rules [default: from the network file; for LLDP dumps, from layers.yaml beside them]
    links : path, or data of linkmend.data, optional
        Links that corrupt frames or are disabled (CSV: link,loss_rate; optionally state, and receiver,
        the switch whose port counts the loss)
    corruptd : text or number, optional
        Instead of reading links, ask the corruptd at this socket which links corrupt frames on all
        machines that share its bus. The agents must have the same names as the network's switches
    constraint : text or number, optional
        Share of its paths and capacity to the top layer that every ToR must keep, while ToRs that can
        reach each other stay connected: one share for both, like 75%; one for each, like
        paths=75%,capacity=50%; or the paper's constraint, like paper=75%, which counts only paths and
        lets ToRs lose contact with each other
        [default: 75%]
    target : text or number, optional
        Acceptable loss rate: links at or below it are only watched, others are protected to reach it
        [default: 1e-8]
    objective : {'penalty', 'effective'}, optional
        Objective to minimise: the loss and the capacity cost that remain with protection, or CorrOpt's
        penalty
        [default: effective]
    capacity_weight : text or number, optional
        Loss rate that is as bad as losing a whole link's capacity; for objective effective
        [default: 1e-3]
    protection : path, or data of linkmend.data, optional
        Loss rates and capacities that remain with protection: `authors` (published, 100G), measurements
        from Linkmend's simulator (`25G`, `100G`, `400G`), or a JSON file with rows of loss_rate,
        effective_loss_rate and capacity and, for non-blocking mode, non_blocking_rows; without the
        latter, the capacity of non-blocking mode is estimated
        [default: authors]
    min_capacity : text or number, optional
        Minimum share of a link's capacity that must remain in ordered mode; below it, non-blocking mode
        is used
        [default: 85%]
    upgraded : path, or data of linkmend.data, optional
        Pods and switches that can protect links, and `top` for the top layer; @FILE lists one per line
        [default: all]  A link is protected by both its ends, so a link between a pod and the top layer
        requires the pod (or its switch) and `top`.
    max_protected_per_pipe : whole number, optional
        Maximum number of protected links per forwarding pipe, the part of a switch chip that serves a
        group of ports [default: no limit]
    max_protected_per_switch : whole number, optional
        Maximum number of protected links per switch [default: no limit]
    crew : whole number, optional
        Number of concurrent repairs
        [default: 1]
    store_and_forward : bool, optional
        Assume that no switch is cut-through, so that every link with corrupted frames corrupts them
        itself
        [default: false]
    explain : text or number, optional
        Explain the plan's decision about this link, instead of printing the tables
    html : path, or data of linkmend.data, optional
        Write the plan to this file as an HTML page that draws the network pod by pod
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

def deploy(
    *,
    topology: Path | None = None,
    default_speed: Number | None = None,
    layers: Path | None = None,
    trace: Path | None = None,
    days: Number | None = None,
    mttf: Number | None = None,
    weibull_shape: str | float | Sequence[object] | None = None,
    within_bucket: Literal["log-uniform", "uniform"] | None = None,
    shared: Number | None = None,
    shared_links: Number | None = None,
    seed: Number | None = None,
    seeds: Number | None = None,
    constraint: Number | None = None,
    repair: str | float | Sequence[object] | None = None,
    protection: Path | None = None,
    with_top: bool | None = None,
    budget: Number | None = None,
    write: Path | None = None,
    rows: Number | None = None,
    threads: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Rank pods by the loss that upgrading them would prevent.

    The same as `linkmend fleet deploy`, with the same results.

    Parameters
    ----------
    topology : path, or data of linkmend.data, optional
        Network: a kind with parameters, or a file  facebook-fabric[:pods=261,tors=48,fabric-
        switches=4,spines=48,speed=100G] fat-tree[:k=48,speed=100G] leaf-
        spine[:leaves=64,spines=16,speed=100G] or a file or directory in one of the formats that `fleet
        show help` lists. These values are the defaults. Those of facebook-fabric describe the paper's
        network of 100,224 links.
    default_speed : text with a unit, or a number in bit/s, optional
        Speed of links without a speed in the file [default: 100G]
    layers : path, or data of linkmend.data, optional
        Layer of each switch (0: the ToRs), overriding the file: patterns, like `leaf*=0,spine*=1`, or a
        file of rules [default: from the network file; for LLDP dumps, from layers.yaml beside them]
    trace : path, or data of linkmend.data, optional
        Read the trace from a file instead of generating it: CSV, or JSON of the authors' simulator
    days : text or number, optional
        Length of the trace in days
        [default: 365]
    mttf : text or number, optional
        Mean time to failure of a link in hours
        [default: 10000]
    weibull_shape : text or number, optional
        Shape of the Weibull distribution of times to failure: 1 is memoryless; above 1, links wear out
        [default: 1]
    within_bucket : {'log-uniform', 'uniform'}, optional
        Distribution of loss rates within the buckets of the paper's Table 1
        [default: log-uniform]
    shared : text or number, optional
        Share of failures that affect several links of a switch simultaneously (measured: 10 to 26 %)
        [default: 0%]
    shared_links : whole number, optional
        Number of links affected by such a failure
        [default: 4]
    seed : whole number, optional
        Seed for all random choices
        [default: 1]
    seeds : whole number, optional
        Number of traces to generate, with consecutive seeds
        [default: 10]
    constraint : text or number, optional
        Share of its paths to the top layer that every ToR must keep
        [default: 75%]
    repair : text or number, optional
        Repair times, each with its share of repairs
        [default: 2d:0.8,4d:0.2]
    protection : path, or data of linkmend.data, optional
        Loss rates that remain with protection: a name or a JSON file, as in `fleet simulate`
        [default: authors]
    with_top : bool, optional
        Rank the pods as if the top layer were upgraded as well
        [default: false]
    budget : text or number, optional
        Share of the pods to upgrade, rounded up; for write
    write : path, or data of linkmend.data, optional
        Write the names of the best pods to this file, for upgraded @FILE of the other commands
    rows : whole number, optional
        Number of rows in the table of pods
        [default: 15]
    threads : whole number, optional
        Threads [default: all cores]
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

def show(
    file: Path,
    *,
    default_speed: Number | None = None,
    layers: Path | None = None,
    html: Path | None = None,
    progress: Progress = None,
) -> Result:
    """Show how a network file is interpreted.

    The same as `linkmend fleet show`, with the same results.

    Parameters
    ----------
    file : path, or data of linkmend.data
        Network: a file or folder in any format listed below
    default_speed : text with a unit, or a number in bit/s, optional
        Speed of links without a speed in the file [default: 100G]
    layers : path, or data of linkmend.data, optional
        Layer of each switch (0: the ToRs), overriding the file: patterns, like `leaf*=0,spine*=1`, or a
        file of rules [default: from the network file; for LLDP dumps, from layers.yaml beside them]
    html : path, or data of linkmend.data, optional
        Write an HTML page with a drawing of the network to this file
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
