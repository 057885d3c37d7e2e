//! The connection to a device, and its subscriptions, each of which brings messages until something fails. Then all of them
//! end, and after a pause everything begins anew.

use super::message::{
    CapabilityRequest, CapabilityResponse, Encoding, Response, SubscribeRequest, SubscribeResponse,
    SubscriptionMode,
};
use super::secrets::{Credentials, Security};
use super::settings::{GnmiDevice, GnmiSettings};
use super::subscription::Group;
use super::target::Target;
use crate::source::SourceError;
use crate::source::complaints::Trouble;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use linkmend_diagnose::{ParameterError, excerpt};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// How long a device may take to accept a connection, and to answer what it can do.
const CONNECT_MOST: Duration = Duration::from_secs(10);
/// The largest message. A device that sends all its ports in one message has some 3 kB for each of them.
const MESSAGE_BYTES_MOST: usize = 8 << 20;
/// What may be on its way without having been read, on one subscription and on all of them.
const WINDOW_BYTES: u32 = 1 << 20;
/// A silent connection is asked for a sign of life, and given up without one.
const ALIVE_INTERVAL: Duration = Duration::from_secs(20);
const ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Samples that may be missing before a device counts as silent, and what they may be late.
const SAMPLES_MISSING: u32 = 3;
const LATE_MOST: Duration = Duration::from_secs(5);
/// Pauses between attempts.
const PAUSE_LEAST: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(60);
/// Characters of what a device says of an error that are shown.
const EXPLANATION_MOST: usize = 300;

const CAPABILITIES: &str = "/gnmi.gNMI/Capabilities";
const SUBSCRIBE: &str = "/gnmi.gNMI/Subscribe";

/// One device, and where what it says is kept.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub device: GnmiDevice,
    settings: Arc<GnmiSettings>,
    /// The target that is asked for, which may be empty.
    name: String,
    pub target: Arc<Mutex<Target>>,
    /// When time began that [`Target`] is told.
    pub started: Instant,
}

/// How a subscription ended.
enum Ended {
    /// The device knows none of its modes.
    Refused(Group, Status),
    Failed(SourceError),
}

impl Session {
    /// Nothing is connected yet.
    pub fn new(device: GnmiDevice, settings: Arc<GnmiSettings>, started: Instant) -> Session {
        let named = Some(&device.name).filter(|_| device.is_named);
        let name = settings.target.as_ref().or(named).cloned().unwrap_or_default();
        let target = Target::new(&device.address(), &settings.patterns, &name);
        Session { device, settings, name, target: Arc::new(Mutex::new(target)), started }
    }

    /// Connects again and again, until it is aborted.
    pub async fn run(self) {
        let mut pause = PAUSE_LEAST;
        loop {
            let begun = Instant::now();
            let Err(failure) = self.once().await;
            tracing::debug!("{}: {failure}", self.device.address());
            self.target().handle_failure(failure);
            // A connection that lasted shows that the next one may, too.
            pause = if begun.elapsed() > PAUSE_MOST { PAUSE_LEAST } else { pause };
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MOST);
        }
    }

    async fn once(&self) -> Result<Infallible, SourceError> {
        let connected = timeout(CONNECT_MOST, self.connect()).await;
        let (grpc, credentials) = connected.map_err(|_| self.silent(CONNECT_MOST))??;
        let asked = timeout(CONNECT_MOST, self.encoding(grpc.clone(), credentials.as_ref())).await;
        let encoding = asked.map_err(|_| self.silent(CONNECT_MOST))??;
        self.target().handle_connected();
        let mut subscriptions = JoinSet::new();
        for group in Group::ALL {
            let (session, grpc, credentials) = (self.clone(), grpc.clone(), credentials.clone());
            subscriptions.spawn(async move { session.follow(group, grpc, credentials, encoding).await });
        }
        while let Some(ended) = subscriptions.join_next().await {
            match ended {
                Ok(Ended::Refused(group, status)) => self.refused(group, &status)?,
                Ok(Ended::Failed(failure)) => return Err(failure),
                Err(error) => return Err(self.failure(error.to_string(), None)),
            }
        }
        Err(self.failure("all subscriptions have ended".to_owned(), None))
    }

    async fn connect(&self) -> Result<(Grpc<Channel>, Option<Credentials>), SourceError> {
        let unusable = |error: ParameterError| SourceError { what: error.to_string(), hint: None };
        let credentials = self.settings.credentials.as_ref().map(|path| Credentials::read(path));
        let credentials = credentials.transpose().map_err(unusable)?;
        let plaintext = self.settings.plaintext;
        let security = (!plaintext).then(|| self.settings.tls(&self.device)).transpose().map_err(unusable)?;
        let (scheme, address) = (if plaintext { "http" } else { "https" }, self.device.address());
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
            .map_err(|error| self.failure(error.to_string(), None))?
            .http2_keep_alive_interval(ALIVE_INTERVAL)
            .keep_alive_timeout(ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES);
        let (host, port) = (self.device.host.clone(), self.device.port);
        let connector = tower::service_fn(move |_| open(host.clone(), port, security.clone()));
        let channel = endpoint.connect_with_connector(connector).await;
        let channel = channel.map_err(|error| self.unreachable(&error))?;
        Ok((Grpc::new(channel).max_decoding_message_size(MESSAGE_BYTES_MOST), credentials))
    }

    /// How the device should write values: as protocol buffers if it can, and as JSON otherwise.
    async fn encoding(
        &self,
        mut grpc: Grpc<Channel>,
        credentials: Option<&Credentials>,
    ) -> Result<Encoding, SourceError> {
        self.ready(&mut grpc).await?;
        let codec = ProstCodec::<CapabilityRequest, CapabilityResponse>::default();
        let request = with_credentials(CapabilityRequest {}, credentials);
        let known = match grpc.unary(request, PathAndQuery::from_static(CAPABILITIES), codec).await {
            Ok(response) => response.into_inner().supported_encodings,
            // All devices know JSON in this form, even those that do not say what they can do.
            Err(status) if is_refusal(status.code()) => return Ok(Encoding::JsonIetf),
            Err(status) => return Err(self.failed(&status)),
        };
        let wanted = [Encoding::Proto, Encoding::JsonIetf];
        Ok(wanted.into_iter().find(|&wanted| known.contains(&(wanted as i32))).unwrap_or(Encoding::Json))
    }

    /// Subscribes to a group, in each of its modes until the device agrees.
    async fn follow(
        self,
        group: Group,
        grpc: Grpc<Channel>,
        credentials: Option<Credentials>,
        encoding: Encoding,
    ) -> Ended {
        let mut refusal = Status::unimplemented("");
        for &mode in group.modes() {
            let Err(ended) = self.subscribe(group, mode, grpc.clone(), credentials.as_ref(), encoding).await;
            match ended {
                Ended::Refused(_, status) => refusal = status,
                Ended::Failed(_) => return ended,
            }
        }
        Ended::Refused(group, refusal)
    }

    async fn subscribe(
        &self,
        group: Group,
        mode: SubscriptionMode,
        mut grpc: Grpc<Channel>,
        credentials: Option<&Credentials>,
        encoding: Encoding,
    ) -> Result<Infallible, Ended> {
        self.ready(&mut grpc).await.map_err(Ended::Failed)?;
        let request = group.request(mode, self.settings.sample, encoding, &self.settings.origin, &self.name);
        // A device that sees the end of requests may take it for the end of the subscription.
        let requests = tokio_stream::once(request).chain(tokio_stream::pending());
        let codec = ProstCodec::<SubscribeRequest, SubscribeResponse>::default();
        let ended = |status: Status| match is_refusal(status.code()) {
            true => Ended::Refused(group, status),
            false => Ended::Failed(self.failed(&status)),
        };
        let request = with_credentials(requests, credentials);
        let response = grpc.streaming(request, PathAndQuery::from_static(SUBSCRIBE), codec).await;
        let mut messages = response.map_err(ended)?.into_inner();
        let silence_most = self.settings.sample * SAMPLES_MISSING + LATE_MOST;
        loop {
            let message = match group.is_essential() {
                true => timeout(silence_most, messages.message()).await,
                false => Ok(messages.message().await),
            };
            match message.map_err(|_| Ended::Failed(self.silent(silence_most)))?.map_err(ended)? {
                Some(message) => self.take(group, message),
                None => {
                    let what = format!("the device has ended the subscription to {}", group.path_text());
                    return Err(Ended::Failed(self.failure(what, None)));
                }
            }
        }
    }

    fn take(&self, group: Group, message: SubscribeResponse) {
        let now = self.started.elapsed();
        match message.response {
            Some(Response::Update(notification)) => {
                self.target().handle_notification(now, group, &notification)
            }
            Some(Response::SyncResponse(true)) => self.target().handle_sync(now, group),
            Some(Response::SyncResponse(false)) | None => {}
        }
    }

    /// Says what is missing because a group was refused, or that nothing is left.
    fn refused(&self, group: Group, status: &Status) -> Result<(), SourceError> {
        let why = explanation(status);
        if group.is_essential() {
            let hint = "check with the device's documentation that it has OpenConfig's interfaces over gNMI, which origin \
                        its paths need (gnmi-origin, which may be empty), and which target (gnmi-target)";
            let what = format!("the device refuses {}: {why}", group.path_text());
            return Err(self.failure(what, Some(hint.to_owned())));
        }
        let what = format!("refuses {}, so {}", group.path_text(), group.consequence());
        if group.is_rare() {
            tracing::debug!("{} {what}: {why}", self.device.address());
        } else {
            self.target().complain(Trouble::with(what, why));
        }
        Ok(())
    }

    async fn ready(&self, grpc: &mut Grpc<Channel>) -> Result<(), SourceError> {
        grpc.ready().await.map_err(|error| self.unreachable(&error))
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, what: String, hint: Option<String>) -> SourceError {
        SourceError { what: format!("{}: {what}", self.device.address()), hint }
    }

    fn silent(&self, time: Duration) -> SourceError {
        let hint = "check that it is not overloaded, and that nothing in between blocks its answers";
        self.failure(format!("the device has sent nothing for {time:?}"), Some(hint.to_owned()))
    }

    fn unreachable(&self, error: &tonic::transport::Error) -> SourceError {
        let mut why = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            why = inner.to_string();
            source = inner.source();
        }
        let hint = match self.settings.plaintext {
            true => {
                "check that gNMI is on there and does not want TLS, and that no firewall blocks the connection"
            }
            false => {
                "check that gNMI is on there with TLS, that gnmi-ca has the authority that signed its certificate, and that \
                 the certificate has this name (gnmi-server-name)"
            }
        };
        self.failure(format!("cannot connect: {}", excerpt(&why, EXPLANATION_MOST)), Some(hint.to_owned()))
    }

    fn failed(&self, status: &Status) -> SourceError {
        let hint = match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => {
                "check the user and the password in gnmi-credentials, and that the user may read counters"
            }
            Code::OutOfRange => {
                "its messages are too large; select fewer ports at the device, or let it split them"
            }
            Code::ResourceExhausted => "the device has no room for more subscriptions; end those of others",
            _ => "check that gNMI is running there; corruptd keeps trying",
        };
        self.failure(explanation(status), Some(hint.to_owned()))
    }
}

/// Whether a device answers so if it does not know a path or a mode.
fn is_refusal(code: Code) -> bool {
    matches!(code, Code::Unimplemented | Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition)
}

fn explanation(status: &Status) -> String {
    let text = excerpt(status.message(), EXPLANATION_MOST);
    if text.is_empty() { format!("{:?}", status.code()) } else { format!("{:?}, {text}", status.code()) }
}

fn with_credentials<T>(message: T, credentials: Option<&Credentials>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(Credentials { user, password }) = credentials {
        for (key, value) in [("username", user), ("password", password)] {
            // They are of printable ASCII characters.
            if let Ok(mut value) = AsciiMetadataValue::try_from(value.as_str()) {
                value.set_sensitive(true);
                request.metadata_mut().insert(key, value);
            }
        }
    }
    request
}

/// What bytes are carried by: TCP, or TLS over it.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Opens a connection, with TLS if there is anything to it.
async fn open(host: String, port: u16, security: Option<Security>) -> io::Result<TokioIo<Box<dyn Wire>>> {
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    stream.set_nodelay(true)?;
    let wire: Box<dyn Wire> = match security {
        None => Box::new(stream),
        Some((config, name)) => Box::new(TlsConnector::from(config).connect(name, stream).await?),
    };
    Ok(TokioIo::new(wire))
}
