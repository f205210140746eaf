//! What a hub says to whoever speaks HTTP to it: to the letter, and above all when it refuses.

mod exchange;

mod bindings;
mod bodies;
mod credentials;
mod deletions;
mod lists;
mod names;
mod paths;
mod strictness;
