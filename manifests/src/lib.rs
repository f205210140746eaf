//! What a user applies to install Berth, embedded once; and the table of its webhooks.
//!
//! The YAML files of this folder are the source. Each one that a program reads is a constant of [`files`], one line per file;
//! a test checks that none of the folder is missing. Each webhook is one row of [`webhooks::WEBHOOKS`].

pub mod files;
pub mod webhooks;

pub use files::Manifest;
pub use webhooks::ShippedWebhook;
