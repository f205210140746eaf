#![allow(clippy::unwrap_used, unreachable_pub)]
#[path = "../hub/work/mod.rs"]
mod work;
