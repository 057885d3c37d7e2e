//! The promiscuous mode of an interface in a network namespace of its own.

use linkmend_linux::{route, veth};
use nix::sched::{CloneFlags, unshare};
use std::io::Write;

#[test]
fn an_interface_is_promiscuous_until_that_is_undone_and_packet_sockets_do_not_show() {
    let run = || {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            // Written directly, because the test harness swallows what passing tests print.
            let text = "SKIPPED: promiscuous mode; run as root: sudo -E make test";
            let _ = writeln!(std::io::stderr(), "\n######## {text} ########\n");
            return;
        }
        veth::create_pair("here", "there", 1_500).expect("root may");
        veth::bring_up("here", 1_500).expect("it is there");
        let facts = || route::interface("here").expect("it can be asked for").expect("it is there");
        assert!(!facts().promiscuous);
        for promiscuous in [true, true, false] {
            route::set_promiscuous(facts().index, promiscuous).expect("root may");
            assert_eq!((facts().promiscuous, facts().up), (promiscuous, true));
        }
        let socket = linkmend_linux::packet_socket::open().expect("root may");
        let socket = std::os::fd::AsFd::as_fd(&socket);
        linkmend_linux::packet_socket::join_promiscuous(socket, facts().index).expect("it is there");
        assert!(!facts().promiscuous);
    };
    // Only the thread that asks for it gets into the new namespace.
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
