//! Add-ons: installation, configs, progress.

mod configuring;
mod hub;
mod installing;
mod process;
mod resuming;
