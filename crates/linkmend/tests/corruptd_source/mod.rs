//! A Prometheus that has collected a million frames a second of some ports.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const FRAMES_A_SECOND: f64 = 1e6;

/// Ports with the share of their frames that arrive corrupted, and what they have counted of good and corrupted frames.
type Ports = BTreeMap<&'static str, (f64, [f64; 2])>;

pub struct Counting {
    pub url: String,
    ports: Arc<Mutex<Ports>>,
}

impl Counting {
    pub fn start(ports: &[(&'static str, f64)]) -> Counting {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let ports =
            Arc::new(Mutex::new(ports.iter().map(|(port, rate)| (*port, (*rate, [0.0; 2]))).collect()));
        let counting = Counting { url, ports: Arc::clone(&ports) };
        // It ends with the process.
        std::thread::spawn(move || {
            let mut before = Instant::now();
            for stream in listener.incoming().flatten() {
                let mut ports = ports.lock().expect("nobody panics with it");
                let frames = before.elapsed().as_secs_f64() * FRAMES_A_SECOND;
                before = Instant::now();
                for (rate, [good, corrupted]) in ports.values_mut() {
                    *good += frames * (1.0 - *rate);
                    *corrupted += frames * *rate;
                }
                // A client that has gone meanwhile is asked nothing.
                let _ = answer(stream, &ports);
            }
        });
        counting
    }

    pub fn corrupt(&self, port: &'static str, rate: f64) {
        self.ports.lock().expect("nobody panics with it").entry(port).or_default().0 = rate;
    }
}

fn answer(mut stream: TcpStream, ports: &Ports) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let which = usize::from(request.contains("rx_crc_errors"));
    let samples: Vec<String> = ports
        .iter()
        .map(|(port, (_, counts))| {
            format!(r#"{{"metric":{{"link":"{port}"}},"value":[1764000000,"{:.0}"]}}"#, counts[which])
        })
        .collect();
    let text = format!(
        r#"{{"status":"success","data":{{"resultType":"vector","result":[{}]}}}}"#,
        samples.join(",")
    );
    write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}
