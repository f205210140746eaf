//! Add-ons: installation, configs, progress.

mod configuring;
mod deploying;
mod hub;
mod installing;
mod process;
mod resuming;
