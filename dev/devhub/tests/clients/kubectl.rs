//! What `kubectl` does with a hub, command by command, as people type them and read the answers.

mod apply;
mod change;
mod create;
mod delete;
mod describe;
mod discover;
mod get;
mod rights;
mod wait;
