//! A port: the transmitter of one direction and the receiver of the other, whose control ordered sets share the wire.

use crate::config::{Config, ConfigError, InitWhileRunning};
use crate::counters::Counters;
use crate::frame::Control;
use crate::receiver::Receiver;
use crate::time::Instant;
use crate::transmitter::Transmitter;

/// Both state machines of one end of a link.
#[derive(Debug, Clone)]
pub struct Port {
    config: Config,
    transmitter: Transmitter,
    receiver: Receiver,
}

impl Port {
    /// A port in OFF, on a line with this rate in bits per second.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(config: Config, rate_bps: u64) -> Result<Port, ConfigError> {
        let transmitter = Transmitter::new(config)?;
        let receiver = Receiver::new(config, rate_bps)?;
        Ok(Port { config, transmitter, receiver })
    }

    /// A control ordered set has arrived.
    pub fn handle_control(&mut self, now: Instant, control: Control) {
        let Control::Init { first, data } = control else {
            return self.transmitter.handle_control(now, control);
        };
        let interrupts = self.receiver.handle_init(now, first, data);
        let restarts_both = self.config.choices.init_while_running == InitWhileRunning::RestartBoth;
        // If this end's own INIT makes the peer restart, the peer's INIT must not restart this end again, or both ends
        // would keep restarting each other. That INIT arrives within one loop, which is shorter than the interval
        // between INITs.
        let is_answer = self.transmitter.has_just_initialised(now);
        if interrupts && restarts_both && self.transmitter.state().is_running() && !is_answer {
            self.transmitter.reinitialise(now);
        }
    }

    /// The next control ordered set to send.
    pub fn poll_control(&mut self, now: Instant) -> Option<Control> {
        self.receiver.poll_control(now).or_else(|| self.transmitter.poll_control(now))
    }

    /// When the next action is due, in either direction.
    pub fn next_timeout(&self) -> Option<Instant> {
        [self.transmitter.next_timeout(), self.receiver.next_timeout()].into_iter().flatten().min()
    }

    /// When the next control ordered set may be sent; `None` if nothing is due.
    pub fn control_due(&self) -> Option<Instant> {
        [self.transmitter.control_due(), self.receiver.next_timeout()].into_iter().flatten().min()
    }

    /// The transmitter, read-only.
    pub const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    /// The transmitter, for its inputs and outputs.
    pub const fn transmitter_mut(&mut self) -> &mut Transmitter {
        &mut self.transmitter
    }

    /// The receiver, read-only.
    pub const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The receiver, for its inputs and outputs.
    pub const fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// The parameters of this port.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What both state machines have counted so far.
    pub const fn counters(&self) -> Counters {
        Counters { transmit: *self.transmitter.counters(), receive: *self.receiver.counters() }
    }
}
