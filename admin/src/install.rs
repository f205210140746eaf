//! `berth init`, `berth upgrade` and `berth uninstall`: Berth on a hub.
//!
//! # Guarantees
//! - Nothing is changed before all checks have passed. The API server itself judges each object first, as a dry run: rights, webhooks of
//!   others, and fields that another client owns.
//! - A CustomResourceDefinition that has more than ours stays as it is; a version in which objects are stored is never dropped.
//! - Registrations and policies are installed last, when the gate answers, and removed first. CustomResourceDefinitions whose objects the
//!   gate converts name it only while it runs, and the version in which objects are stored stays.
//! - What somebody has set in a Deployment (arguments, resources, replicas) stays.
//! - The fleet stays, unless a user asks for a purge and types the name of the hub.
//! - It can be run again, also after an interruption: objects that are as they should be stay unchanged.

mod clusteradm;
mod components;
mod conversion;
mod facts;
pub(crate) mod init;
mod keep;
mod operator;
mod preview;
mod purge;
mod refusals;
mod rollout;
mod steps;
pub(crate) mod uninstall;
pub(crate) mod upgrade;
mod values;

use berth_manifests::Mode;

/// [`Mode`], as a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ModeFlag {
    /// The gate as webhooks, and the controller.
    Webhooks,
    /// Policies of the API server instead of the gate (Kubernetes 1.36).
    Policies,
    /// Policies, and the gate for what policies cannot decide (Kubernetes 1.36).
    PoliciesWithWebhook,
    /// Gate and controller in one process.
    Hub,
}

impl From<ModeFlag> for Mode {
    fn from(flag: ModeFlag) -> Self {
        match flag {
            ModeFlag::Webhooks => Self::Webhooks,
            ModeFlag::Policies => Self::Policies,
            ModeFlag::PoliciesWithWebhook => Self::PoliciesWithWebhook,
            ModeFlag::Hub => Self::Hub,
        }
    }
}
