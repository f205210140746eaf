//! What a template makes on a cluster.

use crate::health::Workloads;
use crate::template::{self, Rendered, Rendering};
use crate::works::hooks::Hooks;
use crate::works::parts::{Parts, divide};

use super::Part;

/// What a template makes on a cluster, reduced to what is asked with each report of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The namespace of the add-on's agent.
    pub namespace: String,
    pub(super) workloads: Workloads,
    hooks: Hooks,
    hosted_hooks: Hooks,
}

/// The objects of an add-on on a cluster.
#[derive(Clone, Debug)]
pub struct Objects(Parts);

// === impl Made ===

impl Made {
    /// Makes an add-on of its source: its objects, and what is kept of them. `is_hosted`: another cluster hosts its agent.
    ///
    /// # Errors
    /// The template cannot be rendered; the text is for users.
    pub fn of(request: &template::Request<'_>, is_hosted: bool) -> Result<(Self, Objects), String> {
        let Rendering {
            objects, namespace, ..
        } = template::render(request).map_err(|it| it.to_string())?;
        let parts = divide(objects, is_hosted)?;
        let made = Self {
            namespace,
            workloads: Workloads::of(parts.deploy.iter().chain(&parts.hosted_deploy)),
            hooks: Hooks::of(&parts.hooks),
            hosted_hooks: Hooks::of(&parts.hosted_hooks),
        };
        Ok((made, Objects(parts)))
    }

    /// The hooks of a part; of a part without hooks, none.
    pub(super) fn hooks(&self, part: Part) -> Option<&Hooks> {
        match part {
            Part::Hooks => Some(&self.hooks),
            Part::HostedHooks => Some(&self.hosted_hooks),
            Part::Deploy | Part::HostedDeploy => None,
        }
    }
}

// === impl Objects ===

impl Objects {
    /// The objects of a part.
    #[must_use]
    pub fn of(&self, part: Part) -> &[Rendered] {
        let Self(parts) = self;
        match part {
            Part::Deploy => &parts.deploy,
            Part::HostedDeploy => &parts.hosted_deploy,
            Part::Hooks => &parts.hooks,
            Part::HostedHooks => &parts.hosted_hooks,
        }
    }
}
