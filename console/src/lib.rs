//! `berth console`: a page in the browser that answers questions about a hub.

pub mod answers;
mod fact;
mod guard;
mod handshake;
mod search;
mod sessions;
mod shown;
mod table;
