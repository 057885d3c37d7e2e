//! A device of a test's own: HTTP/2 with whatever a test wants to be in it.

use super::super::message::{CapabilityResponse, Encoding, SubscribeRequest, SubscribeResponse};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use prost::Message;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// gRPC's number for what a device does not want to be asked for.
pub const INVALID_ARGUMENT: u32 = 3;
/// That for what it does not know.
pub const UNIMPLEMENTED: u32 = 12;
/// That for a wrong password.
pub const UNAUTHENTICATED: u32 = 16;

/// What a device does on a subscription.
#[derive(Debug, Clone)]
pub enum Act {
    Send(SubscribeResponse),
    /// Bytes that may be anything.
    Raw(Vec<u8>),
    Wait(Duration),
    /// Ends it with an outcome.
    Refuse(u32, &'static str),
    /// Ends it as if all was said.
    End,
    /// Ends the connection.
    Cut,
}

/// What a device was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which connection it came by, from 1 on.
    pub connection: usize,
    pub headers: HeaderMap,
    pub request: SubscribeRequest,
}

impl Asked {
    /// The first path, as text, and its mode.
    pub fn what(&self) -> (String, i32) {
        let subscription = &self.request.subscribe.as_ref().expect("a list").subscription[0];
        let elem = &subscription.path.as_ref().expect("a path").elem;
        let names: Vec<&str> = elem.iter().map(|elem| elem.name.as_str()).collect();
        (names.join("/"), subscription.mode)
    }
}

type Script = dyn Fn(&Asked) -> Vec<Act> + Send + Sync;

/// Answers until it is dropped.
pub struct Server {
    pub port: u16,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Does on each subscription what the script says, and then keeps it open.
    pub fn start(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Server {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, all): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&asked));
        runtime.spawn(async move {
            let count = AtomicUsize::new(0);
            while let Ok((stream, _)) = listener.accept().await {
                let connection = count.fetch_add(1, Ordering::Relaxed) + 1;
                let (script, all, tls) = (Arc::clone(&script), Arc::clone(&all), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, connection, script, all).await,
                        // A client that does not trust us ends the handshake.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, connection, script, all).await;
                            }
                        }
                    }
                });
            }
        });
        Server { port, asked, runtime: Some(runtime) }
    }

    /// All subscriptions up to now, refused ones among them.
    pub fn all_asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    connection: usize,
    script: Arc<Script>,
    all: Arc<Mutex<Vec<Asked>>>,
) {
    let Ok(mut http) = h2::server::handshake(stream).await else { return };
    let (cut, mut is_cut) = tokio::sync::mpsc::channel::<()>(1);
    loop {
        let next = tokio::time::timeout(Duration::from_millis(20), http.accept()).await;
        if is_cut.try_recv().is_ok() {
            return;
        }
        match next {
            Err(_) => {}
            Ok(Some(Ok((request, respond)))) => {
                let (script, all, cut) = (Arc::clone(&script), Arc::clone(&all), cut.clone());
                tokio::spawn(async move {
                    // What cannot be sent any more is not missed.
                    let _ = answer(request, respond, connection, &*script, &all, &cut).await;
                });
            }
            Ok(_) => return,
        }
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    connection: usize,
    script: &Script,
    all: &Mutex<Vec<Asked>>,
    cut: &tokio::sync::mpsc::Sender<()>,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let answer = || Response::builder().header("content-type", "application/grpc");
    if head.uri.path().ends_with("Capabilities") {
        let mut stream = respond.send_response(answer().body(()).expect("headers"), false)?;
        let known = CapabilityResponse {
            supported_encodings: vec![Encoding::JsonIetf as i32, Encoding::Proto as i32],
        };
        stream.send_data(framed(&known.encode_to_vec()), false)?;
        return stream.send_trailers(outcome(0, ""));
    }
    let mut bytes = Vec::new();
    while bytes.len() < 5
        || bytes.len() < 5 + u32::from_be_bytes(bytes[1..5].try_into().expect("four")) as usize
    {
        let Some(data) = body.data().await else { return Ok(()) };
        bytes.extend_from_slice(&data?);
    }
    let request = SubscribeRequest::decode(&bytes[5..]).expect("a request");
    let asked = Asked { connection, headers: head.headers, request };
    all.lock().expect("nobody panics with it").push(asked.clone());
    let mut acts = script(&asked).into_iter().peekable();
    if let Some(Act::Refuse(code, message)) = acts.peek() {
        let mut refusal = answer().body(()).expect("headers");
        refusal.headers_mut().extend(outcome(*code, message));
        return respond.send_response(refusal, true).map(drop);
    }
    let mut stream = respond.send_response(answer().body(()).expect("headers"), false)?;
    for act in acts {
        match act {
            Act::Send(message) => stream.send_data(framed(&message.encode_to_vec()), false)?,
            Act::Raw(bytes) => stream.send_data(bytes.into(), false)?,
            Act::Wait(time) => sleep(time).await,
            Act::Refuse(code, message) => return stream.send_trailers(outcome(code, message)),
            Act::End => return stream.send_trailers(outcome(0, "")),
            Act::Cut => {
                let _ = cut.send(()).await;
            }
        }
    }
    // Whoever has subscribed does not end that by itself.
    while body.data().await.is_some_and(|data| data.is_ok()) {}
    Ok(())
}

/// A message as gRPC has it: not compressed, and its length in front.
pub fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("a length").to_be_bytes();
    [&[0][..], &length, message].concat().into()
}

fn outcome(code: u32, message: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.into());
    trailers.insert("grpc-message", message.parse().expect("a text"));
    trailers
}
