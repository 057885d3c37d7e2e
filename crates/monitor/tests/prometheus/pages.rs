//! An HTTP server that serves what a test gives it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// Serves one text at all paths until it is dropped.
pub struct Pages {
    pub port: u16,
    /// All of the answer, with its headers.
    answer: Arc<Mutex<Vec<u8>>>,
    /// The first line of every request.
    requests: Arc<Mutex<Vec<String>>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pages {
    pub fn new() -> Pages {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("as asked");
        let port = listener.local_addr().expect("its address").port();
        let (answer, end) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer_too, end_too, requests_too) = (answer.clone(), end.clone(), requests.clone());
        let thread = spawn(move || {
            while !end_too.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((client, _)) => {
                        let (answer, requests) = (answer_too.clone(), requests_too.clone());
                        spawn(move || serve(client, &answer, &requests));
                    }
                    Err(_) => sleep(LOOK_INTERVAL),
                }
            }
        });
        Pages { port, answer, requests, end, thread: Some(thread) }
    }

    /// Serves this text from now on.
    pub fn show(&self, status: u16, text: &str) {
        let length = text.len();
        let head = format!("HTTP/1.1 {status} -\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        self.answer_with((head + text).into_bytes());
    }

    /// Answers with these bytes from now on, and not at all if there are none.
    pub fn answer_with(&self, bytes: Vec<u8>) {
        *self.answer.lock().expect("not poisoned") = bytes;
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut client: TcpStream, answer: &Mutex<Vec<u8>>, requests: &Mutex<Vec<String>>) {
    client.set_nonblocking(false).expect("as asked");
    let lines = BufReader::new(client.try_clone().expect("a copy")).lines();
    let lines: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    requests.lock().expect("not poisoned").extend(lines.first().cloned());
    let answer = answer.lock().expect("not poisoned").clone();
    if answer.is_empty() {
        // Longer than anybody waits.
        sleep(Duration::from_secs(10));
    }
    let _ = client.write_all(&answer);
}
