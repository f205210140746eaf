//! The manifests that install Berth, embedded; and the table of its webhooks.
//!
//! The YAML files of this folder are the source. Each one that a program reads is a constant of [`files`], one line per file;
//! a test checks that no file is missing. Each webhook is one row of [`webhooks::WEBHOOKS`]. [`Hub`] has the objects of a whole hub,
//! [`Agent`] those of a managed cluster, and [`values`] what can be chosen of them.

mod agent;
mod console;
pub mod files;
mod hub;
mod rendered;
pub mod values;
pub mod webhooks;

pub use agent::Agent;
pub use files::Manifest;
pub use hub::{
    HUB_NAMESPACE, Hub, Mode, addons_in_one_version, is_converted, serve_what_is_stored,
};
pub use webhooks::ShippedWebhook;
