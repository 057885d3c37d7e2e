//! Sets of schemes, and the set of those that links without hosts may have. Besides its own file, a scheme is named only
//! where a set is made, here or in [`flows`](crate::flows).

use super::{LinkGuardian, Unprotected};

/// Defines a set of schemes, of which each link of a network has one: an enum that is a [`Scheme`](super::Scheme) itself,
/// and enums for their configurations, headers, acknowledgements and control frames. The two ends of a link have the same
/// one. Dispatch is a `match`.
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
        $(#[$meta])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "a box would cost each event a load on its critical path")]
        $visibility enum $name { $($scheme($type)),+ }

        /// Configuration of one of the schemes.
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "few are kept, and a scheme without any has none")]
        $visibility enum $config { $($scheme(<$type as $crate::link::scheme::Scheme>::Config)),+ }

        /// Header of one of the schemes.
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility enum $header { $($scheme(<$type as $crate::link::scheme::Scheme>::Header)),+ }

        /// Acknowledgement of one of the schemes.
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility enum $ack { $($scheme(<$type as $crate::link::scheme::Scheme>::Ack)),+ }

        /// Control frame of one of the schemes.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "few are kept, and a scheme without any has none")]
        $visibility enum $control { $($scheme(<$type as $crate::link::scheme::Scheme>::Control)),+ }

        const _: () = {
            use $crate::link::Frame;
            use $crate::link::scheme::{
                Admission, Buffer, ControlPlace, Cycles, Mode, SchemeContext, Idle, Reception, Round, Scheme,
                PortSeed, Shown, Urgent,
            };
            use $crate::time::Time;

            #[cold]
            #[inline(never)]
            fn mixed() -> ! {
                panic!("the two ends of a link have the same scheme")
            }

            #[allow(unreachable_patterns, reason = "if there is but one scheme, they cannot be mixed")]
            #[allow(unreachable_code, reason = "a scheme without headers makes none")]
            impl Scheme for $name {
                type Config = $config;
                type Header = $header;
                type Ack = $ack;
                type Control = $control;

                fn new(
                    config: &$config,
                    peer: &$config,
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
                fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> $header {
                    match self { $($name::$scheme(scheme) => $header::$scheme(scheme.send(context, frame))),+ }
                }

                #[inline(always)]
                fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
                    match self { $($name::$scheme(scheme) => scheme.send_plain(context, frame)),+ }
                }

                #[inline(always)]
                fn handle_data<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    header: &$header,
                    frame: Frame,
                ) -> Reception {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            scheme.handle_data(context, header, frame)
                        })+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, ack: $ack) {
                    match (self, ack) {
                        $(($name::$scheme(scheme), $ack::$scheme(ack)) => scheme.handle_ack(context, ack),)+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn handle_control<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    control: &$control,
                ) {
                    match (self, control) {
                        $(($name::$scheme(scheme), $control::$scheme(control)) => {
                            scheme.handle_control(context, control)
                        })+
                        _ => mixed(),
                    }
                }

                #[inline(always)]
                fn poll_urgent<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    store: impl FnOnce($control) -> ControlPlace,
                ) -> Option<Urgent> {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.poll_urgent(context, |control| store($control::$scheme(control)))
                        })+
                    }
                }

                fn poll_retransmission(&mut self) -> Option<($header, Frame)> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let (header, frame) = scheme.poll_retransmission()?;
                            Some(($header::$scheme(header), frame))
                        })+
                    }
                }

                #[inline(always)]
                fn poll_retransmission_of(&mut self, slot: u32) -> Option<($header, Frame)> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let (header, frame) = scheme.poll_retransmission_of(slot)?;
                            Some(($header::$scheme(header), frame))
                        })+
                    }
                }

                #[inline(always)]
                fn poll_ack(&mut self, now: Time) -> Option<$ack> {
                    match self { $($name::$scheme(scheme) => scheme.poll_ack(now).map($ack::$scheme)),+ }
                }

                #[inline(always)]
                fn poll_idle(
                    &mut self,
                    now: Time,
                    store: impl FnOnce($control) -> ControlPlace,
                ) -> Option<Idle<$ack>> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let idle = scheme.poll_idle(now, |control| store($control::$scheme(control)))?;
                            Some(match idle {
                                Idle::Ack(ack) => Idle::Ack($ack::$scheme(ack)),
                                Idle::Control(place) => Idle::Control(place),
                            })
                        })+
                    }
                }

                fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
                    match self { $($name::$scheme(scheme) => scheme.poll_deliver(context)),+ }
                }

                fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
                    match self { $($name::$scheme(scheme) => scheme.handle_timeout(context)),+ }
                }

                fn set_timer<C: SchemeContext>(&mut self, context: &mut C) {
                    match self { $($name::$scheme(scheme) => scheme.set_timer(context)),+ }
                }

                #[inline(always)]
                fn handle_round<C: SchemeContext>(
                    &mut self,
                    context: &mut C,
                    buffer: Buffer,
                    slot: u32,
                ) -> Round {
                    match self { $($name::$scheme(scheme) => scheme.handle_round(context, buffer, slot)),+ }
                }

                fn keeps_circulating(&self, now: Time, buffer: Buffer, slot: u32) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.keeps_circulating(now, buffer, slot)),+ }
                }

                fn is_inert(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.is_inert()),+ }
                }

                fn exchanges_control(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.exchanges_control()),+ }
                }

                fn fills_idle_slots(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.fills_idle_slots()),+ }
                }

                #[inline(always)]
                fn has_more(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.has_more()),+ }
                }

                fn idle_until(&self, now: Time) -> Option<Time> {
                    match self { $($name::$scheme(scheme) => scheme.idle_until(now)),+ }
                }

                fn is_opening(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.is_opening()),+ }
                }

                fn is_drained(&self) -> bool {
                    match self { $($name::$scheme(scheme) => scheme.is_drained()),+ }
                }

                fn copies(&self) -> u8 {
                    match self { $($name::$scheme(scheme) => scheme.copies()),+ }
                }

                fn has_moved_past(&self, header: &$header) -> bool {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => scheme.has_moved_past(header),)+
                        _ => mixed(),
                    }
                }

                fn given_up(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.given_up()),+ }
                }

                fn overflows(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.overflows()),+ }
                }

                #[inline(always)]
                fn is_copy(header: &$header) -> bool {
                    match header { $($header::$scheme(header) => <$type as Scheme>::is_copy(header)),+ }
                }

                fn control_bytes(control: &$control) -> u32 {
                    match control { $($control::$scheme(control) => <$type as Scheme>::control_bytes(control)),+ }
                }

                fn replenishes(control: &$control) -> bool {
                    match control { $($control::$scheme(control) => <$type as Scheme>::replenishes(control)),+ }
                }

                #[inline(always)]
                fn announces(control: &$control) -> bool {
                    match control { $($control::$scheme(control) => <$type as Scheme>::announces(control)),+ }
                }

                fn show_header(header: &$header, frame: &Frame) -> String {
                    match header {
                        $($header::$scheme(header) => <$type as Scheme>::show_header(header, frame)),+
                    }
                }

                fn show_ack(ack: &$ack, source: [u8; 6]) -> Shown {
                    match ack { $($ack::$scheme(ack) => <$type as Scheme>::show_ack(ack, source)),+ }
                }

                fn show_control(control: &$control, source: [u8; 6]) -> Shown {
                    match control { $($control::$scheme(control) => <$type as Scheme>::show_control(control, source)),+ }
                }

                fn steady_state(&self, now: Time, state: &mut Vec<u64>) -> Option<()> {
                    match self { $($name::$scheme(scheme) => scheme.steady_state(now, state)),+ }
                }

                fn header_state(header: &$header, frame: &Frame, state: &mut Vec<u64>) {
                    match header {
                        $($header::$scheme(header) => <$type as Scheme>::header_state(header, frame, state)),+
                    }
                }

                fn ack_state(ack: &$ack, arriving: u64) -> u64 {
                    match ack { $($ack::$scheme(ack) => <$type as Scheme>::ack_state(ack, arriving)),+ }
                }

                fn circling_state(&self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
                    match self {
                        $($name::$scheme(scheme) => scheme.circling_state(buffer, slot, produced, arriving)),+
                    }
                }

                fn skip(&mut self, cycles: &Cycles) {
                    match self { $($name::$scheme(scheme) => scheme.skip(cycles)),+ }
                }

                fn skip_header(header: &mut $header, frames: u64) {
                    match header { $($header::$scheme(header) => <$type as Scheme>::skip_header(header, frames)),+ }
                }

                fn skip_ack(ack: &mut $ack, frames: u64) {
                    match ack { $($ack::$scheme(ack) => <$type as Scheme>::skip_ack(ack, frames)),+ }
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

impl Schemes {
    /// LinkGuardian's state machine, if that is the scheme.
    pub fn link_end(&self) -> Option<&linkmend_protocol::LinkEnd> {
        match self {
            Schemes::LinkGuardian(scheme) => Some(scheme.link_end()),
            Schemes::Unprotected(_) => None,
        }
    }
}
