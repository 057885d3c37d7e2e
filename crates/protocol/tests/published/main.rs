//! Our ends with the published program, both ways, over a link that corrupts frames.
//!
//! The program at the other end is a model of its registers and queues (`sender`, `receiver`), written from sections 3, 5
//! and A of the paper and from what the program is known to do where they are silent: a notification's leading ACK is the
//! frame that revealed the hole (one before what a dummy announces), the size of a hole is cut to eight bits, a sender
//! keeps five requests for a notification, a frame comes back once, in N copies, a receiver in non-blocking mode passes
//! every copy on, any step of the numbers is a hole to it, and pause and resume are priority flow control of class 1. Its
//! registers start at zero, so it takes the first frame of all for acknowledged.

mod frame;
#[path = "../common/random.rs"]
#[expect(dead_code, reason = "other tests draw more kinds of numbers")]
mod random;
mod receiver;
mod sender;
mod world;

mod our_receiver;
mod our_sender;
mod two_of_ours;
