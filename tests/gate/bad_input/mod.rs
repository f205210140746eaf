//! Whatever comes in that is not as it should be: it gets a well-formed, precise answer, and the next one is served.

mod bodies;
mod connections;
mod content;
mod floods;
mod hub_files;
mod memory;
mod requests;
mod start;
