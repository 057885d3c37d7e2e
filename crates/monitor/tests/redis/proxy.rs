//! A network between an agent and its server that can be cut: what is sent then stays on its way.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Forwards connections until it is dropped.
pub struct Proxy {
    pub port: u16,
    cut: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    pub fn to(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        listener.set_nonblocking(true).expect("as asked");
        let (cut, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (cut_too, end_too) = (cut.clone(), end.clone());
        let thread = spawn(move || {
            while !end_too.load(Ordering::Relaxed) {
                // What comes meanwhile waits for an answer.
                let open = !cut_too.load(Ordering::Relaxed);
                let client = open.then(|| listener.accept().ok()).flatten();
                let both = client
                    .and_then(|(client, _)| Some((client, TcpStream::connect(("127.0.0.1", server)).ok()?)));
                let Some((client, server)) = both else {
                    sleep(LOOK_INTERVAL);
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
                    let (cut, end) = (cut_too.clone(), end_too.clone());
                    spawn(move || forward(from, to, &cut, &end));
                }
            }
        });
        Proxy { port, cut, end, thread: Some(thread) }
    }

    /// Cuts the network, or joins it.
    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool, end: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    from.set_nonblocking(false).expect("as asked");
    from.set_read_timeout(Some(LOOK_INTERVAL)).expect("as asked");
    while !end.load(Ordering::Relaxed) {
        if cut.load(Ordering::Relaxed) {
            sleep(LOOK_INTERVAL);
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => {
                while cut.load(Ordering::Relaxed) && !end.load(Ordering::Relaxed) {
                    sleep(LOOK_INTERVAL);
                }
                if to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => (),
            Err(_) => break,
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
