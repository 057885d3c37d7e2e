"""Functions that simulate links.

Made by `python -m linkmend._stubs` from the declarations of parameters.
"""

from collections.abc import Sequence
from typing import Any, Literal

from ._progress import Progress
from ._result import Result
from ._text import Number, Path


def stress(
    *,
    frames: Number | None = None,
    frame_size: Number | None = None,
    speed: Number | None = None,
    distance: Number | None = None,
    scheme: Literal["none", "ordered", "non-blocking", "wharf", "llr", "selective", "parity"] | None = None,
    llr: Path | None = None,
    deadline: Number | None = None,
    parity_code: Number | None = None,
    parity_overhead: Number | None = None,
    profile: Literal["tofino", "daemon", "planned"] | None = None,
    copies: Number | None = None,
    target: Number | None = None,
    recovery_timeout: Number | None = None,
    pause_threshold: Number | None = None,
    resume_threshold: Number | None = None,
    no_backpressure: bool | None = None,
    dummy_copies: Number | None = None,
    rounds: Number | None = None,
    window: Number | None = None,
    loss: Number | None = None,
    mean_burst: Number | None = None,
    bit_errors: bool | None = None,
    bit_error_rate: Number | None = None,
    fec: Literal["rs-528", "rs-544", "rs-272"] | None = None,
    transceiver: Literal["10GBASE-SR", "25GBASE-SR", "25GBASE-SR-FEC", "50GBASE-SR-FEC"] | None = None,
    attenuation: Number | None = None,
    losses: Path | None = None,
    copy_loss: Number | None = None,
    reverse_loss: Number | None = None,
    buffering: Literal["recirculating", "direct"] | None = None,
    egress_latency: Number | None = None,
    ingress_latency: Number | None = None,
    pipeline_latency: Number | None = None,
    loop_latency: Number | None = None,
    timer_interval: Number | None = None,
    recirculation_speed: Number | None = None,
    recirculation_buffer: Number | None = None,
    pipe_capacity: Number | None = None,
    seed: Number | None = None,
    full: bool | None = None,
    capture: Path | None = None,
    capture_frames: Number | None = None,
    series: Path | None = None,
    series_step: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Send frames at line rate over one corrupting link, and measure what the paper measured.

    The same as `linkmend sim stress`, with the same results.

    Parameters
    ----------
    frames : text or number, optional
        Frames to send at line rate, like 100M [default: 10M]
    frame_size : text with a unit, or a number in B, optional
        Length of each frame, with its frame check sequence and without Linkmend's header, 64B to 9216B
        [default: 1518B]
    speed : text with a unit, or a number in bit/s, optional
        Rate of the links, like 25G, unless the topology sets one; a byte must take a whole number of
        picoseconds [default: 100G]
    distance : text with a unit, or a number in m, optional
        Length of the fibre, like 2km; 5 ns per metre [default: 2m]
    scheme : {'none', 'ordered', 'non-blocking', 'wharf', 'llr', 'selective', 'parity'}, optional
        How the corrupting links recover: not at all (none), in order (LinkGuardian), out of order
        (LinkGuardianNB), by forward error correction (Wharf), by Ultra Ethernet's Link Layer Retry
        (llr), by an idealised retry of only the lost frames (selective), as a bound for comparison, or
        by parity across frames and retransmission before a deadline (parity) [default: ordered at line
        rate, none with hosts]
    llr : path, or data of linkmend.data, optional
        LLR registers: loop (HPE's rule), plan (as computed by `sim llr plan`), or a published profile
        such as meta-400g, followed by registers to override, such as plan,replay_count_max=3 [default:
        loop]
    deadline : text with a unit, or a number in s, optional
        With parity: longest time from sending a frame to its delivery, above the delay of the link and
        at most 1s. Later frames are dropped, and counted as late [default: 150ms]
    parity_code : text or number, optional
        With parity: planned (parity, retransmission or both, whichever costs least for the measured
        losses and the deadline), or a fixed code without retransmission, such as 20:10 for 10 parity
        frames after every 20 frames [default: planned]
    parity_overhead : text or number, optional
        With planned parity: the most parity frames and copies per frame that the planner may expect to
        send, 0 to 1 [default: 1]
    profile : {'tofino', 'daemon', 'planned'}, optional
        Parameters of the link ends: tofino, as published; planned, as published but with timeout,
        thresholds and window for this speed and length, and buffers in memory; or daemon, as `linkmend
        run` derives them [default: tofino]
    copies : whole number, optional
        Always retransmit this many copies of a lost frame (1 to 16), instead of as many as target needs
    target : text or number, optional
        Effective loss rate to stay below, which determines the number of copies (Equation 2) [default:
        1e-8]
    recovery_timeout : text with a unit, or a number in s, optional
        Give up on a frame that has been missing for this long (ackNoTimeout) [default: 13.5us up to
        10G, 7.5us up to 50G, 7us above]
    pause_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender is paused; at most recirculation_buffer, or 16MiB
        with buffering direct [default: resume_threshold plus 2 frames]
    resume_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender may resume; below pause_threshold [default: 40kB, or
        37kB above 50G]
    no_backpressure : bool, optional
        Never pause the sender (Figure 9b)
        [default: false]
    dummy_copies : whole number, optional
        Dummy frames sent each time the queue runs empty, so that a lost tail is detected; 0 for none
        [default: 1]
    rounds : whole number, optional
        Maximum number of retransmission rounds for a lost frame; the paper's protocol has 1 [default:
        1]
    window : text or number, optional
        Maximum number of outstanding frames of a link end: a power of two from 16 to 32768, half the
        sequence space [default: 1024]
    loss : text or number, optional
        Share of frames that each corrupting link corrupts, independently or in bursts [default: 1e-3]
    mean_burst : text or number, optional
        Corrupt frames in bursts of this many on average (Gilbert-Elliott); loss remains the long-term
        loss rate
    bit_errors : bool, optional
        Interpret loss as the loss rate of full-size packets, and apply independent bit errors
        [default: false]
    bit_error_rate : text or number, optional
        Corrupt each bit independently with this probability, so that longer frames suffer more, like
        1e-9
    fec : {'rs-528', 'rs-544', 'rs-272'}, optional
        Forward error correction below the scheme: rs-528, rs-544 or rs-272. With bit_error_rate,
        codewords that cannot be corrected corrupt frames. rs-272 also reduces the latency by half a
        codeword's time, unless egress_latency is set
    transceiver : {'10GBASE-SR', '25GBASE-SR', '25GBASE-SR-FEC', '50GBASE-SR-FEC'}, optional
        Corrupt frames as this transceiver does on an attenuated fibre (Figure 1)
    attenuation : text with a unit, or a number in dB, optional
        Attenuation of that fibre beyond what the standard allows, like 3.5dB
    losses : path, or data of linkmend.data, optional
        Corrupt exactly the frames whose numbers this file lists in ascending order, one per line.
        Numbers start at 0 and count all frames sent in that direction; on a protected link this
        includes the handshake, copies and dummies
    copy_loss : text or number, optional
        Corrupt retransmitted copies with this probability instead, and correct the effective loss for
        it (importance sampling, for losses too rare to count); all other results then describe a link
        that loses more copies
    reverse_loss : text or number, optional
        Share of frames corrupted in the other direction, in which ACKs and loss notifications travel;
        the ordered sets of llr and selective are 8 octets long, and are lost 8 / (frame size + 20)
        times as often [default: 0]
    buffering : {'recirculating', 'direct'}, optional
        When a buffered frame is available: when it comes round through a recirculation port, as on the
        Tofino, or immediately, as in software or on the Tofino2 [default: as in switches of that speed:
        recirculating up to 100G, direct beyond; recirculating if a parameter of the recirculation port
        is set]
    egress_latency : text with a unit, or a number in s, optional
        Time from the queue to the wire, with either buffering [default: 260ns, calibrated; with llr
        66ns, as in Meta's budget]
    ingress_latency : text with a unit, or a number in s, optional
        Time from the wire to the forwarding decision, with either buffering [default: 850ns,
        calibrated; with llr 0s]
    pipeline_latency : text with a unit, or a number in s, optional
        Additional time to the forwarding decision, if the scheme acts in the port itself [default: 0s;
        with llr, what remains of the usual egress and ingress latencies]
    loop_latency : text with a unit, or a number in s, optional
        Latency of one pass through the recirculation port, without serialisation; this and the options
        below have no effect with buffering direct [default: 2.35us, calibrated]
    timer_interval : text with a unit, or a number in s, optional
        Interval of the timer packets in the receiver's forwarding pipe; timeouts, pauses and resumes
        take effect with the next one. With 0ns, they take effect immediately [default: 100ns]
    recirculation_speed : text with a unit, or a number in bit/s, optional
        Rate of the recirculation port, at which the Rx buffer drains [default: 100G, or the link's rate
        if that is higher]
    recirculation_buffer : text with a unit, or a number in B, optional
        Capacity of each recirculation buffer [default: 200kB]
    pipe_capacity : text or number, optional
        Packets per second that a forwarding pipe of a switch can process, of which recirculation takes
        a share [default: 1220M]
    seed : whole number, optional
        Seed for all random choices; the same seed gives the same results on every machine [default: 1]
    full : bool, optional
        Simulate every event, even in the steady state between losses; slower, with the same results
        [default: false]
    capture : path, or data of linkmend.data, optional
        Write the frames that both ends of the link send, receive and pass on to this file (pcapng, for
        Wireshark and tshark); implies full, as a skipped frame cannot be captured
    capture_frames : text or number, optional
        Frames after which the capture ends; the run continues without it
        [default: 1M]
    series : path, or data of linkmend.data, optional
        Write the levels of both buffers over time to this file (CSV: minimum, mean and maximum of each
        step); implies full, because skipped time is not recorded
    series_step : text with a unit, or a number in s, optional
        Length of a step; doubled as often as needed to keep at most 100,000 steps. Without series, the
        levels are part of the JSON [default: 1us]
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

def flows(
    *,
    transport: Literal["dctcp", "cubic", "bbr", "reno", "rdma", "rdma-dcqcn"] | None = None,
    host_recovery: Literal["rack", "rack-static", "duplicate-acks", "adaptive-duplicate-acks", "go-back-n", "selective-repeat"] | None = None,
    size: Path | float | None = None,
    traffic: Literal["full-mesh", "point-to-point", "across", "ping-pong"] | None = None,
    load: Number | None = None,
    incast: Number | None = None,
    duration: Number | None = None,
    trials: Number | None = None,
    pause: Number | None = None,
    collective: Literal["all-reduce-ring", "all-reduce-tree", "all-reduce-recursive-doubling", "all-reduce-halving-doubling", "reduce-scatter", "all-gather", "all-to-all"] | None = None,
    program: Path | None = None,
    steps: Number | None = None,
    compute: Number | None = None,
    ranks: Number | None = None,
    groups: Number | None = None,
    channels: Number | None = None,
    rank_order: Literal["linear", "across", "random"] | None = None,
    topology: Path | None = None,
    speed: Number | None = None,
    scheme: Literal["none", "ordered", "non-blocking", "wharf", "llr", "selective", "parity"] | None = None,
    llr: Path | None = None,
    deadline: Number | None = None,
    parity_code: Number | None = None,
    parity_overhead: Number | None = None,
    profile: Literal["tofino", "daemon", "planned"] | None = None,
    copies: Number | None = None,
    target: Number | None = None,
    recovery_timeout: Number | None = None,
    pause_threshold: Number | None = None,
    resume_threshold: Number | None = None,
    no_backpressure: bool | None = None,
    dummy_copies: Number | None = None,
    rounds: Number | None = None,
    window: Number | None = None,
    loss: Number | None = None,
    mean_burst: Number | None = None,
    bit_errors: bool | None = None,
    bit_error_rate: Number | None = None,
    fec: Literal["rs-528", "rs-544", "rs-272"] | None = None,
    transceiver: Literal["10GBASE-SR", "25GBASE-SR", "25GBASE-SR-FEC", "50GBASE-SR-FEC"] | None = None,
    attenuation: Number | None = None,
    losses: Path | None = None,
    reverse_loss: Number | None = None,
    both_directions: bool | None = None,
    corrupting_links: Number | None = None,
    drained_links: Number | None = None,
    spread_links: bool | None = None,
    handshake: bool | None = None,
    rto_min: Number | None = None,
    host_latency: Number | None = None,
    host_latency_min: Number | None = None,
    host_kernel: Literal["linux-5.4", "linux-4.13"] | None = None,
    testbed_hosts: bool | None = None,
    queue_pairs: Number | None = None,
    rdma_mechanisms: Number | None = None,
    dummy_gap: Number | None = None,
    rdma_verb: Literal["write", "read"] | None = None,
    timeout_exponent: Number | None = None,
    rdma_mtu: Number | None = None,
    rdma_window: Number | None = None,
    failure_every: Number | None = None,
    failing_links: Number | None = None,
    first_failure: Number | None = None,
    failures: Number | None = None,
    down_for: Number | None = None,
    detection: Number | None = None,
    reroute: Number | None = None,
    hand_off: Literal["none", "sqr", "acknowledged"] | None = None,
    sqr_buffer: Number | None = None,
    sqr_margin: Number | None = None,
    sqr_one_queue: bool | None = None,
    second_link: bool | None = None,
    cut: Literal["primary", "either", "both"] | None = None,
    noticed: Literal["carrier", "silence"] | None = None,
    silence: Number | None = None,
    return_after: Number | None = None,
    parallel_queues: Number | None = None,
    placement: Literal["uniform", "hashed"] | None = None,
    reverse_delay: Number | None = None,
    balance: Literal["static", "flow-hash", "spray"] | None = None,
    buffering: Literal["recirculating", "direct"] | None = None,
    egress_latency: Number | None = None,
    ingress_latency: Number | None = None,
    pipeline_latency: Number | None = None,
    loop_latency: Number | None = None,
    timer_interval: Number | None = None,
    recirculation_speed: Number | None = None,
    recirculation_buffer: Number | None = None,
    pipe_capacity: Number | None = None,
    seed: Number | None = None,
    threads: Number | None = None,
    capture: Path | None = None,
    capture_port: str | float | Sequence[object] | None = None,
    capture_frames: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Run flows between hosts over a corrupting link, and measure their completion times.

    The same as `linkmend sim flows`, with the same results.

    Parameters
    ----------
    transport : {'dctcp', 'cubic', 'bbr', 'reno', 'rdma', 'rdma-dcqcn'}, optional
        Transport of the hosts [default: dctcp]
    host_recovery : {'rack', 'rack-static', 'duplicate-acks', 'adaptive-duplicate-acks', 'go-back-n', 'selective-repeat'}, optional
        How hosts recover from losses: rack, rack-static, duplicate-acks or adaptive-duplicate-acks for
        TCP; go-back-n or selective-repeat for RDMA [default: rack for TCP, go-back-n for RDMA]
    size : text with a unit, or a number in B, optional
        Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage,
        google-all-rpc, google-search-rpc, facebook-key-value, data-mining, mice-and-elephants; a suffix
        limits the flow size: web-search:100kB; or a file with a cumulative distribution: in each line,
        a size in bytes and the share of flows that are not longer (.csv or .txt) [default: 24387B]
    traffic : {'full-mesh', 'point-to-point', 'across', 'ping-pong'}, optional
        Which hosts send to which: a random pair for each flow (full-mesh), the first host to the last
        (point-to-point), the first half to the second with the load of one link (across), or there and
        back (ping-pong) [default: full-mesh]
    load : text or number, optional
        Start flows at random times instead of one after the other, at a rate that uses this share of
        the senders' links, above 0 and below 1
    incast : whole number, optional
        The first N hosts send to the last one simultaneously, in rounds
    duration : text with a unit, or a number in s, optional
        With load: how long new flows are started, instead of a number of flows. Without load: run one
        endless flow for this time
    trials : whole number, optional
        Number of flows, which run one after the other from the first host to the last, unless load is
        given; for an incast or a ping-pong, the number of rounds [default: 5k]
    pause : text with a unit, or a number in s, optional
        Minimum pause between one flow and the next; the maximum is twice as long [default: 2ms]
    collective : {'all-reduce-ring', 'all-reduce-tree', 'all-reduce-recursive-doubling', 'all-reduce-halving-doubling', 'reduce-scatter', 'all-gather', 'all-to-all'}, optional
        In each step, run a collective operation of size bytes on the hosts, as ranks of a training job
    program : path, or data of linkmend.data, optional
        In each step, run the program in a file: an htsim connection matrix (.cm), GOAL, or an AICB
        workload
    steps : whole number, optional
        Number of steps; a step begins when all ranks have finished the previous one [default: 1]
    compute : text with a unit, or a number in s, optional
        How long all ranks compute at the beginning of each step [default: 0s]
    ranks : whole number, optional
        Number of ranks, each on a host of its own [default: all hosts, or as many as the file says]
    groups : whole number, optional
        Divide the ranks into this many groups of consecutive ranks, each of which performs the
        operation separately [default: 1]
    channels : whole number, optional
        Divide the data into this many parts that are processed independently, like NCCL's channels
        [default: 1]
    rank_order : {'linear', 'across', 'random'}, optional
        How ranks are assigned to hosts: in topology order (linear), consecutive ranks at different
        switches (across), or at random (random) [default: linear]
    topology : text or number, optional
        The network with its hosts: a specification such as fat-tree:k=4,hosts=2, or a file [default:
        five switches in a row with a host at either end, as in the paper]
    speed : text with a unit, or a number in bit/s, optional
        Rate of the links, like 25G, unless the topology sets one; a byte must take a whole number of
        picoseconds [default: 100G]
    scheme : {'none', 'ordered', 'non-blocking', 'wharf', 'llr', 'selective', 'parity'}, optional
        How the corrupting links recover: not at all (none), in order (LinkGuardian), out of order
        (LinkGuardianNB), by forward error correction (Wharf), by Ultra Ethernet's Link Layer Retry
        (llr), by an idealised retry of only the lost frames (selective), as a bound for comparison, or
        by parity across frames and retransmission before a deadline (parity) [default: none]
    llr : path, or data of linkmend.data, optional
        LLR registers: loop (HPE's rule), plan (as computed by `sim llr plan`), or a published profile
        such as meta-400g, followed by registers to override, such as plan,replay_count_max=3 [default:
        loop]
    deadline : text with a unit, or a number in s, optional
        With parity: longest time from sending a frame to its delivery, above the delay of the link and
        at most 1s. Later frames are dropped, and counted as late [default: 150ms]
    parity_code : text or number, optional
        With parity: planned (parity, retransmission or both, whichever costs least for the measured
        losses and the deadline), or a fixed code without retransmission, such as 20:10 for 10 parity
        frames after every 20 frames [default: planned]
    parity_overhead : text or number, optional
        With planned parity: the most parity frames and copies per frame that the planner may expect to
        send, 0 to 1 [default: 1]
    profile : {'tofino', 'daemon', 'planned'}, optional
        Parameters of the link ends: tofino, as published; planned, as published but with timeout,
        thresholds and window for this speed and length, and buffers in memory; or daemon, as `linkmend
        run` derives them [default: tofino]
    copies : whole number, optional
        Always retransmit this many copies of a lost frame (1 to 16), instead of as many as target needs
    target : text or number, optional
        Effective loss rate to stay below, which determines the number of copies (Equation 2) [default:
        1e-8]
    recovery_timeout : text with a unit, or a number in s, optional
        Give up on a frame that has been missing for this long (ackNoTimeout) [default: 13.5us up to
        10G, 7.5us up to 50G, 7us above]
    pause_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender is paused; at most recirculation_buffer, or 16MiB
        with buffering direct [default: resume_threshold plus 2 frames]
    resume_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender may resume; below pause_threshold [default: 40kB, or
        37kB above 50G]
    no_backpressure : bool, optional
        Never pause the sender (Figure 9b)
        [default: false]
    dummy_copies : whole number, optional
        Dummy frames sent each time the queue runs empty, so that a lost tail is detected; 0 for none
        [default: 1]
    rounds : whole number, optional
        Maximum number of retransmission rounds for a lost frame; the paper's protocol has 1 [default:
        1]
    window : text or number, optional
        Maximum number of outstanding frames of a link end: a power of two from 16 to 32768, half the
        sequence space [default: 1024]
    loss : text or number, optional
        Share of frames that each corrupting link corrupts, independently or in bursts [default: 1e-3]
    mean_burst : text or number, optional
        Corrupt frames in bursts of this many on average (Gilbert-Elliott); loss remains the long-term
        loss rate
    bit_errors : bool, optional
        Interpret loss as the loss rate of full-size packets, and apply independent bit errors
        [default: false]
    bit_error_rate : text or number, optional
        Corrupt each bit independently with this probability, so that longer frames suffer more, like
        1e-9
    fec : {'rs-528', 'rs-544', 'rs-272'}, optional
        Forward error correction below the scheme: rs-528, rs-544 or rs-272. With bit_error_rate,
        codewords that cannot be corrected corrupt frames. rs-272 also reduces the latency by half a
        codeword's time, unless egress_latency is set
    transceiver : {'10GBASE-SR', '25GBASE-SR', '25GBASE-SR-FEC', '50GBASE-SR-FEC'}, optional
        Corrupt frames as this transceiver does on an attenuated fibre (Figure 1)
    attenuation : text with a unit, or a number in dB, optional
        Attenuation of that fibre beyond what the standard allows, like 3.5dB
    losses : path, or data of linkmend.data, optional
        Corrupt exactly the frames whose numbers this file lists in ascending order, one per line.
        Numbers start at 0 and count all frames sent in that direction; on a protected link this
        includes the handshake, copies and dummies
    reverse_loss : text or number, optional
        Share of frames corrupted in the other direction, in which ACKs and loss notifications travel;
        the ordered sets of llr and selective are 8 octets long, and are lost 8 / (frame size + 20)
        times as often [default: 0]
    both_directions : bool, optional
        Corrupt both directions of these links, and protect both
        [default: false]
    corrupting_links : whole number, optional
        Number of corrupting links, chosen from the middle of the links between switches [default: 1]
    drained_links : whole number, optional
        Take this many links out of service before the run, chosen like corrupting_links; frames take
        the other links [default: 0]
    spread_links : bool, optional
        Choose corrupting, drained and failing links at equal intervals among the links between
        switches, instead of from the middle
        [default: false]
    handshake : bool, optional
        Include the TCP handshake in each flow
        [default: false]
    rto_min : text with a unit, or a number in s, optional
        Minimum retransmission timeout of TCP [default: 1ms]
    host_latency : text with a unit, or a number in s, optional
        Median latency that a host adds to a frame: stack, NIC, interrupts [default: 15.5us with TCP,
        1.23us with RDMA]
    host_latency_min : text with a unit, or a number in s, optional
        Minimum of that latency; if it equals the median, the latency is constant [default: 2.5us with
        TCP, 1us with RDMA, or the median if that is lower]
    host_kernel : {'linux-5.4', 'linux-4.13'}, optional
        Kernel of TCP hosts: linux-5.4, as in LinkGuardian's testbed, with 1,000 ticks a second and no
        timestamps; or linux-4.13, as in SQR's testbed, with 250 ticks a second and timestamps, and
        without tail loss probes before 10ms [default: linux-5.4]
    testbed_hosts : bool, optional
        Model TCP hosts as in LinkGuardian's testbed: a single frame is received sooner than several
        together, and some clock ticks are late
        [default: false]
    queue_pairs : whole number, optional
        RDMA connections between each pair of hosts, shared by their flows [default: one per flow]
    rdma_mechanisms : text or number, optional
        How hosts and switches prevent timeouts (JCST 2022): none, nak, twice, dummy, repeat, all, all-
        optimized, testbed, or numbers: dummies/NAK replicas/packet replicas/tail replicas, such as
        2/1/3 [default: none]
    dummy_gap : text with a unit, or a number in s, optional
        Send dummies after a flow only if the previous flow on the same connection was submitted longer
        ago than this [default: 0s]
    rdma_verb : {'write', 'read'}, optional
        How flows are transferred: write, by the source; or read, by the destination, with empty READs
        as dummies [default: write]
    timeout_exponent : text or number, optional
        Exponent t of the transport timer, 4.096 us x 2^t, 0 to 31 [default: 8, a millisecond]
    rdma_mtu : text or number, optional
        Payload of full packets: 256, 512, 1024, 2048 or 4096 bytes [default: 1024]
    rdma_window : whole number, optional
        Maximum number of outstanding packets [default: 8388607, the limit of 24-bit sequence numbers]
    failure_every : text with a unit, or a number in s, optional
        Interval at which links between switches fail, both directions together [default: no failures]
    failing_links : whole number, optional
        Number of failing links, chosen from the middle of the links between switches [default: 1]
    first_failure : text with a unit, or a number in s, optional
        When links fail for the first time [default: after failure_every]
    failures : whole number, optional
        Maximum number of failures of each failing link [default: until the run ends]
    down_for : text with a unit, or a number in s, optional
        How long a failed link stays down if it has a backup (reroute local) or a second link [default:
        10ms]
    detection : text with a unit, or a number in s, optional
        Time until switches detect a failure: f10 (30us), squelch (2.755us) or a time [default: f10]
    reroute : text with a unit, or a number in s, optional
        How traffic is rerouted: sharebackup (the link itself comes back after 730us), local (a second
        link, immediately), portland (the link comes back after 65ms), or a time after which it comes
        back [default: sharebackup]
    hand_off : {'none', 'sqr', 'acknowledged'}, optional
        How switches recover frames that a failed link lost: none; sqr, which keeps a copy of each frame
        until a failure would have been detected; or acknowledged, which keeps each frame until it is
        acknowledged [default: none]
    sqr_buffer : text with a unit, or a number in B, optional
        Maximum size of the copies that a switch keeps for one port with SQR [default: 22MB]
    sqr_margin : text with a unit, or a number in s, optional
        Time for which SQR keeps copies beyond the detection time [default: the time that a frame is in
        flight; 0s in the paper]
    sqr_one_queue : bool, optional
        Keep all of SQR's copies in the caching queue of the port itself, instead of that of the least
        loaded port
        [default: false]
    second_link : bool, optional
        Give each corrupting link a second one between the same link ends, which use both as `linkmend
        run` does. Only these two links then fail, as set by failure_every, down_for and detection
        [default: false]
    cut : {'primary', 'either', 'both'}, optional
        Which of the two links fails each time: the primary, either one at random, or both [default:
        primary]
    noticed : {'carrier', 'silence'}, optional
        How link ends detect a failure: both ports lose their carrier after the detection time, or
        nothing is heard for that time [default: carrier]
    silence : text with a unit, or a number in s, optional
        Silence that counts as a failure if the carrier stays, at least 20us; four probes are sent
        during this time [default: 10ms, as in `linkmend run`]
    return_after : text with a unit, or a number in s, optional
        How long the primary link must be up before it is used again [default: as in `linkmend run`]
    parallel_queues : whole number, optional
        Parallel queues in front of the middle link, served round-robin (a load-balanced switch)
    placement : {'uniform', 'hashed'}, optional
        How frames are distributed over the parallel queues: uniform (at random, which reorders) or
        hashed (by flow, which does not) [default: uniform]
    reverse_delay : text with a unit, or a number in s, optional
        Additional delay of frames in the reverse direction of the middle link [default: 0s]
    balance : {'static', 'flow-hash', 'spray'}, optional
        How switches choose among equal paths: spray picks a path for each frame [default: flow-hash]
    buffering : {'recirculating', 'direct'}, optional
        When a buffered frame is available: when it comes round through a recirculation port, as on the
        Tofino, or immediately, as in software or on the Tofino2 [default: as in switches of that speed:
        recirculating up to 100G, direct beyond; recirculating if a parameter of the recirculation port
        is set]
    egress_latency : text with a unit, or a number in s, optional
        Time from the queue to the wire, with either buffering [default: 260ns, calibrated; with llr
        66ns, as in Meta's budget]
    ingress_latency : text with a unit, or a number in s, optional
        Time from the wire to the forwarding decision, with either buffering [default: 850ns,
        calibrated; with llr 0s]
    pipeline_latency : text with a unit, or a number in s, optional
        Additional time to the forwarding decision, if the scheme acts in the port itself [default: 0s;
        with llr, what remains of the usual egress and ingress latencies]
    loop_latency : text with a unit, or a number in s, optional
        Latency of one pass through the recirculation port, without serialisation; this and the options
        below have no effect with buffering direct [default: 2.35us, calibrated]
    timer_interval : text with a unit, or a number in s, optional
        Interval of the timer packets in the receiver's forwarding pipe; timeouts, pauses and resumes
        take effect with the next one. With 0ns, they take effect immediately [default: 100ns]
    recirculation_speed : text with a unit, or a number in bit/s, optional
        Rate of the recirculation port, at which the Rx buffer drains [default: 100G, or the link's rate
        if that is higher]
    recirculation_buffer : text with a unit, or a number in B, optional
        Capacity of each recirculation buffer [default: 200kB]
    pipe_capacity : text or number, optional
        Packets per second that a forwarding pipe of a switch can process, of which recirculation takes
        a share [default: 1220M]
    seed : whole number, optional
        Seed for all random choices; the same seed gives the same results on every machine [default: 1]
    threads : whole number, optional
        Threads that run trials in parallel; a single run uses one [default: one for each processor]
    capture : path, or data of linkmend.data, optional
        Write the frames that a port sends and receives to this file (pcapng), which Wireshark and
        tshark decode as TCP or RoCE. If there are more than 10,000 trials, only the first 10,000 are
        captured
    capture_port : text or number, optional
        The port, named by its node and the node at the other end of its link, such as switch2switch3,
        or by its node and its number, such as switch2:1 [default: the sending port of the corrupting
        link]
    capture_frames : text or number, optional
        Frames after which the capture ends; the run continues without it
        [default: 100k]
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

def links(
    *,
    load: Number | None = None,
    frames: Number | None = None,
    frame_size: Number | None = None,
    hops: Number | None = None,
    parallel_links: Number | None = None,
    recirculation_ports: Number | None = None,
    reverse_load: Number | None = None,
    non_blocking_load: Number | None = None,
    spacing: Number | None = None,
    fixed_dummies: bool | None = None,
    format: Literal["compact", "transparent"] | None = None,
    queue: Number | None = None,
    ecn: Number | None = None,
    phases: Number | None = None,
    sample: Number | None = None,
    fallback_ordered_loss_max: Number | None = None,
    fallback_non_blocking_loss_max: Number | None = None,
    fallback_return_hold: Number | None = None,
    fallback_dormant_hold: Number | None = None,
    loss_window: Number | None = None,
    speed: Number | None = None,
    distance: Number | None = None,
    scheme: Literal["none", "ordered", "non-blocking", "wharf", "llr", "selective", "parity"] | None = None,
    llr: Path | None = None,
    deadline: Number | None = None,
    parity_code: Number | None = None,
    parity_overhead: Number | None = None,
    profile: Literal["tofino", "daemon", "planned"] | None = None,
    copies: Number | None = None,
    target: Number | None = None,
    recovery_timeout: Number | None = None,
    pause_threshold: Number | None = None,
    resume_threshold: Number | None = None,
    no_backpressure: bool | None = None,
    dummy_copies: Number | None = None,
    rounds: Number | None = None,
    window: Number | None = None,
    loss: Number | None = None,
    mean_burst: Number | None = None,
    bit_errors: bool | None = None,
    bit_error_rate: Number | None = None,
    fec: Literal["rs-528", "rs-544", "rs-272"] | None = None,
    transceiver: Literal["10GBASE-SR", "25GBASE-SR", "25GBASE-SR-FEC", "50GBASE-SR-FEC"] | None = None,
    attenuation: Number | None = None,
    losses: Path | None = None,
    reverse_loss: Number | None = None,
    failure_every: Number | None = None,
    down_for: Number | None = None,
    detection: Number | None = None,
    hand_off: Literal["none", "sqr", "acknowledged"] | None = None,
    second_link: bool | None = None,
    cuts: Number | None = None,
    cut: Literal["primary", "either", "both"] | None = None,
    noticed: Literal["carrier", "silence"] | None = None,
    silence: Number | None = None,
    return_after: Number | None = None,
    buffering: Literal["recirculating", "direct"] | None = None,
    egress_latency: Number | None = None,
    ingress_latency: Number | None = None,
    pipeline_latency: Number | None = None,
    loop_latency: Number | None = None,
    timer_interval: Number | None = None,
    recirculation_speed: Number | None = None,
    recirculation_buffer: Number | None = None,
    pipe_capacity: Number | None = None,
    seed: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Send frames over several links, or over one in both directions or both classes.

    The same as `linkmend sim links`, with the same results.

    Parameters
    ----------
    load : text or number, optional
        Share of the first link that the traffic takes [default: as much as it can carry]
    frames : text or number, optional
        Frames that each generator sends, like 1M [default: 100k]
    frame_size : text with a unit, or a number in B, optional
        Length of each frame, with its frame check sequence and without Linkmend's header, 64B to 9216B
        [default: 1518B]
    hops : text or number, optional
        Links in a row: how many, or each with its rate, its loss rate if it differs from loss, and
        `off` if it is unprotected, like 100G,1e-3/100G,0,off/25G [default: 1]
    parallel_links : whole number, optional
        Number of parallel links between two switches, 1 to 8, which share recirculation ports
    recirculation_ports : whole number, optional
        Number of recirculation ports of each switch, to which parallel_links are assigned in turn
        [default: 1]
    reverse_load : text or number, optional
        Traffic in the other direction, as a share of the link's rate; it is protected as well [default:
        none]
    non_blocking_load : text or number, optional
        Non-blocking traffic, as a share of the link's rate; load then applies only to the ordered
        traffic on this link
    spacing : text with a unit, or a number in s, optional
        Time from one frame to the next, instead of a load: if it is long, only dummies reveal a lost
        frame in time
    fixed_dummies : bool, optional
        Send exactly dummy_copies dummies, as in software; on the Tofino, they are sent until one gets
        through
        [default: false]
    format : {'compact', 'transparent'}, optional
        Headers: compact or transparent, which piggybacks ACKs on data [default: transparent with
        traffic both ways, in both classes or with phases, otherwise compact]
    queue : text with a unit, or a number in B, optional
        Limit of the queue in front of each link; frames beyond it are dropped [default: 1MB]
    ecn : text with a unit, or a number in B, optional
        Queue length above which frames are marked (ECN) [default: 100kB]
    phases : text or number, optional
        Successive loss rates, each with its duration, like 5ms,1e-4/5ms,8%; the link falls back
        automatically
    sample : text with a unit, or a number in s, optional
        Time between two lines of the series [default: 1ms]
    fallback_ordered_loss_max : text or number, optional
        Loss rate above which the link leaves ordered mode [default: 5%]
    fallback_non_blocking_loss_max : text or number, optional
        Loss rate above which protection is given up [default: 30%]
    fallback_return_hold : text with a unit, or a number in s, optional
        How long the loss rate must be below half of its limit before protection returns [default: 2ms]
    fallback_dormant_hold : text with a unit, or a number in s, optional
        How long a link stays dormant before it is tried again [default: 2ms]
    loss_window : text or number, optional
        Frames over which the loss rate is measured [default: 2000]
    speed : text with a unit, or a number in bit/s, optional
        Rate of the links, like 25G, unless the topology sets one; a byte must take a whole number of
        picoseconds [default: 100G]
    distance : text with a unit, or a number in m, optional
        Length of the fibre, like 2km; 5 ns per metre [default: 2m]
    scheme : {'none', 'ordered', 'non-blocking', 'wharf', 'llr', 'selective', 'parity'}, optional
        How the corrupting links recover: not at all (none), in order (LinkGuardian), out of order
        (LinkGuardianNB), by forward error correction (Wharf), by Ultra Ethernet's Link Layer Retry
        (llr), by an idealised retry of only the lost frames (selective), as a bound for comparison, or
        by parity across frames and retransmission before a deadline (parity) [default: ordered at line
        rate, none with hosts]
    llr : path, or data of linkmend.data, optional
        LLR registers: loop (HPE's rule), plan (as computed by `sim llr plan`), or a published profile
        such as meta-400g, followed by registers to override, such as plan,replay_count_max=3 [default:
        loop]
    deadline : text with a unit, or a number in s, optional
        With parity: longest time from sending a frame to its delivery, above the delay of the link and
        at most 1s. Later frames are dropped, and counted as late [default: 150ms]
    parity_code : text or number, optional
        With parity: planned (parity, retransmission or both, whichever costs least for the measured
        losses and the deadline), or a fixed code without retransmission, such as 20:10 for 10 parity
        frames after every 20 frames [default: planned]
    parity_overhead : text or number, optional
        With planned parity: the most parity frames and copies per frame that the planner may expect to
        send, 0 to 1 [default: 1]
    profile : {'tofino', 'daemon', 'planned'}, optional
        Parameters of the link ends: tofino, as published; planned, as published but with timeout,
        thresholds and window for this speed and length, and buffers in memory; or daemon, as `linkmend
        run` derives them [default: tofino]
    copies : whole number, optional
        Always retransmit this many copies of a lost frame (1 to 16), instead of as many as target needs
    target : text or number, optional
        Effective loss rate to stay below, which determines the number of copies (Equation 2) [default:
        1e-8]
    recovery_timeout : text with a unit, or a number in s, optional
        Give up on a frame that has been missing for this long (ackNoTimeout) [default: 13.5us up to
        10G, 7.5us up to 50G, 7us above]
    pause_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender is paused; at most recirculation_buffer, or 16MiB
        with buffering direct [default: resume_threshold plus 2 frames]
    resume_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender may resume; below pause_threshold [default: 40kB, or
        37kB above 50G]
    no_backpressure : bool, optional
        Never pause the sender (Figure 9b)
        [default: false]
    dummy_copies : whole number, optional
        Dummy frames sent each time the queue runs empty, so that a lost tail is detected; 0 for none
        [default: 1]
    rounds : whole number, optional
        Maximum number of retransmission rounds for a lost frame; the paper's protocol has 1 [default:
        1]
    window : text or number, optional
        Maximum number of outstanding frames of a link end: a power of two from 16 to 32768, half the
        sequence space [default: 1024]
    loss : text or number, optional
        Share of frames that each corrupting link corrupts, independently or in bursts [default: 1e-3]
    mean_burst : text or number, optional
        Corrupt frames in bursts of this many on average (Gilbert-Elliott); loss remains the long-term
        loss rate
    bit_errors : bool, optional
        Interpret loss as the loss rate of full-size packets, and apply independent bit errors
        [default: false]
    bit_error_rate : text or number, optional
        Corrupt each bit independently with this probability, so that longer frames suffer more, like
        1e-9
    fec : {'rs-528', 'rs-544', 'rs-272'}, optional
        Forward error correction below the scheme: rs-528, rs-544 or rs-272. With bit_error_rate,
        codewords that cannot be corrected corrupt frames. rs-272 also reduces the latency by half a
        codeword's time, unless egress_latency is set
    transceiver : {'10GBASE-SR', '25GBASE-SR', '25GBASE-SR-FEC', '50GBASE-SR-FEC'}, optional
        Corrupt frames as this transceiver does on an attenuated fibre (Figure 1)
    attenuation : text with a unit, or a number in dB, optional
        Attenuation of that fibre beyond what the standard allows, like 3.5dB
    losses : path, or data of linkmend.data, optional
        Corrupt exactly the frames whose numbers this file lists in ascending order, one per line.
        Numbers start at 0 and count all frames sent in that direction; on a protected link this
        includes the handshake, copies and dummies
    reverse_loss : text or number, optional
        Share of frames corrupted in the other direction [default: the same as in this direction with
        reverse_load or second_link, otherwise 0]
    failure_every : text with a unit, or a number in s, optional
        Interval at which links between switches fail, both directions together [default: no failures]
    down_for : text with a unit, or a number in s, optional
        How long a failed link stays down if it has a backup (reroute local) or a second link [default:
        10ms]
    detection : text with a unit, or a number in s, optional
        Time until switches detect a failure: f10 (30us), squelch (2.755us) or a time [default: f10]
    hand_off : {'none', 'sqr', 'acknowledged'}, optional
        How switches recover frames that a failed link lost: none; sqr, which keeps a copy of each frame
        until a failure would have been detected; or acknowledged, which keeps each frame until it is
        acknowledged [default: none]
    second_link : bool, optional
        Give each corrupting link a second one between the same link ends, which use both as `linkmend
        run` does. Only these two links then fail, as set by failure_every, down_for and detection
        [default: false]
    cuts : whole number, optional
        With generators: number of failures, 1 to 100000, which determines how many frames they send
        [default: 50]
    cut : {'primary', 'either', 'both'}, optional
        Which of the two links fails each time: the primary, either one at random, or both [default:
        primary]
    noticed : {'carrier', 'silence'}, optional
        How link ends detect a failure: both ports lose their carrier after the detection time, or
        nothing is heard for that time [default: carrier]
    silence : text with a unit, or a number in s, optional
        Silence that counts as a failure if the carrier stays, at least 20us; four probes are sent
        during this time [default: 10ms, as in `linkmend run`]
    return_after : text with a unit, or a number in s, optional
        How long the primary link must be up before it is used again [default: as in `linkmend run`]
    buffering : {'recirculating', 'direct'}, optional
        When a buffered frame is available: when it comes round through a recirculation port, as on the
        Tofino, or immediately, as in software or on the Tofino2 [default: as in switches of that speed:
        recirculating up to 100G, direct beyond; recirculating if a parameter of the recirculation port
        is set]
    egress_latency : text with a unit, or a number in s, optional
        Time from the queue to the wire, with either buffering [default: 260ns, calibrated; with llr
        66ns, as in Meta's budget]
    ingress_latency : text with a unit, or a number in s, optional
        Time from the wire to the forwarding decision, with either buffering [default: 850ns,
        calibrated; with llr 0s]
    pipeline_latency : text with a unit, or a number in s, optional
        Additional time to the forwarding decision, if the scheme acts in the port itself [default: 0s;
        with llr, what remains of the usual egress and ingress latencies]
    loop_latency : text with a unit, or a number in s, optional
        Latency of one pass through the recirculation port, without serialisation; this and the options
        below have no effect with buffering direct [default: 2.35us, calibrated]
    timer_interval : text with a unit, or a number in s, optional
        Interval of the timer packets in the receiver's forwarding pipe; timeouts, pauses and resumes
        take effect with the next one. With 0ns, they take effect immediately [default: 100ns]
    recirculation_speed : text with a unit, or a number in bit/s, optional
        Rate of the recirculation port, at which the Rx buffer drains [default: 100G, or the link's rate
        if that is higher]
    recirculation_buffer : text with a unit, or a number in B, optional
        Capacity of each recirculation buffer [default: 200kB]
    pipe_capacity : text or number, optional
        Packets per second that a forwarding pipe of a switch can process, of which recirculation takes
        a share [default: 1220M]
    seed : whole number, optional
        Seed for all random choices; the same seed gives the same results on every machine [default: 1]
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

def experiment(
    file: Path,
    *,
    quick: bool | None = None,
    trials: Number | None = None,
    out: str | float | Sequence[object] | None = None,
    jobs: Number | None = None,
    seed: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Run an experiment file: one run or a sweep, with plots and comparisons.

    The same as `linkmend sim run`, with the same results.

    Parameters
    ----------
    file : path, or data of linkmend.data
        Experiment file
    quick : bool, optional
        Use so few frames that each experiment takes about a second; the verdicts are then not
        meaningful, and do not affect the exit code
        [default: false]
    trials : text or number, optional
        Flows per run, or rounds of an incast, instead of the number in the experiment: as many as in
        the paper, or fewer
    out : text or number, optional
        Directory for the report, plots and data; it is created if necessary
    jobs : whole number, optional
        Number of threads; the results do not depend on it [default: one per core]
    seed : whole number, optional
        Seed from which the seeds of all runs are derived
        [default: 1]
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

def reproduce(
    *what: str,
    experiments: str | float | Sequence[object] | None = None,
    quick: bool | None = None,
    trials: Number | None = None,
    out: str | float | Sequence[object] | None = None,
    jobs: Number | None = None,
    seed: Number | None = None,
    progress: Progress = None,
) -> Result:
    """Reproduce published evaluations, and compare the results: `reproduce("fig11")`.

    The same as `linkmend reproduce`, with the same results.

    Parameters
    ----------
    what : text or number, optional
        Experiments to run, or `all`
    experiments : text or number, optional
        Use the experiment files (*.toml) in this directory instead of the built-in ones
    quick : bool, optional
        Use so few frames that each experiment takes about a second; the verdicts are then not
        meaningful, and do not affect the exit code
        [default: false]
    trials : text or number, optional
        Flows per run, or rounds of an incast, instead of the number in the experiment: as many as in
        the paper, or fewer
    out : text or number, optional
        Directory for the report, plots and data; it is created if necessary
    jobs : whole number, optional
        Number of threads; the results do not depend on it [default: one per core]
    seed : whole number, optional
        Seed from which the seeds of all runs are derived
        [default: 1]
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

def timeline(
    *,
    transport: Literal["dctcp", "cubic", "bbr", "reno", "rdma", "rdma-dcqcn"] | None = None,
    host_recovery: Literal["rack", "rack-static", "duplicate-acks", "adaptive-duplicate-acks", "go-back-n", "selective-repeat"] | None = None,
    duration: Number | None = None,
    topology: Path | None = None,
    speed: Number | None = None,
    scheme: Literal["none", "ordered", "non-blocking", "wharf", "llr", "selective", "parity"] | None = None,
    llr: Path | None = None,
    deadline: Number | None = None,
    parity_code: Number | None = None,
    parity_overhead: Number | None = None,
    profile: Literal["tofino", "daemon", "planned"] | None = None,
    copies: Number | None = None,
    target: Number | None = None,
    recovery_timeout: Number | None = None,
    pause_threshold: Number | None = None,
    resume_threshold: Number | None = None,
    no_backpressure: bool | None = None,
    dummy_copies: Number | None = None,
    rounds: Number | None = None,
    window: Number | None = None,
    loss: Number | None = None,
    mean_burst: Number | None = None,
    bit_errors: bool | None = None,
    bit_error_rate: Number | None = None,
    fec: Literal["rs-528", "rs-544", "rs-272"] | None = None,
    transceiver: Literal["10GBASE-SR", "25GBASE-SR", "25GBASE-SR-FEC", "50GBASE-SR-FEC"] | None = None,
    attenuation: Number | None = None,
    losses: Path | None = None,
    reverse_loss: Number | None = None,
    both_directions: bool | None = None,
    corrupting_links: Number | None = None,
    drained_links: Number | None = None,
    spread_links: bool | None = None,
    handshake: bool | None = None,
    rto_min: Number | None = None,
    host_latency: Number | None = None,
    host_latency_min: Number | None = None,
    host_kernel: Literal["linux-5.4", "linux-4.13"] | None = None,
    testbed_hosts: bool | None = None,
    queue_pairs: Number | None = None,
    rdma_mechanisms: Number | None = None,
    dummy_gap: Number | None = None,
    rdma_verb: Literal["write", "read"] | None = None,
    timeout_exponent: Number | None = None,
    rdma_mtu: Number | None = None,
    rdma_window: Number | None = None,
    failure_every: Number | None = None,
    failing_links: Number | None = None,
    first_failure: Number | None = None,
    failures: Number | None = None,
    down_for: Number | None = None,
    detection: Number | None = None,
    reroute: Number | None = None,
    hand_off: Literal["none", "sqr", "acknowledged"] | None = None,
    sqr_buffer: Number | None = None,
    sqr_margin: Number | None = None,
    sqr_one_queue: bool | None = None,
    second_link: bool | None = None,
    cut: Literal["primary", "either", "both"] | None = None,
    noticed: Literal["carrier", "silence"] | None = None,
    silence: Number | None = None,
    return_after: Number | None = None,
    parallel_queues: Number | None = None,
    placement: Literal["uniform", "hashed"] | None = None,
    reverse_delay: Number | None = None,
    balance: Literal["static", "flow-hash", "spray"] | None = None,
    buffering: Literal["recirculating", "direct"] | None = None,
    egress_latency: Number | None = None,
    ingress_latency: Number | None = None,
    pipeline_latency: Number | None = None,
    loop_latency: Number | None = None,
    timer_interval: Number | None = None,
    recirculation_speed: Number | None = None,
    recirculation_buffer: Number | None = None,
    pipe_capacity: Number | None = None,
    seed: Number | None = None,
    threads: Number | None = None,
    corruption_at: Number | None = None,
    protection_at: Number | None = None,
    sample: Number | None = None,
    series: Path | None = None,
    report: Path | None = None,
    progress: Progress = None,
) -> Result:
    """Run one endless flow over a link that begins to corrupt, and is protected later.

    The same as `linkmend sim timeline`, with the same results.

    Parameters
    ----------
    transport : {'dctcp', 'cubic', 'bbr', 'reno', 'rdma', 'rdma-dcqcn'}, optional
        Transport of the hosts [default: dctcp]
    host_recovery : {'rack', 'rack-static', 'duplicate-acks', 'adaptive-duplicate-acks', 'go-back-n', 'selective-repeat'}, optional
        How hosts recover from losses: rack, rack-static, duplicate-acks or adaptive-duplicate-acks for
        TCP; go-back-n or selective-repeat for RDMA [default: rack for TCP, go-back-n for RDMA]
    duration : text with a unit, or a number in s, optional
        How long the flow sends [default: 1s]
    topology : text or number, optional
        The network with its hosts: a specification such as fat-tree:k=4,hosts=2, or a file [default:
        five switches in a row with a host at either end, as in the paper]
    speed : text with a unit, or a number in bit/s, optional
        Rate of the links, like 25G, unless the topology sets one; a byte must take a whole number of
        picoseconds [default: 25G]
    scheme : {'none', 'ordered', 'non-blocking', 'wharf', 'llr', 'selective', 'parity'}, optional
        Protection to enable at the corrupting link: ordered or non-blocking [default: ordered]
    llr : path, or data of linkmend.data, optional
        LLR registers: loop (HPE's rule), plan (as computed by `sim llr plan`), or a published profile
        such as meta-400g, followed by registers to override, such as plan,replay_count_max=3 [default:
        loop]
    deadline : text with a unit, or a number in s, optional
        With parity: longest time from sending a frame to its delivery, above the delay of the link and
        at most 1s. Later frames are dropped, and counted as late [default: 150ms]
    parity_code : text or number, optional
        With parity: planned (parity, retransmission or both, whichever costs least for the measured
        losses and the deadline), or a fixed code without retransmission, such as 20:10 for 10 parity
        frames after every 20 frames [default: planned]
    parity_overhead : text or number, optional
        With planned parity: the most parity frames and copies per frame that the planner may expect to
        send, 0 to 1 [default: 1]
    profile : {'tofino', 'daemon', 'planned'}, optional
        Parameters of the link ends: tofino, as published; planned, as published but with timeout,
        thresholds and window for this speed and length, and buffers in memory; or daemon, as `linkmend
        run` derives them [default: tofino]
    copies : whole number, optional
        Always retransmit this many copies of a lost frame (1 to 16), instead of as many as target needs
    target : text or number, optional
        Effective loss rate to stay below, which determines the number of copies (Equation 2) [default:
        1e-8]
    recovery_timeout : text with a unit, or a number in s, optional
        Give up on a frame that has been missing for this long (ackNoTimeout) [default: 13.5us up to
        10G, 7.5us up to 50G, 7us above]
    pause_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender is paused; at most recirculation_buffer, or 16MiB
        with buffering direct [default: resume_threshold plus 2 frames]
    resume_threshold : text with a unit, or a number in B, optional
        Bytes in the Rx buffer at which the sender may resume; below pause_threshold [default: 40kB, or
        37kB above 50G]
    no_backpressure : bool, optional
        Never pause the sender (Figure 9b)
        [default: false]
    dummy_copies : whole number, optional
        Dummy frames sent each time the queue runs empty, so that a lost tail is detected; 0 for none
        [default: 1]
    rounds : whole number, optional
        Maximum number of retransmission rounds for a lost frame; the paper's protocol has 1 [default:
        1]
    window : text or number, optional
        Maximum number of outstanding frames of a link end: a power of two from 16 to 32768, half the
        sequence space [default: 1024]
    loss : text or number, optional
        Share of frames that the link in the middle corrupts from corruption_at on [default: 1e-3]
    mean_burst : text or number, optional
        Corrupt frames in bursts of this many on average (Gilbert-Elliott); loss remains the long-term
        loss rate
    bit_errors : bool, optional
        Interpret loss as the loss rate of full-size packets, and apply independent bit errors
        [default: false]
    bit_error_rate : text or number, optional
        Corrupt each bit independently with this probability, so that longer frames suffer more, like
        1e-9
    fec : {'rs-528', 'rs-544', 'rs-272'}, optional
        Forward error correction below the scheme: rs-528, rs-544 or rs-272. With bit_error_rate,
        codewords that cannot be corrected corrupt frames. rs-272 also reduces the latency by half a
        codeword's time, unless egress_latency is set
    transceiver : {'10GBASE-SR', '25GBASE-SR', '25GBASE-SR-FEC', '50GBASE-SR-FEC'}, optional
        Corrupt frames as this transceiver does on an attenuated fibre (Figure 1)
    attenuation : text with a unit, or a number in dB, optional
        Attenuation of that fibre beyond what the standard allows, like 3.5dB
    losses : path, or data of linkmend.data, optional
        Corrupt exactly the frames whose numbers this file lists in ascending order, one per line.
        Numbers start at 0 and count all frames sent in that direction; on a protected link this
        includes the handshake, copies and dummies
    reverse_loss : text or number, optional
        Share of frames corrupted in the other direction, in which ACKs and loss notifications travel;
        the ordered sets of llr and selective are 8 octets long, and are lost 8 / (frame size + 20)
        times as often [default: 0]
    both_directions : bool, optional
        Corrupt both directions of these links, and protect both
        [default: false]
    corrupting_links : whole number, optional
        Number of corrupting links, chosen from the middle of the links between switches [default: 1]
    drained_links : whole number, optional
        Take this many links out of service before the run, chosen like corrupting_links; frames take
        the other links [default: 0]
    spread_links : bool, optional
        Choose corrupting, drained and failing links at equal intervals among the links between
        switches, instead of from the middle
        [default: false]
    handshake : bool, optional
        Include the TCP handshake in each flow
        [default: false]
    rto_min : text with a unit, or a number in s, optional
        Minimum retransmission timeout of TCP [default: 1ms]
    host_latency : text with a unit, or a number in s, optional
        Median latency that a host adds to a frame: stack, NIC, interrupts [default: 15.5us with TCP,
        1.23us with RDMA]
    host_latency_min : text with a unit, or a number in s, optional
        Minimum of that latency; if it equals the median, the latency is constant [default: 2.5us with
        TCP, 1us with RDMA, or the median if that is lower]
    host_kernel : {'linux-5.4', 'linux-4.13'}, optional
        Kernel of TCP hosts: linux-5.4, as in LinkGuardian's testbed, with 1,000 ticks a second and no
        timestamps; or linux-4.13, as in SQR's testbed, with 250 ticks a second and timestamps, and
        without tail loss probes before 10ms [default: linux-5.4]
    testbed_hosts : bool, optional
        Model TCP hosts as in LinkGuardian's testbed: a single frame is received sooner than several
        together, and some clock ticks are late
        [default: false]
    queue_pairs : whole number, optional
        RDMA connections between each pair of hosts, shared by their flows [default: one per flow]
    rdma_mechanisms : text or number, optional
        How hosts and switches prevent timeouts (JCST 2022): none, nak, twice, dummy, repeat, all, all-
        optimized, testbed, or numbers: dummies/NAK replicas/packet replicas/tail replicas, such as
        2/1/3 [default: none]
    dummy_gap : text with a unit, or a number in s, optional
        Send dummies after a flow only if the previous flow on the same connection was submitted longer
        ago than this [default: 0s]
    rdma_verb : {'write', 'read'}, optional
        How flows are transferred: write, by the source; or read, by the destination, with empty READs
        as dummies [default: write]
    timeout_exponent : text or number, optional
        Exponent t of the transport timer, 4.096 us x 2^t, 0 to 31 [default: 8, a millisecond]
    rdma_mtu : text or number, optional
        Payload of full packets: 256, 512, 1024, 2048 or 4096 bytes [default: 1024]
    rdma_window : whole number, optional
        Maximum number of outstanding packets [default: 8388607, the limit of 24-bit sequence numbers]
    failure_every : text with a unit, or a number in s, optional
        Interval at which links between switches fail, both directions together [default: no failures]
    failing_links : whole number, optional
        Number of failing links, chosen from the middle of the links between switches [default: 1]
    first_failure : text with a unit, or a number in s, optional
        When links fail for the first time [default: after failure_every]
    failures : whole number, optional
        Maximum number of failures of each failing link [default: until the run ends]
    down_for : text with a unit, or a number in s, optional
        How long a failed link stays down if it has a backup (reroute local) or a second link [default:
        10ms]
    detection : text with a unit, or a number in s, optional
        Time until switches detect a failure: f10 (30us), squelch (2.755us) or a time [default: f10]
    reroute : text with a unit, or a number in s, optional
        How traffic is rerouted: sharebackup (the link itself comes back after 730us), local (a second
        link, immediately), portland (the link comes back after 65ms), or a time after which it comes
        back [default: sharebackup]
    hand_off : {'none', 'sqr', 'acknowledged'}, optional
        How switches recover frames that a failed link lost: none; sqr, which keeps a copy of each frame
        until a failure would have been detected; or acknowledged, which keeps each frame until it is
        acknowledged [default: none]
    sqr_buffer : text with a unit, or a number in B, optional
        Maximum size of the copies that a switch keeps for one port with SQR [default: 22MB]
    sqr_margin : text with a unit, or a number in s, optional
        Time for which SQR keeps copies beyond the detection time [default: the time that a frame is in
        flight; 0s in the paper]
    sqr_one_queue : bool, optional
        Keep all of SQR's copies in the caching queue of the port itself, instead of that of the least
        loaded port
        [default: false]
    second_link : bool, optional
        Give each corrupting link a second one between the same link ends, which use both as `linkmend
        run` does. Only these two links then fail, as set by failure_every, down_for and detection
        [default: false]
    cut : {'primary', 'either', 'both'}, optional
        Which of the two links fails each time: the primary, either one at random, or both [default:
        primary]
    noticed : {'carrier', 'silence'}, optional
        How link ends detect a failure: both ports lose their carrier after the detection time, or
        nothing is heard for that time [default: carrier]
    silence : text with a unit, or a number in s, optional
        Silence that counts as a failure if the carrier stays, at least 20us; four probes are sent
        during this time [default: 10ms, as in `linkmend run`]
    return_after : text with a unit, or a number in s, optional
        How long the primary link must be up before it is used again [default: as in `linkmend run`]
    parallel_queues : whole number, optional
        Parallel queues in front of the middle link, served round-robin (a load-balanced switch)
    placement : {'uniform', 'hashed'}, optional
        How frames are distributed over the parallel queues: uniform (at random, which reorders) or
        hashed (by flow, which does not) [default: uniform]
    reverse_delay : text with a unit, or a number in s, optional
        Additional delay of frames in the reverse direction of the middle link [default: 0s]
    balance : {'static', 'flow-hash', 'spray'}, optional
        How switches choose among equal paths: spray picks a path for each frame [default: flow-hash]
    buffering : {'recirculating', 'direct'}, optional
        When a buffered frame is available: when it comes round through a recirculation port, as on the
        Tofino, or immediately, as in software or on the Tofino2 [default: as in switches of that speed:
        recirculating up to 100G, direct beyond; recirculating if a parameter of the recirculation port
        is set]
    egress_latency : text with a unit, or a number in s, optional
        Time from the queue to the wire, with either buffering [default: 260ns, calibrated; with llr
        66ns, as in Meta's budget]
    ingress_latency : text with a unit, or a number in s, optional
        Time from the wire to the forwarding decision, with either buffering [default: 850ns,
        calibrated; with llr 0s]
    pipeline_latency : text with a unit, or a number in s, optional
        Additional time to the forwarding decision, if the scheme acts in the port itself [default: 0s;
        with llr, what remains of the usual egress and ingress latencies]
    loop_latency : text with a unit, or a number in s, optional
        Latency of one pass through the recirculation port, without serialisation; this and the options
        below have no effect with buffering direct [default: 2.35us, calibrated]
    timer_interval : text with a unit, or a number in s, optional
        Interval of the timer packets in the receiver's forwarding pipe; timeouts, pauses and resumes
        take effect with the next one. With 0ns, they take effect immediately [default: 100ns]
    recirculation_speed : text with a unit, or a number in bit/s, optional
        Rate of the recirculation port, at which the Rx buffer drains [default: 100G, or the link's rate
        if that is higher]
    recirculation_buffer : text with a unit, or a number in B, optional
        Capacity of each recirculation buffer [default: 200kB]
    pipe_capacity : text or number, optional
        Packets per second that a forwarding pipe of a switch can process, of which recirculation takes
        a share [default: 1220M]
    seed : whole number, optional
        Seed for all random choices; the same seed gives the same results on every machine [default: 1]
    threads : whole number, optional
        Threads that run trials in parallel; a single run uses one [default: one for each processor]
    corruption_at : text with a unit, or a number in s, optional
        When the link begins to corrupt frames
        [default: 200ms]
    protection_at : text with a unit, or a number in s, optional
        When its protection is enabled
        [default: 700ms]
    sample : text with a unit, or a number in s, optional
        Time between two samples
        [default: 10ms]
    series : path, or data of linkmend.data, optional
        Write the samples to this file (CSV)
    report : path, or data of linkmend.data, optional
        Write plots of the samples to this file (HTML)
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

def throughput(duration: Number = "1s", **keywords: Any) -> Result:
    """Run one endless flow for this time, and measure its throughput: `flows` without `load` and `trials`."""

def collective(operation: str | None = None, **keywords: Any) -> Result:
    """Run a collective operation of a training job on all hosts, all-reduce-ring unless there is a `program`."""

class Llr:
    """Ultra Ethernet's Link Layer Retry."""

    def __call__(self, **keywords: Any) -> Result:
        """Send frames at line rate over one link with LLR: `stress(scheme="llr", ...)`."""

    @staticmethod
    def plan(
        *,
        speed: Number,
        cable: Number | None = None,
        phy: Number | None = None,
        mtu: Number | None = None,
        loss: Number | None = None,
        spacing: Number | None = None,
        buffer: Number | None = None,
        years: Number | None = None,
        progress: Progress = None,
    ) -> Result:
        """Derive the parameters of a port from its link, and show each step.

        The same as `linkmend sim llr plan`, with the same results.

        Parameters
        ----------
        speed : text with a unit, or a number in bit/s
            Speed of the link
        cable : text with a unit, or a number in m, optional
            Length of the cable
            [default: 50m]
        phy : text with a unit, or a number in s, optional
            Latency of the PHYs, total of both directions
            [default: 132ns]
        mtu : text with a unit, or a number in B, optional
            Largest frame, including its frame check sequence
            [default: 9000B]
        loss : text or number, optional
            Share of frames that the link corrupts
            [default: 1e-6]
        spacing : text with a unit, or a number in B, optional
            Distance from one ACK to the next (ctlos_target_spacing)
            [default: 2048B]
        buffer : text with a unit, or a number in B, optional
            Size of the replay buffer
        years : text or number, optional
            Minimum mean time between FLUSHes, in years
            [default: 10]
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

llr: Llr
