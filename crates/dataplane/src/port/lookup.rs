//! Looks up the addresses of a host on a thread of its own, because that may take seconds.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, Sender, channel};

/// How long to wait before a name is looked up again: while the peer is silent, or after a failure.
const AGAIN_NS: u64 = 10_000_000_000;

/// The lookup of one host. Dropping it ends its thread.
#[derive(Debug)]
pub(super) struct Lookup {
    questions: Sender<()>,
    answers: Receiver<io::Result<Vec<SocketAddr>>>,
    ask_at_ns: u64,
}

impl Lookup {
    /// Starts the thread. The host is looked up in the network namespace of the caller.
    ///
    /// # Errors
    /// If there can be no further thread.
    pub(super) fn start(host: &str, port: u16) -> io::Result<Lookup> {
        let (questions, asked) = channel::<()>();
        let (found, answers) = channel();
        let host = host.to_owned();
        std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            while asked.recv().is_ok() {
                let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
                if found.send(addresses).is_err() {
                    return;
                }
            }
        })?;
        Ok(Lookup { questions, answers, ask_at_ns: 0 })
    }

    /// Looks the host up if that is due and `is_wanted`. Returns what an earlier lookup has found.
    pub(super) fn poll(&mut self, now_ns: u64, is_wanted: bool) -> Option<io::Result<Vec<SocketAddr>>> {
        if is_wanted && now_ns >= self.ask_at_ns {
            self.ask_at_ns = now_ns.saturating_add(AGAIN_NS);
            // A thread that is gone answers nothing, and its peer is called where it was.
            let _ = self.questions.send(());
        }
        self.answers.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_looked_up_when_wanted_and_not_too_often() {
        let mut lookup = Lookup::start("localhost", 9).expect("a thread");
        assert!(lookup.poll(0, false).is_none());
        let first = lookup.poll(0, true);
        let found =
            first.unwrap_or_else(|| lookup.answers.recv().expect("an answer")).expect("localhost is known");
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 9));
        assert!(lookup.poll(AGAIN_NS - 1, true).is_none());
        assert!(
            lookup.answers.recv_timeout(std::time::Duration::from_millis(50)).is_err(),
            "not asked again yet"
        );
    }
}
