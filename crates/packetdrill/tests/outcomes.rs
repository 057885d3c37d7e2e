//! What the runner says of scripts that do not pass.

use linkmend_packetdrill::{Outcome, run_text};

const SERVER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <...>\n\
    +.1 < . 1:1(0) ack 1 win 257\n+0 accept(3, ..., ...) = 4\n";

fn outcome(script: &str) -> String {
    run_text(&format!("{SERVER}{script}")).expect("a script").to_string()
}

#[test]
fn a_packet_that_differs_is_shown_beside_the_expected_one_with_its_line() {
    let found = outcome("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1002(1001) ack 1\n");
    let wanted = "fail: 9: 1000 bytes of payload instead of 1001\n  script: 0.100000 > P. 1:1002(1001) ack 1\n  \
                  actual: 0.100000 > P. 1:1001(1000) ack 1 win 49152";
    assert_eq!(found, wanted);
}

#[test]
fn a_packet_at_another_time_or_none_at_all_is_a_failure() {
    let late =
        outcome("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.1 > P. 1:1001(1000) ack 1\n");
    assert!(late.starts_with("fail: 10: no packet is sent by 0.204000\n  script: 0.200000 > P."), "{late}");
    let early = outcome("+0 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1\n");
    assert!(early.starts_with("fail: 9: 0.100000 s too early"), "{early}");
    let tolerated = format!(
        "--tolerance_usecs=200000\n{SERVER}+0 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1\n"
    );
    assert_eq!(run_text(&tolerated), Ok(Outcome::Pass));
    assert_eq!(
        outcome("* > P. 1:1001(1000) ack 1\n").lines().next(),
        Some("fail: 8: no further packet is sent")
    );
}

#[test]
fn calls_that_return_something_else_or_not_at_all_or_too_late_are_failures() {
    for (script, wanted) in [
        ("+0 read(4, ..., 10) = 0\n", "fail: 8: `read` does not return"),
        ("+0 write(4, ..., 10) = 9\n", "fail: 8: `write` returns 10 instead of 9"),
        ("+0 write(4, NULL, 10) = 10\n", "fail: 8: `write` returns -1 EFAULT instead of 10"),
        ("+0 close(5) = 0\n", "fail: 8: `close` returns -1 EBADF instead of 0"),
        ("+0...0.2 read(4, ..., 10) = 1\n", "fail: 8: `read` does not return by 0.304000"),
        (
            "+0...0.5 read(4, ..., 10) = 10\n+.1 < P. 1:11(10) ack 1 win 9\n",
            "fail: 8: `read` returns at 0.200000 instead of 0.600000",
        ),
        ("+0 ioctl(4, SIOCINQ, [7]) = 0\n", "fail: 8: `ioctl`: SIOCINQ is 0 instead of 7"),
    ] {
        assert_eq!(outcome(script), wanted);
    }
}

#[test]
fn an_assertion_that_fails_names_its_line_and_values() {
    let found = outcome("+0 %{\nassert tcpi_snd_cwnd == 10\nassert tcpi_snd_cwnd == 11, 'cwnd'\n}%\n");
    let wanted = "fail: 10: the assertion does not hold: cwnd\n  script: assert tcpi_snd_cwnd == 11, 'cwnd'\n  \
                  actual: tcpi_snd_cwnd = 10";
    assert_eq!(found, wanted);
}

#[test]
fn what_is_lacking_is_named_with_its_line() {
    for (script, wanted) in [
        ("+0 < icmp unreachable host_unreachable\n", "lacking: 8: ICMP"),
        ("+0 epoll_create(1) = 5\n", "lacking: 8: the call `epoll_create`"),
        ("+0 write(4, ..., 10) = 10\n+0 send(4, ..., 1, MSG_OOB) = 1\n", "lacking: 9: the flag MSG_OOB"),
        ("+0 %{ assert tcpi_rcv_ooopack == 0 }%\n", "lacking: 8: the name `tcpi_rcv_ooopack` in code"),
        ("+0 `ss -t`\n", "lacking: 8: the command `ss`"),
        (
            "+0 `ip route change 192.0.2.1 dev tun0 mtu lock 1000`\n",
            "lacking: 8: another MTU of a connection that does not probe its path",
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_QUEUE_SEQ, [1], 4) = 0\n",
            "lacking: 8: the socket option TCP_QUEUE_SEQ",
        ),
        (
            "+0 recvmsg(4, {msg_iov(1)=[{...,0}]}, MSG_ERRQUEUE) = 0\n",
            "lacking: 8: the flag MSG_ERRQUEUE without timestamps",
        ),
        ("+0 < S 0:0(0) win 1 <FO>\n", "lacking: 8: Fast Open"),
        ("+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5\n", "lacking: 8: sockets other than SOCK_STREAM"),
    ] {
        assert_eq!(outcome(script), wanted);
    }
    let buffers = vec!["{..., 1}"; 18].join(", ");
    let zero_copy = format!("+0 sendmsg(4, {{msg_iov(18)=[{buffers}], msg_flags=0}}, MSG_ZEROCOPY) = 18\n");
    assert_eq!(
        outcome(&zero_copy),
        "lacking: 8: the flag MSG_ZEROCOPY with 18 buffers (more than 17)",
        "the kernel divides them into two packets"
    );
    let few = "+0 sendmsg(4, {msg_iov(2)=[{..., 0}, {..., 60}], msg_flags=0}, MSG_ZEROCOPY) = 60\n";
    assert_eq!(outcome(&format!("{few}+0 > P. 1:61(60) ack 1\n")), "pass");
    for reader in
        ["recvmsg(4, {msg_iov(1)=[{...,0}]}, MSG_ERRQUEUE) = 0", "poll([{fd=4, events=POLLERR}], 1, 0) = 1"]
    {
        let wanted = "lacking: 9: the notice that a write with MSG_ZEROCOPY is over";
        assert_eq!(outcome(&format!("{few}+0 {reader}\n")), wanted);
    }
    let option = run_text("--wire_server\n0 `true`").expect("a script").to_string();
    assert_eq!(option, "lacking: 1: the option --wire_server=");
}

#[test]
fn an_empty_script_passes_and_so_does_one_that_ends_with_packets_unseen() {
    assert_eq!(run_text(""), Ok(Outcome::Pass));
    assert_eq!(outcome("+0 write(4, ..., 1000) = 1000\n"), "pass");
}
