//! The next write for an object as it is.

use std::borrow::Cow;

use berth_api::labels::CONFIG_SPEC_HASH;
use berth_api::work::FIELD_MANAGER;
use serde_json::{Value, json};

use super::body::{applied_by, without_server_metadata};
use super::dropped::Dropped;
use super::failure::is_immutable;
use super::strategy::{ServerSide, Strategy};
use super::{Applying, Asked};
use crate::compare::whole::{self, Whole};
use crate::compare::{Comparison, Node, roots};
use crate::differs::{Differences, Findings, Settled};
use crate::exact;
use crate::kinds::{Rule, is_built_in};
use crate::managed::{self, Entry, entries};
use crate::overlay::overlay;
use crate::owner::is_shared;
use crate::path::Path;
use crate::{Refusal, Step};

/// A write.
pub(super) enum Write {
    /// The whole object.
    Replace(Value),
    /// Server-side apply.
    Apply {
        manager: String,
        force: bool,
        body: Value,
    },
    /// managedFields.
    Move(Value),
    /// Labels and annotations are removed, by a patch or by a whole object.
    Remove(Step<super::ApplyOutcome>),
    /// The owner references, as a patch or as a whole object.
    Owners(Step<super::ApplyOutcome>),
}

/// What an object needs.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) write: Option<Write>,
    /// What is to be written, if it is more than owner references.
    pub(super) due: Option<Asked>,
    /// What differs and was not accepted.
    pub(super) differences: Differences,
    /// All that differs, accepted.
    pub(super) settled: Settled,
}

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

// === impl Applying ===

impl Applying {
    /// Decides on the next write for an object.
    pub(super) fn plan(&self, live: &Value) -> Plan {
        let metadata = &live["metadata"];
        if !metadata.is_object() || !metadata["deletionTimestamp"].is_null() {
            return Plan::default();
        }
        let group = self.object.prescribed.group();
        let hidden = self.rule == Rule::Secret || self.object.prescribed.kind == "Secret";
        let mut findings = Findings::new(&self.settled, hidden);
        let entries = entries(live);
        let roots = roots(&entries);
        let write = match &self.strategy {
            Strategy::CreateOnly => None,
            Strategy::ReadOnly => {
                findings.muted = true;
                covers(group, &self.body, live, &roots, None, &mut findings);
                return Plan {
                    differences: findings.differences,
                    ..Plan::default()
                };
            }
            Strategy::ServerSide(settings) => {
                self.plan_server_side(settings, live, &entries, &roots, &mut findings)
            }
            Strategy::Update if self.rule == Rule::Other => {
                self.plan_other(live, &entries, &roots, &mut findings)
            }
            Strategy::Update => self.plan_exact(live, &entries, &roots, &mut findings),
        };
        let content = write.is_some().then_some(Asked::Content);
        if content.is_some() {
            self.keep_accepted_removals(live, &mut findings);
        }
        let write = write.or_else(|| self.plan_removal(live, &mut findings));
        let removal = write.is_some().then_some(Asked::Removal);
        Plan {
            write: write.or_else(|| self.plan_owners(live)),
            due: content.or(removal),
            differences: std::mem::take(&mut findings.differences),
            settled: findings.settle(),
        }
    }

    /// Only the owner references.
    fn plan_owners(&self, live: &Value) -> Option<Write> {
        let owners = self.owner.missing(live)?;
        let step = if self.without_patch {
            let mut body = live.clone();
            body["metadata"]["ownerReferences"] = owners.into();
            Step::Replace(body)
        } else {
            Step::Merge(json!({"metadata": {
                "resourceVersion": live["metadata"]["resourceVersion"],
                "ownerReferences": owners,
            }}))
        };
        Some(Write::Owners(step))
    }

    /// Kinds that are applied on the server.
    fn plan_other(
        &self,
        live: &Value,
        entries: &[Entry<'_>],
        roots: &[Node<'_>],
        findings: &mut Findings<'_>,
    ) -> Option<Write> {
        let group = self.object.prescribed.group();
        let whole = self.whole(FIELD_MANAGER, live);
        covers(group, &self.body, live, roots, whole, findings);
        let dropped = self.dropped(FIELD_MANAGER, &self.body, live, entries, findings);
        if !findings.due && !self.is_changed() {
            return None;
        }
        if self.without_apply {
            let mut body = self.laid_over(&self.body, live, roots);
            for path in &dropped.paths {
                managed::remove(&mut body, &path.0);
            }
            self.own(&mut body);
            return Some(Write::Replace(body));
        }
        if let Some(write) = self.plan_move(live, FIELD_MANAGER, &dropped) {
            return Some(write);
        }
        Some(Write::Apply {
            manager: FIELD_MANAGER.to_owned(),
            force: true,
            body: self.body_to_apply(&self.body, None, FIELD_MANAGER, live, entries, &dropped),
        })
    }

    /// Which values are compared exactly. If another AppliedManifestWork owns the object too, what it has in them is needed.
    fn whole<'m>(&self, manager: &'m str, live: &Value) -> Option<Whole<'m>> {
        let object = &self.object.prescribed;
        (!is_shared(live, &self.owner)).then(|| Whole {
            manager,
            is_known: whole::is_known(object.group(), &object.kind),
        })
    }

    /// Has the manifest changed since it was written? Then one write is due: what it no longer has inside an atomic value may not show.
    fn is_changed(&self) -> bool {
        self.changed && !self.content_written
    }

    /// Moves fields to what was applied on the server, so that the next apply removes them, or to nobody.
    fn plan_move(&self, live: &Value, manager: &str, dropped: &Dropped) -> Option<Write> {
        if dropped.to_move.is_empty() && dropped.to_release.is_empty() || self.moved {
            return None;
        }
        let fields = managed::moved(live, manager, &dropped.to_move, &dropped.to_release)?;
        Some(Write::Move(json!({"metadata": {
            "resourceVersion": live["metadata"]["resourceVersion"],
            "managedFields": fields,
        }})))
    }

    /// The strategy ServerSideApply.
    fn plan_server_side(
        &self,
        settings: &ServerSide,
        live: &Value,
        entries: &[Entry<'_>],
        roots: &[Node<'_>],
        findings: &mut Findings<'_>,
    ) -> Option<Write> {
        let mut full = Cow::Borrowed(&self.body);
        let mut body = full.clone();
        if let Some(ignored) = &settings.ignored {
            super::strategy::annotate(full.to_mut(), &ignored.hash);
            let found = &live["metadata"]["annotations"][CONFIG_SPEC_HASH];
            let mut cut = if *found == ignored.hash {
                ignored.unchanged.clone()
            } else {
                ignored.changed.clone()
            };
            whole::take_out_cut(&mut cut, &full, live, roots);
            body = Cow::Owned(cut);
        }
        let group = self.object.prescribed.group();
        let whole = self.whole(&settings.manager, live);
        covers(group, &body, live, roots, whole, findings);
        let own = applied_by(entries, &settings.manager);
        let mut content = without_server_metadata(&body);
        if let Some(Value::Object(metadata)) = content.get_mut("metadata") {
            metadata.retain(|name, _| name == "labels" || name == "annotations");
        }
        if let Value::Object(content) = &mut content {
            content.remove("apiVersion");
            content.remove("kind");
        }
        let fields = own.map(|entry| entry.fields);
        managed::unowned(fields, &content, &mut Path::default(), &mut |path| {
            findings.unowned(path);
        });
        let dropped = self.dropped(&settings.manager, &full, live, entries, findings);
        if !findings.due && !self.is_changed() {
            return None;
        }
        if let Some(write) = self.plan_move(live, &settings.manager, &dropped) {
            return Some(write);
        }
        Some(Write::Apply {
            manager: settings.manager.clone(),
            force: settings.force,
            body: self.body_to_apply(
                &body,
                Some(&full),
                &settings.manager,
                live,
                entries,
                &dropped,
            ),
        })
    }

    /// Kinds that are compared exactly.
    fn plan_exact(
        &self,
        live: &Value,
        entries: &[Entry<'_>],
        roots: &[Node<'_>],
        findings: &mut Findings<'_>,
    ) -> Option<Write> {
        let object = &self.object.prescribed;
        let (group, kind) = (object.group(), object.kind.as_str());
        let content = exact::content(self.rule, kind, &self.body, live);
        let mut wanted = json!({"metadata": {
            "labels": self.body["metadata"]["labels"],
            "annotations": self.body["metadata"]["annotations"],
        }});
        if self.rule == Rule::StorageClass
            && let Some(live) = live["metadata"]["annotations"].get(DEFAULT_CLASS)
            && let Value::Object(annotations) = &mut wanted["metadata"]["annotations"]
        {
            annotations.insert(DEFAULT_CLASS.to_owned(), live.clone());
        }
        exact::compare((group, kind), &content, live, roots, findings);
        covers(group, &wanted, live, roots, None, findings);
        let dropped = self.dropped(FIELD_MANAGER, &self.body, live, entries, findings);
        let due = findings.due;
        if self.rule == Rule::Metadata {
            let mut rest = self.body.clone();
            if let Value::Object(rest) = &mut rest {
                rest.remove("metadata");
            }
            findings.muted = true;
            covers(group, &rest, live, roots, None, findings);
        }
        if !due {
            return None;
        }
        let mut body = live.clone();
        for (name, value) in content {
            if value.is_null() {
                body.as_object_mut().map(|body| body.remove(&name));
            } else {
                body[name] = value;
            }
        }
        overlay(&mut body, &wanted, &[]);
        for path in dropped.paths {
            managed::remove(&mut body, &path.0);
        }
        self.own(&mut body);
        Some(Write::Replace(body))
    }

    /// Sets the owner references of a whole object.
    fn own(&self, body: &mut Value) {
        if let Some(owners) = self.owner.missing(body) {
            body["metadata"]["ownerReferences"] = owners.into();
        }
    }

    /// Can the refusal be answered by a new object?
    pub(super) fn wants_new_object(&self, refusal: &Refusal) -> bool {
        is_immutable(refusal)
            && matches!(self.strategy, Strategy::Update)
            && exact::may_recreate(self.rule)
            && !self.recreated
            && self.live.is_some()
    }

    /// Deletes the object, to create it anew.
    pub(super) fn recreate(&mut self) -> Step<super::ApplyOutcome> {
        self.recreated = true;
        match self.live.take() {
            Some((uid, version)) => {
                self.asked = Asked::Deletion;
                Step::Delete {
                    uid,
                    resource_version: Some(version),
                }
            }
            None => self.read(),
        }
    }
}

/// Finds what an object lacks of a manifest. Of the metadata, labels and annotations count.
fn covers(
    group: &str,
    body: &Value,
    live: &Value,
    roots: &[Node<'_>],
    whole: Option<Whole<'_>>,
    findings: &mut Findings<'_>,
) {
    let mut comparison = Comparison {
        findings,
        path: Path::default(),
        defaults: &[],
        whole,
        is_built_in: is_built_in(group),
    };
    for (name, value) in body.as_object().into_iter().flatten() {
        match name.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => {
                let mut metadata = json!({});
                for name in ["labels", "annotations"] {
                    if let Some(value) = value.get(name) {
                        metadata[name] = value.clone();
                    }
                }
                comparison.covers_field("metadata", &metadata, live.get("metadata"), roots);
            }
            name => comparison.covers_field(name, value, live.get(name), roots),
        }
    }
}
