//! All parameters: each is declared here, and nowhere else.

use super::declare::{Declared, Runs, parameters};
use super::lists::{Hops, Phases};
use super::value::ParameterValue;
use crate::corruption::{Fec, Transceiver};
use crate::host::{FlowSizes, RdmaVerb};
use crate::link::config::{Buffering, LlrProfile, ParityCode, ProfileName};
use crate::network::{Balance, Cut, Noticed};
use crate::run::flows::{
    CollectiveKind, Detection, HandOffKind, HostKernel, HostRecovery, PlacementKind, RankOrder,
    RdmaMechanisms, Reroute, SchemeKind, TrafficKind, TransportKind,
};
use linkmend_experiment::Quantity;
use linkmend_protocol::Format;
use linkmend_quantity::{BitRate, ByteSize, Count, Decibels, Distance, LossRate, Share, Span};
use std::path::PathBuf;

// For each: its help; then name and type; key, label, quantity, what stands for its value, and the runs it applies to.
parameters! {
    "Traffic" {
        /// Transport of the hosts [default: dctcp]
        transport: TransportKind = "transport", "transport", Word, "NAME", HOSTS;
        /// How hosts recover from losses: rack, rack-static, duplicate-acks or adaptive-duplicate-acks for TCP;
        /// go-back-n or selective-repeat for RDMA [default: rack for TCP, go-back-n for RDMA]
        host_recovery: HostRecovery = "host-recovery", "host recovery", Word, "NAME", HOSTS;
        /// Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage, google-all-rpc,
        /// google-search-rpc, facebook-key-value, data-mining, mice-and-elephants; a suffix limits the flow size:
        /// web-search:100kB; or a file with a cumulative distribution: in each line, a size in bytes and the share of flows
        /// that are not longer (.csv or .txt) [default: 24387B]
        size: FlowSizes = "size", "flow size", Size, "SIZE|WORKLOAD", FLOWS;
        /// Which hosts send to which: a random pair for each flow (full-mesh), the first host to the last (point-to-point),
        /// the first half to the second with the load of one link (across), or there and back (ping-pong) [default:
        /// full-mesh]
        traffic: TrafficKind = "traffic", "traffic", Word, "NAME", FLOWS;
        /// With hosts: start flows at random times instead of one after the other, at a rate that uses this share of the
        /// senders' links, above 0 and below 1. Without hosts: traffic on the first link, as a share of its rate
        /// [default: as much as it can carry]
        load: Share = "load", "load", Share, "SHARE", FLOWS_OR_LINKS;
        /// The first N hosts send to the last one simultaneously, in rounds
        incast: u32 = "incast", "simultaneous senders", Count, "N", FLOWS;
        /// How long the flow sends; with a load, how long new flows are started [default: 1s without a load]
        duration: Span = "duration", "duration", Time, "TIME", HOSTS;
        /// Number of flows, which run one after the other from the first host to the last, unless --load is given; for an
        /// incast or a ping-pong, the number of rounds [default: 5k]
        trials: Count = "trials", "trials", Count, "N", FLOWS;
        /// Minimum pause between one flow and the next; the maximum is twice as long [default: 2ms]
        pause: Span = "pause", "pause between flows", Time, "TIME", FLOWS;
        /// Frames that each generator sends, like 100M [default: 10M; 100k over several links]
        frames: Count = "frames", "frames", Count, "COUNT", GENERATORS;
        /// Length of each frame, with its frame check sequence and without Linkmend's header, 64B to 9216B [default: 1518B]
        frame_size: ByteSize = "frame-size", "frame size", Size, "SIZE", GENERATORS;
    }
    "Training" {
        /// In each step, run a collective operation of --size bytes on the hosts, as ranks of a training job
        collective: CollectiveKind = "collective", "collective", Word, "NAME", FLOWS;
        /// In each step, run the program in a file: an htsim connection matrix (.cm), GOAL, or an AICB workload
        program: PathBuf = "program", "program", Word, "FILE", FLOWS;
        /// Number of steps; a step begins when all ranks have finished the previous one [default: 1]
        steps: Count = "steps", "steps", Count, "N", FLOWS;
        /// How long all ranks compute at the beginning of each step [default: 0s]
        compute: Span = "compute", "compute time", Time, "TIME", FLOWS;
        /// Number of ranks, each on a host of its own [default: all hosts, or as many as the file says]
        ranks: u32 = "ranks", "ranks", Count, "N", FLOWS;
        /// Divide the ranks into this many groups of consecutive ranks, each of which performs the operation separately
        /// [default: 1]
        groups: u32 = "groups", "groups", Count, "N", FLOWS;
        /// Divide the data into this many parts that are processed independently, like NCCL's channels [default: 1]
        channels: u32 = "channels", "channels", Count, "N", FLOWS;
        /// How ranks are assigned to hosts: in topology order (linear), consecutive ranks at different switches
        /// (across), or at random (random) [default: linear]
        rank_order: RankOrder = "rank-order", "order of ranks", Word, "NAME", FLOWS;
    }
    "Several links" {
        /// Links in a row: how many, or each with its rate, its loss rate if it differs from --loss, and `off` if it is
        /// unprotected, like 100G,1e-3/100G,0,off/25G [default: 1]
        hops: Hops = "hops", "hops", Count, "N|LINKS", LINKS;
        /// Number of parallel links between two switches, 1 to 8, which share recirculation ports
        parallel_links: u32 = "parallel-links", "parallel links", Count, "N", LINKS;
        /// Number of recirculation ports of each switch, to which --parallel-links are assigned in turn [default: 1]
        recirculation_ports: u32 = "recirculation-ports", "recirculation ports", Count, "N", LINKS;
        /// Traffic in the other direction, as a share of the link's rate; it is protected as well [default: none]
        reverse_load: Share = "reverse-load", "load in reverse", Share, "SHARE", LINKS;
        /// Non-blocking traffic, as a share of the link's rate; --load then applies only to the ordered traffic on this
        /// link
        non_blocking_load: Share = "non-blocking-load", "non-blocking load", Share, "SHARE", LINKS;
        /// Time from one frame to the next, instead of a load: if it is long, only dummies reveal a lost frame in time
        spacing: Span = "spacing", "spacing", Time, "TIME", LINKS;
        /// Send exactly --dummy-copies dummies, as in software; on the Tofino, they are sent until one gets through
        fixed_dummies: bool = "fixed-dummies", "fixed dummies", Word, "", LINKS;
        /// Headers: compact or transparent, which piggybacks ACKs on data [default: transparent with traffic both ways, in
        /// both classes or with --phases, otherwise compact]
        format: Format = "format", "format", Word, "NAME", LINKS;
        /// Limit of the queue in front of each link; frames beyond it are dropped [default: 1MB]
        queue: ByteSize = "queue", "queue", Size, "SIZE", LINKS;
        /// Queue length above which frames are marked (ECN) [default: 100kB]
        ecn: ByteSize = "ecn", "ECN threshold", Size, "SIZE", LINKS;
    }
    "Changing loss" {
        /// Successive loss rates, each with its duration, like 5ms,1e-4/5ms,8%; the link falls back automatically
        phases: Phases = "phases", "phases", Word, "TIME,LOSS/..", LINKS;
        /// Time between two lines of the series [default: 1ms]
        sample: Span = "sample", "sample", Time, "TIME", LINKS;
        /// Loss rate above which the link leaves ordered mode [default: 5%]
        fallback_ordered_loss_max: LossRate = "fallback-ordered-loss-max", "limit of ordered mode", LossRate, "RATE", LINKS;
        /// Loss rate above which protection is given up [default: 30%]
        fallback_non_blocking_loss_max: LossRate = "fallback-non-blocking-loss-max", "limit of protection", LossRate, "RATE", LINKS;
        /// How long the loss rate must be below half of its limit before protection returns [default: 2ms]
        fallback_return_hold: Span = "fallback-return-hold", "hold before a return", Time, "TIME", LINKS;
        /// How long a link stays dormant before it is tried again [default: 2ms]
        fallback_dormant_hold: Span = "fallback-dormant-hold", "dormant hold", Time, "TIME", LINKS;
        /// Frames over which the loss rate is measured [default: 2000]
        loss_window: u32 = "loss-window", "loss window", Count, "FRAMES", LINKS;
    }
    "Network" {
        /// The network with its hosts: a specification such as fat-tree:k=4,hosts=2, or a file [default: five switches in a
        /// row with a host at either end, as in the paper]
        topology: String = "topology", "topology", Word, "TOPOLOGY", HOSTS;
        /// Rate of the links, like 25G, unless the topology sets one; a byte must take a whole number of picoseconds
        /// [default: 100G]
        speed: BitRate = "speed", "link speed", Rate, "RATE", ALL;
        /// Length of the fibre, like 2km; 5 ns per metre [default: 2m]
        distance: Distance = "distance", "distance", Distance, "LENGTH", GENERATORS;
    }
    "Protection" {
        /// How the corrupting links recover: not at all (none), in order (LinkGuardian), out of order (LinkGuardianNB),
        /// by forward error correction (Wharf), by Ultra Ethernet's Link Layer Retry (llr), by an idealised retry of only
        /// the lost frames (selective), as a bound for comparison, or by parity across frames and retransmission before a
        /// deadline (parity) [default: ordered at line rate, none with hosts]
        scheme: SchemeKind = "scheme", "scheme", Word, "NAME", ALL;
        /// LLR registers: loop (HPE's rule), plan (as computed by `sim llr plan`), or a published profile such as
        /// meta-400g, followed by registers to override, such as plan,replay_count_max=3 [default: loop]
        llr: LlrProfile = "llr", "LLR profile", Word, "PROFILE", ALL;
        /// With parity: longest time from sending a frame to its delivery, above the delay of the link and at most 1s. Later
        /// frames are dropped, and counted as late [default: 150ms]
        deadline: Span = "deadline", "deadline", Time, "TIME", ALL;
        /// With parity: planned (parity, retransmission or both, whichever costs least for the measured losses and the
        /// deadline), or a fixed code without retransmission, such as 20:10 for 10 parity frames after every 20 frames
        /// [default: planned]
        parity_code: ParityCode = "parity-code", "parity code", Word, "CODE", ALL;
        /// With planned parity: the most parity frames and copies per frame that the planner may expect to send, 0 to 1
        /// [default: 1]
        parity_overhead: Share = "parity-overhead", "ceiling of the overhead", Share, "SHARE", ALL;
        /// Parameters of the link ends: tofino, as published; planned, as published but with timeout, thresholds and window
        /// for this speed and length, and buffers in memory; or daemon, as `linkmend run` derives them [default: tofino]
        profile: ProfileName = "profile", "profile", Word, "NAME", ALL;
        /// Always retransmit this many copies of a lost frame (1 to 16), instead of as many as --target needs
        copies: u8 = "copies", "copies", Count, "N", ALL;
        /// Effective loss rate to stay below, which determines the number of copies (Equation 2) [default: 1e-8]
        target: LossRate = "target", "target loss rate", LossRate, "RATE", ALL;
        /// Give up on a frame that has been missing for this long (ackNoTimeout) [default: 13.5us up to 10G, 7.5us up
        /// to 50G, 7us above]
        recovery_timeout: Span = "recovery-timeout", "ackNoTimeout", Time, "TIME", ALL;
        /// Bytes in the Rx buffer at which the sender is paused; at most --recirculation-buffer, or 16MiB with --buffering
        /// direct [default: --resume-threshold plus 2 frames]
        pause_threshold: ByteSize = "pause-threshold", "pauseThreshold", Size, "SIZE", ALL;
        /// Bytes in the Rx buffer at which the sender may resume; below --pause-threshold [default: 40kB, or 37kB above
        /// 50G]
        resume_threshold: ByteSize = "resume-threshold", "resumeThreshold", Size, "SIZE", ALL;
        /// Never pause the sender (Figure 9b)
        no_backpressure: bool = "no-backpressure", "no backpressure", Word, "", ALL;
        /// Dummy frames sent each time the queue runs empty, so that a lost tail is detected; 0 for none [default: 1]
        dummy_copies: u8 = "dummy-copies", "dummy copies", Count, "N", ALL;
        /// Maximum number of retransmission rounds for a lost frame; the paper's protocol has 1 [default: 1]
        rounds: u8 = "rounds", "rounds", Count, "N", ALL;
        /// Maximum number of outstanding frames of a link end: a power of two from 16 to 32768, half the sequence space
        /// [default: 1024]
        window: u32 = "window", "window", Count, "FRAMES", ALL;
    }
    "Corruption" {
        /// Share of frames that each corrupting link corrupts, independently or in bursts [default: 1e-3]
        loss: LossRate = "loss", "loss rate", LossRate, "RATE", ALL;
        /// Corrupt frames in bursts of this many on average (Gilbert-Elliott); --loss remains the long-term loss rate
        mean_burst: f64 = "mean-burst", "mean burst, in frames", Count, "FRAMES", ALL;
        /// Interpret --loss as the loss rate of full-size packets, and apply independent bit errors
        bit_errors: bool = "bit-errors", "bit errors", Word, "", ALL;
        /// Corrupt each bit independently with this probability, so that longer frames suffer more, like 1e-9
        bit_error_rate: LossRate = "bit-error-rate", "bit error rate", LossRate, "RATE", ALL;
        /// Forward error correction below the scheme: rs-528, rs-544 or rs-272. With --bit-error-rate, codewords that
        /// cannot be corrected corrupt frames. rs-272 also reduces the latency by half a codeword's time, unless
        /// --egress-latency is set
        fec: Fec = "fec", "FEC", Word, "NAME", ALL;
        /// Corrupt frames as this transceiver does on an attenuated fibre (Figure 1)
        transceiver: Transceiver = "transceiver", "transceiver", Word, "NAME", ALL;
        /// Attenuation of that fibre beyond what the standard allows, like 3.5dB
        attenuation: Decibels = "attenuation", "attenuation", Attenuation, "DECIBELS", ALL;
        /// Corrupt exactly the frames whose numbers this file lists in ascending order, one per line. Numbers start at 0
        /// and count all frames sent in that direction; on a protected link this includes the handshake, copies and dummies
        losses: PathBuf = "losses", "losses", Word, "FILE", ALL;
        /// Corrupt retransmitted copies with this probability instead, and correct the effective loss for it
        /// (importance sampling, for losses too rare to count); all other results then describe a link that loses more
        /// copies
        copy_loss: LossRate = "copy-loss", "loss rate of copies", LossRate, "RATE", LINE_RATE;
        /// Share of frames corrupted in the other direction, in which ACKs and loss notifications travel; the ordered sets of
        /// llr and selective are 8 octets long, and are lost 8 / (frame size + 20) times as often [default: 0]
        reverse_loss: LossRate = "reverse-loss", "loss rate in reverse", LossRate, "RATE", ALL;
        /// Corrupt both directions of these links, and protect both
        both_directions: bool = "both-directions", "both directions", Word, "", HOSTS;
        /// Number of corrupting links, chosen from the middle of the links between switches [default: 1]
        corrupting_links: u32 = "corrupting-links", "corrupting links", Count, "N", HOSTS;
        /// Take this many links out of service before the run, chosen like --corrupting-links; frames take the other
        /// links [default: 0]
        drained_links: u32 = "drained-links", "drained links", Count, "N", HOSTS;
        /// Choose corrupting, drained and failing links at equal intervals among the links between switches, instead of
        /// from the middle
        spread_links: bool = "spread-links", "spread links", Word, "", HOSTS;
    }
    "Hosts" {
        /// Include the TCP handshake in each flow
        handshake: bool = "handshake", "handshake", Word, "", HOSTS;
        /// Minimum retransmission timeout of TCP [default: 1ms]
        rto_min: Span = "rto-min", "minimum timeout", Time, "TIME", HOSTS;
        /// Median latency that a host adds to a frame: stack, NIC, interrupts [default: 15.5us with TCP, 1.23us with RDMA]
        host_latency: Span = "host-latency", "host latency", Time, "TIME", HOSTS;
        /// Minimum of that latency; if it equals the median, the latency is constant [default: 2.5us with TCP, 1us with RDMA,
        /// or the median if that is lower]
        host_latency_min: Span = "host-latency-min", "minimum host latency", Time, "TIME", HOSTS;
        /// Kernel of TCP hosts: linux-5.4, as in LinkGuardian's testbed, with 1,000 ticks a second and no timestamps; or
        /// linux-4.13, as in SQR's testbed, with 250 ticks a second and timestamps, and without tail loss probes before 10ms
        /// [default: linux-5.4]
        host_kernel: HostKernel = "host-kernel", "host kernel", Word, "NAME", HOSTS;
        /// Model TCP hosts as in LinkGuardian's testbed: a single frame is received sooner than several together, and
        /// some clock ticks are late
        testbed_hosts: bool = "testbed-hosts", "testbed hosts", Word, "", HOSTS;
    }
    "RDMA" {
        /// RDMA connections between each pair of hosts, shared by their flows [default: one per flow]
        queue_pairs: u32 = "queue-pairs", "queue pairs", Count, "N", HOSTS;
        /// How hosts and switches prevent timeouts (JCST 2022): none, nak, twice, dummy, repeat, all, all-optimized,
        /// testbed, or numbers: dummies/NAK replicas/packet replicas/tail replicas, such as 2/1/3 [default: none]
        rdma_mechanisms: RdmaMechanisms = "rdma-mechanisms", "mechanisms", Word, "NAME", HOSTS;
        /// Send dummies after a flow only if the previous flow on the same connection was submitted longer ago than
        /// this [default: 0s]
        dummy_gap: Span = "dummy-gap", "dummy gap", Time, "TIME", HOSTS;
        /// How flows are transferred: write, by the source; or read, by the destination, with empty READs as dummies
        /// [default: write]
        rdma_verb: RdmaVerb = "rdma-verb", "verb", Word, "VERB", HOSTS;
        /// Exponent t of the transport timer, 4.096 us x 2^t, 0 to 31 [default: 8, a millisecond]
        timeout_exponent: u8 = "timeout-exponent", "timeout exponent", Count, "T", HOSTS;
        /// Payload of full packets: 256, 512, 1024, 2048 or 4096 bytes [default: 1024]
        rdma_mtu: u16 = "rdma-mtu", "MTU", Count, "BYTES", HOSTS;
        /// Maximum number of outstanding packets [default: 8388607, the limit of 24-bit sequence numbers]
        rdma_window: u32 = "rdma-window", "RDMA window", Count, "N", HOSTS;
    }
    "Failures" {
        /// Interval at which links between switches fail, both directions together [default: no failures]
        failure_every: Span = "failure-every", "failure every", Time, "TIME", HOSTS_OR_LINKS;
        /// Number of failing links, chosen from the middle of the links between switches [default: 1]
        failing_links: u32 = "failing-links", "failing links", Count, "N", HOSTS;
        /// When links fail for the first time [default: after --failure-every]
        first_failure: Span = "first-failure", "first failure", Time, "TIME", HOSTS;
        /// Maximum number of failures of each failing link [default: until the run ends]
        failures: Count = "failures", "failures", Count, "N", HOSTS;
        /// How long a failed link stays down if it has a backup (--reroute local) or a second link [default: 10ms]
        down_for: Span = "down-for", "down for", Time, "TIME", HOSTS_OR_LINKS;
        /// Time until switches detect a failure: f10 (30us), squelch (2.755us) or a time [default: f10]
        detection: Detection = "detection", "detection", Time, "NAME|TIME", HOSTS_OR_LINKS;
        /// How traffic is rerouted: sharebackup (the link itself comes back after 730us), local (a second link, immediately),
        /// portland (the link comes back after 65ms), or a time after which it comes back [default: sharebackup]
        reroute: Reroute = "reroute", "time from detection to the new route", Time, "NAME|TIME", HOSTS;
        /// How switches recover frames that a failed link lost: none; sqr, which keeps a copy of each frame until a failure
        /// would have been detected; or acknowledged, which keeps each frame until it is acknowledged [default: none]
        hand_off: HandOffKind = "hand-off", "hand-off", Word, "NAME", HOSTS_OR_LINKS;
        /// Maximum size of the copies that a switch keeps for one port with SQR [default: 22MB]
        sqr_buffer: ByteSize = "sqr-buffer", "SQR buffer", Size, "SIZE", HOSTS;
        /// Time for which SQR keeps copies beyond the detection time [default: the time that a frame is in flight; 0s in
        /// the paper]
        sqr_margin: Span = "sqr-margin", "margin", Time, "TIME", HOSTS;
        /// Keep all of SQR's copies in the caching queue of the port itself, instead of that of the least loaded port
        sqr_one_queue: bool = "sqr-one-queue", "one queue", Word, "", HOSTS;
    }
    "Second link" {
        /// Give each corrupting link a second one between the same link ends, which use both as `linkmend run` does. Only
        /// these two links then fail, as set by --failure-every, --down-for and --detection
        second_link: bool = "second-link", "second link", Word, "", HOSTS_OR_LINKS;
        /// With generators: number of failures, 1 to 100000, which determines how many frames they send [default: 50]
        cuts: Count = "cuts", "failures", Count, "N", LINKS;
        /// Which of the two links fails each time: the primary, either one at random, or both [default: primary]
        cut: Cut = "cut", "cut", Word, "NAME", HOSTS_OR_LINKS;
        /// How link ends detect a failure: both ports lose their carrier after the detection time, or nothing is heard for
        /// that time [default: carrier]
        noticed: Noticed = "noticed", "noticed by", Word, "NAME", HOSTS_OR_LINKS;
        /// Silence that counts as a failure if the carrier stays, at least 20us; four probes are sent during this time
        /// [default: 10ms, as in `linkmend run`]
        silence: Span = "silence", "silence", Time, "TIME", HOSTS_OR_LINKS;
        /// How long the primary link must be up before it is used again [default: as in `linkmend run`]
        return_after: Span = "return-after", "return after", Time, "TIME", HOSTS_OR_LINKS;
    }
    "Reordering" {
        /// Parallel queues in front of the middle link, served round-robin (a load-balanced switch)
        parallel_queues: u32 = "parallel-queues", "parallel queues", Count, "N", HOSTS;
        /// How frames are distributed over the parallel queues: uniform (at random, which reorders) or hashed (by flow,
        /// which does not) [default: uniform]
        placement: PlacementKind = "placement", "placement", Word, "NAME", HOSTS;
        /// Additional delay of frames in the reverse direction of the middle link [default: 0s]
        reverse_delay: Span = "reverse-delay", "reverse delay", Time, "TIME", HOSTS;
        /// How switches choose among equal paths: spray picks a path for each frame [default: flow-hash]
        balance: Balance = "balance", "balance", Word, "NAME", HOSTS;
    }
    "Switches" {
        /// When a buffered frame is available: when it comes round through a recirculation port, as on the Tofino, or
        /// immediately, as in software or on the Tofino2 [default: as in switches of that speed: recirculating up to 100G,
        /// direct beyond; recirculating if a parameter of the recirculation port is set]
        buffering: Buffering = "buffering", "buffering", Word, "NAME", ALL;
        /// Time from the queue to the wire, with either buffering [default: 260ns, calibrated; with llr 66ns, as in Meta's budget]
        egress_latency: Span = "egress-latency", "egress latency", Time, "TIME", ALL;
        /// Time from the wire to the forwarding decision, with either buffering [default: 850ns, calibrated; with llr 0s]
        ingress_latency: Span = "ingress-latency", "ingress latency", Time, "TIME", ALL;
        /// Additional time to the forwarding decision, if the scheme acts in the port itself [default: 0s; with llr,
        /// what remains of the usual egress and ingress latencies]
        pipeline_latency: Span = "pipeline-latency", "pipeline latency", Time, "TIME", ALL;
        /// Latency of one pass through the recirculation port, without serialisation; this and the options below have no effect
        /// with --buffering direct [default: 2.35us, calibrated]
        loop_latency: Span = "loop-latency", "loop latency", Time, "TIME", ALL;
        /// Interval of the timer packets in the receiver's forwarding pipe; timeouts, pauses and resumes take effect
        /// with the next one. With 0ns, they take effect immediately [default: 100ns]
        timer_interval: Span = "timer-interval", "timer interval", Time, "TIME", ALL;
        /// Rate of the recirculation port, at which the Rx buffer drains [default: 100G, or the link's rate if that is higher]
        recirculation_speed: BitRate = "recirculation-speed", "recirculation speed", Rate, "RATE", ALL;
        /// Capacity of each recirculation buffer [default: 200kB]
        recirculation_buffer: ByteSize = "recirculation-buffer", "recirculation buffer", Size, "SIZE", ALL;
        /// Packets per second that a forwarding pipe of a switch can process, of which recirculation takes a share
        /// [default: 1220M]
        pipe_capacity: Count = "pipe-capacity", "pipe capacity", Count, "COUNT", ALL;
    }
    "Run" {
        /// Name of a combination of parameters, for tables and plots; it has no effect on the run
        variant: String = "variant", "variant", Word, "NAME", ALL;
        /// Seed for all random choices; the same seed gives the same results on every machine [default: 1]
        seed: u64 = "seed", "seed", Count, "N", ALL;
        /// Simulate every event, even in the steady state between losses; slower, with the same results
        full: bool = "full", "every event simulated", Word, "", LINE_RATE;
    }
}
