//! Both deciders against objects that are patched as an API server does, with a manager of the add-on and clusters that the test plays.

mod placements;
mod play;
mod steps;
