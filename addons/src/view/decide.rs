//! What is due for an add-on as a whole, and on a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_addons_core::deploy::{Hosting, Source};
use berth_addons_core::facts::{AddOn, OnCluster, Selection, selection};
use berth_addons_core::install::is_installed;
use berth_addons_core::rollout::{self, Decision};
use berth_addons_core::{cluster, deploy, install};
use berth_api::Now;
use berth_api::plan::Plan;

use super::{Due, View};
use crate::deployments::{Inputs, Known};
use crate::job::Job;
use crate::keys::{Place, place};

impl View {
    /// Decides what is due for an add-on.
    pub(crate) fn decide(&mut self, name: &str, now: Now) -> Option<Decision> {
        if !self.is_readable(name) {
            return None;
        }
        let add_on = self.add_ons.get(name)?;
        let placed: Vec<_> = (add_on.placements.iter())
            .map(|it| {
                self.placements
                    .placed(&place(&it.namespace, &it.name), now.instant)
            })
            .collect();
        let none = BTreeMap::new();
        let works = |cluster: &str| {
            let works = self.works.get(&place(cluster, name));
            works.into_iter().flat_map(BTreeMap::values).collect()
        };
        let facts = rollout::Facts {
            add_on,
            placed: &placed,
            clusters: self.on_clusters.get(name).unwrap_or(&none),
            works: &works,
            configs: &self.configs,
            grace: self.settings.grace.missing,
        };
        Some(rollout::decide(&facts, now))
    }

    /// Decides what is due for an add-on on a cluster.
    pub(crate) fn decide_on_cluster(&mut self, at: &Place, now: Now) -> Due {
        let (cluster, name) = at;
        if self.unreadable.contains(at) || !self.is_readable(name) {
            return Due::Plan(Plan::default());
        }
        let (selection, since) = self.selection(at, now);
        let existing = self.on_clusters.get(name).and_then(|it| it.get(cluster));
        let add_on = self.add_ons.get(name);
        let managed = self.clusters.get(cluster);
        let works: Vec<_> = (self.works.get(at).into_iter().flat_map(BTreeMap::values)).collect();
        let source = existing.and_then(|on| {
            let is_ending = on.is_deleting || managed.is_none_or(|it| it.is_deleting);
            let has_template = add_on.is_none_or(AddOn::has_template);
            deploy::source(add_on, on, &self.configs, is_ending).filter(|_| has_template)
        });
        let hosting = existing.map_or(Hosting::Own, |on| self.hosting(on));
        let inputs = existing.zip(source.as_ref()).and_then(|(on, source)| {
            let registries = managed.and_then(|it| it.image_registries.as_ref());
            Inputs::of(source, registries, hosting, on)
        });
        if source.is_none() {
            // It has no template any more.
            self.deployments.forget(at);
        }
        let mut known = match &inputs {
            Some(inputs) => self.deployments.known(at, inputs, &works),
            None => Known::default(),
        };
        if let Some(Source::Broken(why)) = &source {
            known.made = Some(Err(why));
        }
        let deployment = existing
            .zip(source.as_ref())
            .map(|(on, source)| deploy::Facts {
                addon: name,
                cluster,
                managed,
                hosting,
                on,
                source,
                made: known.made,
                works: &works,
                done: &known.done,
                fault: known.fault,
                permissions: self.permission_state(at, on),
            });
        let due = match add_on {
            None => cluster::ending(deployment.as_ref(), now),
            Some(add_on) => {
                let facts = install::Facts {
                    add_on,
                    cluster,
                    annotations: managed
                        .filter(|it| !it.is_deleting)
                        .map(|it| &it.annotations),
                    selection,
                    since,
                    existing,
                };
                let works = works.iter().copied();
                cluster::decide(&facts, works, deployment.as_ref(), self.settings.grace, now)
            }
        };
        match (due, inputs) {
            (cluster::Due::Plan(plan), _) => Due::Plan(plan),
            (cluster::Due::Make(part), Some(inputs)) => {
                let stored = works.iter().filter_map(|it| {
                    let metadata = &it.reported.metadata;
                    let at = (metadata.namespace.clone()?, metadata.name.clone()?);
                    Some((at, it.digest))
                });
                Due::Make(Box::new(Job {
                    at: at.clone(),
                    inputs,
                    part,
                    stored: stored.collect(),
                }))
            }
            // Nothing is made of a source that is not known.
            (cluster::Due::Make(_), None) => Due::Plan(Plan::default()),
        }
    }

    /// Which cluster hosts the agent of an add-on.
    fn hosting<'a>(&self, on: &'a OnCluster) -> Hosting<'a> {
        match on.hosting() {
            None => Hosting::Own,
            Some(name) if self.clusters.get(name).is_some_and(|it| !it.is_deleting) => {
                Hosting::By(name)
            }
            Some(name) => Hosting::Missing(name),
        }
    }

    /// Whether the placements of an add-on select a cluster, and for how long its ManagedClusterAddOn could have been deleted for that.
    fn selection(&mut self, at: &Place, now: Now) -> (Selection, Duration) {
        let (cluster, name) = at;
        let Some(add_on) = self.add_ons.get(name) else {
            return (Selection::InDoubt, Duration::ZERO);
        };
        let placements = add_on.placements.iter().map(|it| {
            let placement = place(&it.namespace, &it.name);
            let is_listed = self.placements.lists(&placement, cluster);
            (is_listed, self.placements.state(&placement, now.instant))
        });
        let selection = selection(placements);
        let existing = self.on_clusters.get(name).and_then(|it| it.get(cluster));
        let since = match (selection, existing) {
            (Selection::NotSelected | Selection::Missing, Some(on))
                if is_installed(add_on, cluster, on) =>
            {
                let away = self.away.entry(at.clone());
                let (known, since) = away.or_insert((selection, now.instant));
                if *known != selection {
                    (*known, *since) = (selection, now.instant);
                }
                now.instant.saturating_duration_since(*since)
            }
            _ => {
                self.away.remove(at);
                Duration::ZERO
            }
        };
        (selection, since)
    }
}
