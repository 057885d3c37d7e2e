//! What a start that fails leaves behind. Needs root.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::*;
use crate::bypass::assembler::{Assembler, Operation, Register};
use crate::sys::bpf::{Program, ProgramKind};
use crate::sys::tcx;
use crate::sys::xsk::{XskOptions, XskSocket};
use linkmend_linux::route::{self, AttachedProgram, XdpMode};
use linkmend_linux::{features, veth};
use nix::sched::{CloneFlags, unshare};
use std::time::Duration;

const PORTS: [&str; 3] = ["inner", "link", "backup"];

/// Runs `work` in a network namespace with three cables, whose near ends are the ports.
fn with_ports(what: &str, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if unshare(CloneFlags::CLONE_NEWNET).is_err() {
                eprintln!("\n######## SKIPPED: {what} needs root ########\n");
                return;
            }
            for port in PORTS {
                let far = format!("{port}1");
                veth::create_pair(port, &far, 1500).unwrap();
                for end in [port, &far] {
                    veth::bring_up(end, 1500).unwrap();
                }
                features::set(port, |name| (name == "rx-gro").then_some(true)).unwrap();
            }
            work();
        });
        worker.join().unwrap();
    });
}

fn options() -> PortPairOptions {
    PortPairOptions { choice: PortChoice::Xdp, chunks: 4096, ..PortPairOptions::default() }
}

fn open() -> Result<PortPair, PortError> {
    PortPair::open("inner", &["link", "backup"], &options())
}

fn index(port: &str) -> u32 {
    route::interface(port).unwrap().unwrap().index
}

fn program(port: &str) -> Option<AttachedProgram> {
    route::interface(port).unwrap().unwrap().program
}

/// What a start changes at a port: whether XDP is attached, the programs behind it, and receive offload.
fn state(port: &str) -> (bool, usize, bool) {
    let offload = features::active(port).unwrap()["rx-gro"];
    (program(port).is_some(), tcx::programs(index(port)).unwrap().len(), offload)
}

const UNTOUCHED: (bool, usize, bool) = (false, 0, true);

/// Takes the receive queue of a port, as another program's AF_XDP socket does.
fn occupy(port: &str) -> (FramePool, XskSocket) {
    let pool = FramePool::new(PoolOptions::for_mtu(1500, 4096)).unwrap();
    let options = XskOptions {
        queue: 0,
        interface_index: index(port),
        chunk_bytes: pool.chunk_bytes(),
        ring_entries: 64,
        zero_copy: false,
        multi_buffer: false,
    };
    // The kernel gives up the queue of a socket that was closed a moment later.
    for _ in 0..200 {
        match XskSocket::open(pool.memory(), &options) {
            Ok(socket) => return (pool, socket),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("the receive queue of {port} stays occupied");
}

fn attach_foreign(port: &str) {
    let mut code = Assembler::new();
    code.immediate(Operation::Move, Register::R0, 2);
    code.exit();
    let program =
        Program::load(ProgramKind::Xdp { several_buffers: false }, &code.finish().unwrap(), "linkmend_other")
            .unwrap();
    route::set_xdp_program(index(port), Some(program.as_fd()), XdpMode::Generic).unwrap();
}

#[test]
fn a_start_that_fails_leaves_its_ports_as_they_were() {
    with_ports("a start that fails", || {
        for port in PORTS {
            let occupied = occupy(port);
            let error = open().err().unwrap();
            assert_eq!(error.errno(), Some(libc::EBUSY), "{error:?}");
            assert_eq!(PORTS.map(state), [UNTOUCHED; 3], "the socket of {port} is refused");
            drop(occupied);
        }
        attach_foreign("backup");
        let foreign = program("backup");
        let error = open().err().unwrap();
        assert!(
            matches!(&error, PortError::ForeignProgram { interface, name, .. }
                if interface == "backup" && name == "linkmend_other"),
            "{error:?}"
        );
        assert_eq!(["inner", "link"].map(state), [UNTOUCHED; 2]);
        assert_eq!(program("backup"), foreign);
        route::set_xdp_program(index("backup"), None, XdpMode::Generic).unwrap();
        // The ports are open, and what comes after fails.
        drop(PortPair::open_on_trial("inner", &["link", "backup"], &options()).unwrap());
        assert_eq!(PORTS.map(state), [UNTOUCHED; 3]);
    });
}

/// The kernel forwards where a daemon ended, and a start that fails must not end that.
#[test]
fn a_start_that_fails_leaves_the_bypass_of_the_run_before() {
    with_ports("a start that fails beside a bypass", || {
        drop(open().unwrap());
        let left = PORTS.map(state);
        assert_eq!(left.map(|(attached, ..)| attached), [true; 3]);
        let occupied = occupy("link");
        open().err().unwrap();
        assert_eq!(PORTS.map(state), left);
        drop(occupied);
        drop(open().unwrap());
        assert_eq!(PORTS.map(state), left, "programs are replaced, and not added");
        for port in PORTS {
            bypass::remove(&Interface::acquire(port).unwrap()).unwrap();
            assert!(matches!(state(port), (false, 0, _)), "{port}");
        }
    });
}

/// Under the systemd unit, each failed start of older versions left one behind XDP, and `detach` took one.
#[test]
fn detach_removes_all_that_failed_starts_of_older_versions_left() {
    with_ports("what older versions left", || {
        let leave = || {
            let mut code = Assembler::new();
            code.immediate(Operation::Move, Register::R0, -1);
            code.exit();
            let code = code.finish().unwrap();
            for name in ["linkmend_queue", "other", "linkmend_queue", "linkmend_queue"] {
                let program = Program::load(ProgramKind::TrafficControl, &code, name).unwrap();
                tcx::attach(index("inner"), program.as_fd(), None).unwrap();
            }
        };
        leave();
        let removed = bypass::remove(&Interface::acquire("inner").unwrap()).unwrap();
        assert_eq!((removed.hook, removed.queue_programs), (None, 3));
        assert_eq!(tcx::programs(index("inner")).unwrap().len(), 1, "the other stays");
        leave();
        drop(open().unwrap());
        let removed = bypass::remove(&Interface::acquire("inner").unwrap()).unwrap();
        assert_eq!((removed.hook.is_some(), removed.queue_programs <= 1), (true, true), "a start tidies up");
        assert_eq!(tcx::programs(index("inner")).unwrap().len(), 2, "the others stay");
    });
}
