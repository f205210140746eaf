//! How a registration of an add-on stands: for the log, for the add-on's status, and for the next attempt after a failure.

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::addons::wanted::Registration;
use berth_api::GroupVersionResource;
use berth_hub::{Backoff, HubApi};
use berth_reconcile::{Item, Watched, follow_one};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

use super::AddonWork;
use crate::failed::{Failed, PAUSES};
use crate::standing::Wait;
use crate::told::{Tell, Told};

/// Reports how a registration stands.
pub(super) struct Reporter<'a> {
    pub(super) of: &'a Registration,
    work: &'a AddonWork,
    backoff: Backoff,
    /// The step that failed last.
    trouble: Option<Trouble>,
    told: Told,
}

/// A step that failed, until it is tried again.
struct Trouble {
    until: Instant,
    /// It is tried again as soon as the install namespace exists.
    is_homeless: bool,
    wait: Wait,
    rotation: Rotation,
}

// === impl Reporter ===

impl<'a> Reporter<'a> {
    pub(super) fn new(of: &'a Registration, work: &'a AddonWork) -> Self {
        Self {
            of,
            work,
            backoff: Backoff::new(PAUSES.0, PAUSES.1),
            trouble: None,
            told: Told::default(),
        }
    }

    /// Notes a step that failed. Returns when to look again.
    pub(super) fn failed(&mut self, failed: Failed, rotation: Rotation) -> Instant {
        let until = Instant::now() + failed.pause(&mut self.backoff);
        let tell = self.waits(&failed.wait, rotation.clone());
        self.trouble = Some(Trouble {
            until,
            is_homeless: failed.is_absent,
            wait: failed.wait,
            rotation,
        });
        tell.map_or(until, |tell| tell.min(until))
    }

    /// When to look again, while the step that failed is not to be tried.
    pub(super) fn in_trouble(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let trouble = self.trouble.as_ref().filter(|it| it.until > now)?;
        let until = trouble.until;
        let (wait, rotation) = (trouble.wait.clone(), trouble.rotation.clone());
        let tell = self.waits(&wait, rotation);
        Some(tell.map_or(until, |tell| tell.min(until)))
    }

    /// What failed may succeed now.
    pub(super) fn try_again(&mut self) {
        self.trouble = None;
    }

    /// Nothing has failed.
    pub(super) fn succeeded(&mut self) {
        self.trouble = None;
        self.backoff.reset();
    }

    /// The install namespace does not exist.
    pub(super) fn is_homeless(&self) -> bool {
        self.trouble.as_ref().is_some_and(|it| it.is_homeless)
    }

    /// Logs and reports a wait that lasts. Returns when to call this again, for one that has just begun.
    pub(super) fn waits(&mut self, wait: &Wait, rotation: Rotation) -> Option<Instant> {
        match self.told.waits(wait.reason) {
            Tell::Later(at) => return Some(at),
            Tell::Done => {}
            Tell::Now => {
                let addon = &self.of.addon;
                warn!(addon, reason = wait.reason, "an add-on waits: {wait}");
            }
        }
        self.report(rotation);
        None
    }

    /// Reports that everything is there.
    pub(super) fn is_good(&mut self, rotation: Rotation) {
        self.told.ends();
        self.report(rotation);
    }

    /// Says more of a Secret that cannot be created because its namespace does not exist.
    pub(super) fn homeless(&self, failed: Failed) -> Failed {
        if !failed.is_absent {
            return failed;
        }
        let message = format!(
            "namespace {} does not exist: create it, or check who installs add-on {}; the agent goes on as soon as it exists",
            self.of.place.namespace, self.of.addon
        );
        let reason = "AddonNamespaceAbsent";
        Failed {
            wait: Wait { reason, message },
            ..failed
        }
    }

    fn report(&self, rotation: Rotation) {
        let of = self.of;
        (self.work).change(|world, wakes| world.rotates(of, rotation, wakes));
    }
}

/// Resolves when the namespace exists, and is not being deleted.
pub(super) async fn appears(api: &HubApi, namespace: &str) {
    let row = Watched::new(
        "namespaces",
        GroupVersionResource::new("", "v1", "namespaces"),
        |item: &Item<'_>| item.parse::<Namespace>(),
    )
    .named(namespace);
    let (sender, mut seen) = watch::channel(false);
    let follow = follow_one(api, &row, |found| {
        let is_there = |it: &Namespace| it.metadata.deletion_timestamp.is_none();
        sender.send_replace(found.is_ok_and(|it| it.as_ref().is_some_and(is_there)));
    });
    tokio::select! {
        never = follow => match never {},
        _ = seen.wait_for(|is_there| *is_there) => {}
    }
}

#[derive(Deserialize)]
struct Namespace {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    deletion_timestamp: Option<String>,
}
