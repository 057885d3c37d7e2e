//! Sets of schemes, and the set for links without hosts. Outside its own file, a scheme of this crate is named only
//! where a set is defined, here or in [`flows`](crate::flows). A scheme of another crate is named only in the run that
//! uses it.

use super::{LinkGuardian, Unprotected};

/// Defines a set of schemes, from which each link of a network has one: an enum that is a [`Scheme`](super::Scheme)
/// itself, and enums for their configurations, headers, acknowledgements and control frames. Both ends of a link have
/// the same scheme. Dispatch is a `match`. Every set has a variant `Other` for a scheme that a run specifies; it is
/// [`Absent`](super::Absent) in runs that specify none.
///
/// ```
/// use linkmend_sim::link::scheme::{LinkGuardian, Unprotected};
///
/// linkmend_sim::schemes! {
///     /// As they come with the simulator.
///     pub enum Mine: MyConfig, MyHeader, MyAck, MyControl {
///         Unprotected(Unprotected),
///         LinkGuardian(LinkGuardian),
///     }
/// }
/// ```
#[macro_export]
macro_rules! schemes {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident: $config:ident, $header:ident, $ack:ident, $control:ident {
        $($scheme:ident($type:ty)),+ $(,)?
    }) => {
        $crate::schemes! {
            @set $(#[$meta])* $visibility enum $name: $config, $header, $ack, $control {
                $($scheme: $type, <$type as $crate::link::scheme::Scheme>::Config,
                    <$type as $crate::link::scheme::Scheme>::Header, <$type as $crate::link::scheme::Scheme>::Ack,
                    <$type as $crate::link::scheme::Scheme>::Control;)+
                Other: X, P, H, A, K;
            }
        }
    };
    (@set $(#[$meta:meta])* $visibility:vis enum $name:ident: $config:ident, $header:ident, $ack:ident, $control:ident {
        $($scheme:ident: $type:ty, $parameters:ty, $of_header:ty, $of_ack:ty, $of_control:ty;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "a box would cost each event a load on its critical path")]
        $visibility enum $name<X = $crate::link::scheme::Absent> { $($scheme($type)),+ }

        /// Configuration of one of the schemes.
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "few are kept, and a scheme without any has none")]
        $visibility enum $config<P = std::convert::Infallible> { $($scheme($parameters)),+ }

        /// Header of one of the schemes.
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility enum $header<H = std::convert::Infallible> { $($scheme($of_header)),+ }

        /// Acknowledgement of one of the schemes.
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility enum $ack<A = std::convert::Infallible> { $($scheme($of_ack)),+ }

        /// Control frame of one of the schemes.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "few are kept, and a scheme without any has none")]
        $visibility enum $control<K = std::convert::Infallible> { $($scheme($of_control)),+ }

        const _: () = {
            use $crate::link::Frame;
            use $crate::link::scheme::{
                Account, Admission, ControlFrames, ControlPlace, FastForward, LinkRetry, Idle, Loops, Mode, PortSeed,
                Reception, Scheme, SchemeContext, Urgent,
            };
            use $crate::time::Time;

            #[cold]
            #[inline(never)]
            fn mixed() -> ! {
                panic!("the two ends of a link have the same scheme")
            }

            #[allow(unreachable_code, reason = "a scheme without headers makes none")]
            impl<X: Scheme> Scheme for $name<X> {
                type Config = $config<X::Config>;
                type Header = $header<X::Header>;
                type Ack = $ack<X::Ack>;
                type Control = $control<X::Control>;

                fn new(
                    config: &Self::Config,
                    peer: &Self::Config,
                    port_seed: PortSeed,
                ) -> Result<Self, linkmend_protocol::ConfigError> {
                    match (config, peer) {
                        $(($config::$scheme(config), $config::$scheme(peer)) => {
                            Ok($name::$scheme(<$type as Scheme>::new(config, peer, port_seed)?))
                        })+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn header_bytes(&self) -> u32 {
                    match self { $($name::$scheme(scheme) => scheme.header_bytes()),+ }
                }

                #[inline(always)]
                fn admission(&self, mode: Mode, bytes: u32) -> Admission {
                    match self { $($name::$scheme(scheme) => scheme.admission(mode, bytes)),+ }
                }

                fn waits_for_lane(&self, mode: Mode) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.waits_for_lane(mode)),+ }
                }

                #[inline(always)]
                fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> Self::Header {
                    match self { $($name::$scheme(scheme) => $header::$scheme(scheme.send(context, frame))),+ }
                }

                #[inline(always)]
                fn handle_data<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    header: &Self::Header,
                    frame: Frame,
                ) -> Reception {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            scheme.handle_data(context, header, frame)
                        })+
                        _ => mixed(),
                    }
                }

                fn poll_retransmission(&mut self) -> Option<(Self::Header, Frame)> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let (header, frame) = scheme.poll_retransmission()?;
                            Some(($header::$scheme(header), frame))
                        })+
                    }
                }

                fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
                    match self { $($name::$scheme(scheme) => scheme.poll_deliver(context)),+ }
                }

                fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
                    match self { $($name::$scheme(scheme) => scheme.handle_timeout(context)),+ }
                }

                fn next_timeout(&self) -> Option<Time> {
                    match self { $($name::$scheme(scheme) => scheme.next_timeout()),+ }
                }

                fn is_inert(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.is_inert()),+ }
                }

                fn is_drained(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.is_drained()),+ }
                }

                #[inline(always)]
                fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Self::Ack, Self::Control>> {
                    let has = match self { $($name::$scheme(scheme) => scheme.control_frames().is_some()),+ };
                    if has { Some(self) } else { None }
                }

                #[inline(always)]
                fn loops(&mut self) -> Option<&mut impl Loops<Self::Header>> {
                    let has = match self { $($name::$scheme(scheme) => scheme.loops().is_some()),+ };
                    if has { Some(self) } else { None }
                }

                fn link_retry(&mut self) -> Option<&mut impl LinkRetry<Self::Header>> {
                    let has = match self { $($name::$scheme(scheme) => scheme.link_retry().is_some()),+ };
                    if has { Some(self) } else { None }
                }

                fn fast_forward(&mut self) -> Option<&mut impl FastForward<Self::Header, Self::Ack>> {
                    let has = match self { $($name::$scheme(scheme) => scheme.fast_forward().is_some()),+ };
                    if has { Some(self) } else { None }
                }

                fn link_end_mut(&mut self) -> Option<&mut linkmend_protocol::LinkEnd> {
                    match self { $($name::$scheme(scheme) => scheme.link_end_mut()),+ }
                }

                fn account(&self) -> Option<&impl Account<Self::Header>> {
                    let has = match self { $($name::$scheme(scheme) => scheme.account().is_some()),+ };
                    if has { Some(self) } else { None }
                }
            }

            impl<X: Scheme> ControlFrames<$ack<X::Ack>, $control<X::Control>> for $name<X> {
                #[inline(always)]
                fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, ack: $ack<X::Ack>) {
                    match (self, ack) {
                        $(($name::$scheme(scheme), $ack::$scheme(ack)) => {
                            if let Some(frames) = scheme.control_frames() {
                                frames.handle_ack(context, ack);
                            }
                        })+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn handle_control<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    control: &$control<X::Control>,
                ) {
                    match (self, control) {
                        $(($name::$scheme(scheme), $control::$scheme(control)) => {
                            if let Some(frames) = scheme.control_frames() {
                                frames.handle_control(context, control);
                            }
                        })+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
                    match self {
                        $($name::$scheme(scheme) => if let Some(frames) = scheme.control_frames() {
                            frames.send_plain(context, frame);
                        }),+
                    }
                }

                #[inline(always)]
                fn poll_urgent<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    store: impl FnOnce($control<X::Control>) -> ControlPlace,
                ) -> Option<Urgent> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let frames = scheme.control_frames()?;
                            frames.poll_urgent(context, |control| store($control::$scheme(control)))
                        })+
                    }
                }

                #[inline(always)]
                fn poll_ack(&mut self, now: Time) -> Option<$ack<X::Ack>> {
                    match self {
                        $($name::$scheme(scheme) => scheme.control_frames()?.poll_ack(now).map($ack::$scheme)),+
                    }
                }

                #[inline(always)]
                fn poll_idle(
                    &mut self,
                    now: Time,
                    store: impl FnOnce($control<X::Control>) -> ControlPlace,
                ) -> Option<Idle<$ack<X::Ack>>> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let frames = scheme.control_frames()?;
                            let idle = frames.poll_idle(now, |control| store($control::$scheme(control)))?;
                            Some(match idle {
                                Idle::Ack(ack) => Idle::Ack($ack::$scheme(ack)),
                                Idle::Control(place) => Idle::Control(place),
                            })
                        })+
                    }
                }

                #[inline(always)]
                fn has_more(&mut self) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.control_frames().is_some_and(|frames| frames.has_more())
                        })+
                    }
                }

                fn idle_until(&mut self, now: Time) -> Option<Time> {
                    match self { $($name::$scheme(scheme) => scheme.control_frames()?.idle_until(now)),+ }
                }

                fn is_opening(&mut self) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.control_frames().is_some_and(|frames| frames.is_opening())
                        })+
                    }
                }

                fn fills_idle_slots(&mut self) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.control_frames().is_some_and(|frames| frames.fills_idle_slots())
                        })+
                    }
                }
            }
        };

        $crate::scheme_capabilities! { $name, $header, $ack { $($scheme),+ } }

        const _: () = {
            use $crate::link::Frame;
            use $crate::link::scheme::{Acknowledgement, ControlFrame, Header, Shown};

            impl<H: Header> Header for $header<H> {
                #[inline(always)]
                fn is_copy(&self) -> bool {
                    match self { $($header::$scheme(header) => header.is_copy()),+ }
                }

                fn show(&self, frame: &Frame) -> String {
                    match self { $($header::$scheme(header) => Header::show(header, frame)),+ }
                }
            }

            impl<A: Acknowledgement> Acknowledgement for $ack<A> {
                #[inline(always)]
                fn is_ordered_set(&self) -> bool {
                    match self { $($ack::$scheme(ack) => ack.is_ordered_set()),+ }
                }

                fn show(&self, source: [u8; 6]) -> Shown {
                    match self { $($ack::$scheme(ack) => Acknowledgement::show(ack, source)),+ }
                }
            }

            impl<K: ControlFrame> ControlFrame for $control<K> {
                fn bytes(&self) -> u32 {
                    match self { $($control::$scheme(control) => control.bytes()),+ }
                }

                fn replenishes(&self) -> bool {
                    match self { $($control::$scheme(control) => control.replenishes()),+ }
                }

                #[inline(always)]
                fn announces(&self) -> bool {
                    match self { $($control::$scheme(control) => control.announces()),+ }
                }

                fn probe(&self) -> Option<&linkmend_protocol::paths::Probe> {
                    match self { $($control::$scheme(control) => control.probe()),+ }
                }

                fn of_probe(probe: linkmend_protocol::paths::Probe) -> Option<Self> {
                    None$(.or_else(|| <$of_control>::of_probe(probe).map($control::$scheme)))+
                }

                fn show(&self, source: [u8; 6]) -> Shown {
                    match self { $($control::$scheme(control) => ControlFrame::show(control, source)),+ }
                }
            }
        };
    };
}

schemes! {
    /// The schemes that come with the simulator.
    pub enum Schemes: AnyConfig, AnyHeader, AnyAck, AnyControl {
        Unprotected(Unprotected),
        LinkGuardian(LinkGuardian),
    }
}

impl<X> Schemes<X> {
    /// LinkGuardian's state machine, if the link has that scheme.
    pub fn link_end(&self) -> Option<&linkmend_protocol::LinkEnd> {
        match self {
            Schemes::LinkGuardian(scheme) => Some(scheme.link_end()),
            Schemes::Unprotected(_) | Schemes::Other(_) => None,
        }
    }
}
