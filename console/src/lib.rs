//! `berth console`: a page in the browser that answers questions about a hub.

pub mod answers;
mod shown;
