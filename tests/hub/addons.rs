//! Add-ons: installation, configs, progress.

mod configuring;
mod deploying;
mod hub;
mod installing;
mod interrupted;
mod permitting;
mod process;
mod requesting;
mod resuming;
mod signing;
mod tokens;
