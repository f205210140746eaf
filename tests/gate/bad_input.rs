//! Invalid input of every kind: the gate responds with a well-formed, precise error, and serves the next request.

mod bodies;
mod connections;
mod content;
mod conversions;
mod floods;
mod hub_files;
mod memory;
mod requests;
mod start;
