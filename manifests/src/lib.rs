//! The manifests that install Berth, embedded; and the table of its webhooks.
//!
//! The YAML files of this folder are the source. Each one that a program reads is a constant of [`files`], one line per file;
//! a test checks that no file is missing. Each webhook is one row of [`webhooks::WEBHOOKS`].

pub mod files;
pub mod webhooks;

pub use files::Manifest;
pub use webhooks::ShippedWebhook;
