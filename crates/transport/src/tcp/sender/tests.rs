//! The sending half, acknowledgement by acknowledgement.
