//! What a hub says to whoever speaks HTTP to it: to the letter, and above all when it refuses.

mod exchange;

mod bindings;
mod bodies;
mod certificates;
mod credentials;
mod definitions;
mod deletions;
mod lists;
mod names;
mod objects;
mod paths;
mod reviews;
mod rights;
mod strictness;
