//! An add-on from a template on a cluster: each step, with the writes applied as an API server would.

use std::time::Instant;

use berth_api::addon::AddOnTemplateSpec;
use berth_api::plan::Action;
use serde_json::Value;

use super::*;
use crate::config::{Configs, Stored};
use crate::facts::AddOn;
use crate::template;

mod hosted;
mod laws;

const HASH: &str = "h";

fn now() -> Now {
    Now {
        wall: "2026-06-01T00:00:00Z".parse().unwrap(),
        instant: Instant::now(),
    }
}

/// A ManagedClusterAddOn, with what is known of it.
struct Play {
    on: Value,
    add_on: AddOn,
    managed: Option<Cluster>,
    hosting: Hosting<'static>,
    configs: Configs,
    works: Vec<Work>,
    done: Vec<Part>,
    fault: Option<&'static str>,
    permissions: Permissions<'static>,
}

impl Play {
    /// An add-on with these manifests, whose configs are known.
    fn new(manifests: &Value) -> Self {
        let template: AddOnTemplateSpec = serde_json::from_value(json!({
            "addonName": "x",
            "agentSpec": {"workload": {"manifests": manifests}},
            "registration": [{"type": "KubeClient"}],
        }))
        .unwrap();
        let mut play = Self {
            on: json!({
                "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
                "metadata": {"name": "x", "namespace": "c1", "uid": "u", "resourceVersion": "1"},
                "spec": {},
                "status": {
                    "configReferences": [{
                        "group": "addon.open-cluster-management.io", "resource": "addontemplates",
                        "desiredConfig": {"name": "t", "specHash": HASH},
                    }],
                    "conditions": [said("Configured", "True", "ConfigurationsConfigured")],
                },
            }),
            add_on: AddOn::read(
                &json!({
                    "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
                    "metadata": {"name": "x"},
                    "spec": {"defaultConfigs": [
                        {"group": "addon.open-cluster-management.io", "resource": "addontemplates", "name": "t"},
                    ]},
                })
                .to_string(),
            )
            .unwrap(),
            managed: Some(Cluster {
                available: Some("True".to_owned()),
                ..Cluster::default()
            }),
            hosting: Hosting::Own,
            configs: Configs::default(),
            works: Vec::new(),
            done: Vec::new(),
            fault: None,
            permissions: Permissions::Applied,
        };
        play.set_template(HASH, Some(template));
        play
    }

    fn set_template(&mut self, hash: &str, spec: Option<AddOnTemplateSpec>) {
        let hash = hash.to_owned();
        let template = Stored { hash, spec }.into();
        self.configs.set_template("t", Some(template));
    }

    fn on(&self) -> OnCluster {
        OnCluster::read(&self.on.to_string()).unwrap()
    }

    fn decided(&self) -> Next {
        let on = self.on();
        let is_ending = on.is_deleting || self.managed.as_ref().is_none_or(|it| it.is_deleting);
        let Some(source) = source(Some(&self.add_on), &on, &self.configs, is_ending) else {
            panic!("the add-on has a template");
        };
        let made = match (&source, source.template()) {
            (Source::Broken(why), _) => Err(why.clone()),
            (_, None) => Err("held".to_owned()),
            (_, Some(template)) => Made::of(
                &template::Request {
                    addon: "x",
                    cluster: "c1",
                    template,
                    config: None,
                    image_registries: None,
                },
                self.hosting.is_other(),
            )
            .map(|(made, _)| made),
        };
        let works: Vec<_> = self.works.iter().collect();
        let facts = Facts {
            addon: "x",
            cluster: "c1",
            managed: self.managed.as_ref(),
            hosting: self.hosting,
            on: &on,
            source: &source,
            made: Some(made.as_ref().map_err(String::as_str)),
            works: &works,
            done: &self.done,
            fault: self.fault,
            permissions: self.permissions,
        };
        next(&facts, now())
    }

    /// What is next, in a word. A write of the ManagedClusterAddOn is applied.
    fn step(&mut self) -> String {
        let next = self.decided();
        match next {
            Next::Make(part) => format!("make {part:?}"),
            Next::Write(write) => match write.action {
                Action::Patch { subresource, body } => {
                    json_patch::merge(&mut self.on, &body);
                    let of = subresource.unwrap_or("metadata");
                    let finalizers = self.on["metadata"]["finalizers"].as_array();
                    format!("{of}, {} finalizers", finalizers.map_or(0, Vec::len))
                }
                Action::Delete { why, .. } => format!("delete {}: {why}", write.target.name),
                other => panic!("{other:?}"),
            },
            Next::Report(conditions, again) => {
                let is_same = conditions == self.on().conditions;
                self.on["status"]["conditions"] = json!(conditions);
                let later = if again.is_some() { " until later" } else { "" };
                format!("{}{later}", if is_same { "nothing" } else { "report" })
            }
        }
    }

    fn condition(&self, type_: &str) -> String {
        let on = self.on();
        let found = condition_of(&on.conditions, type_);
        found.map_or(String::new(), |it| {
            format!("{} {}: {}", it.status, it.reason, it.message)
        })
    }

    /// The add-on is registered.
    fn registered(mut self) -> Self {
        assert_eq!(self.step(), "status, 0 finalizers");
        self
    }

    fn delete(&mut self) {
        self.on["metadata"]["deletionTimestamp"] = json!("2026-06-01T00:00:00Z");
    }
}

fn said(type_: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn config_map() -> Value {
    json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}])
}

fn with_hook() -> Value {
    json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "j", "namespace": "n", "annotations": {"addon.open-cluster-management.io/addon-pre-delete": ""},
        }},
    ])
}

/// A work that reports this.
fn work(name: &str, applied: Option<&str>, job: Option<&str>) -> Work {
    work_in("c1", name, applied, job)
}

fn work_in(namespace: &str, name: &str, applied: Option<&str>, job: Option<&str>) -> Work {
    let conditions: Vec<_> = (applied.into_iter())
        .flat_map(|it| [said("Applied", it, "R"), said("Available", it, "R")])
        .collect();
    let values =
        job.map(|it| json!([{"name": it, "fieldValue": {"type": "String", "string": "True"}}]));
    let object = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": name, "namespace": namespace, "uid": "w", "creationTimestamp": "2026-05-31T00:00:00Z",
            "labels": {
                "open-cluster-management.io/addon-name": "x", "open-cluster-management.io/addon-namespace": "c1",
            },
        },
        "spec": {},
        "status": {"conditions": conditions, "resourceStatus": {"manifests": [{
            "conditions": [],
            "resourceMeta": {"group": "batch", "resource": "jobs", "namespace": "n", "name": "j", "ordinal": 0},
            "statusFeedback": {"values": values.unwrap_or(json!([]))},
        }]}},
    });
    Work::read(&object.to_string()).unwrap().unwrap()
}

#[test]
fn an_add_on_is_registered_then_deployed_then_reported_about() {
    let mut play = Play::new(&config_map());
    assert_eq!(play.step(), "status, 0 finalizers");
    let status = &play.on["status"];
    assert_eq!(status["namespace"], "open-cluster-management-agent-addon");
    assert_eq!(status["healthCheck"]["mode"], "Customized");
    assert_eq!(status["supportedConfigs"].as_array().unwrap().len(), 2);
    assert_eq!(
        status["registrations"][0]["kubeClient"]["subject"]["user"],
        "system:open-cluster-management:cluster:c1:addon:x:agent:x-agent"
    );
    assert_eq!(
        play.condition("RegistrationApplied"),
        "True SetPermissionApplied: Registration of the addon agent is configured"
    );
    assert_eq!(play.step(), "make Some(Deploy)");
    play.done = vec![Part::Deploy];
    let available = "True ProbeAvailable: x add-on is available.";
    let not_yet = "Unknown WorkNotApplied: manifestWork addon-x-deploy-0 is not applied yet";
    let refused = "False WorkNotApplied: manifestWork addon-x-deploy-0: why";
    for (sentence, applied, manifests, health) in [
        ("not reported yet", None, "", not_yet),
        (
            "applied",
            Some("True"),
            "True AddonManifestApplied: manifests of addon are applied successfully",
            available,
        ),
        (
            "refused",
            Some("False"),
            "False AddonManifestAppliedFailed: failed to apply the manifests of addon",
            refused,
        ),
        ("made anew, not reported yet", None, "", not_yet),
    ] {
        play.works = vec![work("addon-x-deploy-0", applied, None)];
        assert_eq!(play.step(), "report", "{sentence}");
        assert_eq!(play.condition("ManifestApplied"), manifests, "{sentence}");
        assert_eq!(play.condition("Available"), health, "{sentence}");
        assert_eq!(play.step(), "nothing", "{sentence}");
    }
    play.managed.as_mut().unwrap().available = Some("Unknown".to_owned());
    play.works = vec![work("addon-x-deploy-0", Some("False"), None)];
    assert_eq!(play.step(), "report");
    assert_eq!(
        play.condition("Available"),
        not_yet,
        "the hub says so of all add-ons"
    );
}

#[test]
fn permissions_are_part_of_the_registration() {
    let mut play = Play::new(&config_map()).registered();
    for (permissions, expected) in [
        (
            Permissions::Pending(NO_SUBJECT),
            "False PermissionConfigPending: registration subject not ready",
        ),
        (
            Permissions::Failed("no"),
            "False SetPermissionFailed: Failed to set permission for hub agent: no",
        ),
        (
            Permissions::Applied,
            "True SetPermissionApplied: Registration of the addon agent is configured",
        ),
    ] {
        play.permissions = permissions;
        assert_eq!(play.step(), "status, 0 finalizers");
        assert_eq!(play.condition("RegistrationApplied"), expected);
        assert_eq!(play.step(), "make Some(Deploy)", "whatever the result");
    }
}

#[test]
fn what_cannot_be_made_or_written_is_said() {
    let unclosed = json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{A"}}]);
    let mut play = Play::new(&unclosed).registered();
    assert_eq!(play.step(), "report");
    let said = play.condition("ManifestApplied");
    assert!(
        said.starts_with(
            "False ManifestWorkApplyFailed: failed to get manifest from agent interface: manifest 0"
        ),
        "{said}"
    );
    let mut play = Play::new(&config_map()).registered();
    play.fault = Some("forbidden");
    assert_eq!(play.step(), "report");
    assert_eq!(
        play.condition("ManifestApplied"),
        "False ManifestWorkApplyFailed: failed to apply manifestWork: forbidden"
    );
    assert_eq!(play.step(), "nothing");
    play.fault = None;
    assert_eq!(play.step(), "make Some(Deploy)", "it is tried again");
}

#[test]
fn what_a_cluster_has_stays_until_its_turn() {
    let spec = Play::new(&with_hook())
        .configs
        .template("t")
        .unwrap()
        .spec
        .clone();
    for (sentence, hash, spec, expected) in [
        ("edited", "other", spec.clone(), "nothing"),
        ("the same", HASH, spec, "status, 0 finalizers"),
        ("unreadable", HASH, None, "report"),
    ] {
        let mut play = Play::new(&config_map());
        play.set_template(hash, spec);
        assert_eq!(play.step(), expected, "{sentence}");
    }
    let mut play = Play::new(&config_map());
    play.configs.set_template("t", None);
    assert_eq!(play.step(), "nothing", "it may be created again");
    play.on["status"]["configReferences"][0]["desiredConfig"]["specHash"] = json!("");
    assert_eq!(play.step(), "report");
    assert_eq!(
        play.condition("ManifestApplied"),
        "False ManifestWorkApplyFailed: failed to get manifest from agent interface: AddOnTemplate t does not exist"
    );
    let mut play = Play::new(&config_map()).registered();
    play.on["status"]["conditions"][0]["status"] = json!("False");
    assert_eq!(play.step(), "nothing", "it is not configured");
    let mut play = Play::new(&config_map());
    play.add_on.default_configs.clear();
    assert_eq!(
        play.step(),
        "nothing",
        "its agent could have written the reference"
    );
}

#[test]
fn hooks_run_before_the_add_on_goes() {
    let mut play = Play::new(&with_hook()).registered();
    assert_eq!(play.step(), "metadata, 1 finalizers");
    assert_eq!(play.step(), "make Some(Deploy)");
    play.done = vec![Part::Deploy];
    play.works = vec![work("addon-x-deploy-0", Some("True"), None)];
    assert_eq!(play.step(), "report");
    play.delete();
    assert_eq!(play.step(), "make Some(Hooks)");
    play.done.push(Part::Hooks);
    play.works.push(work("addon-x-pre-delete", None, None));
    assert_eq!(play.step(), "report");
    assert_eq!(
        play.condition("HookManifestCompleted"),
        "False HookManifestIsNotCompleted: hook manifestWork addon-x-pre-delete is not completed"
    );
    assert_eq!(play.step(), "nothing");
    play.works[1] = work("addon-x-pre-delete", Some("True"), Some("JobFailed"));
    let retry = "delete addon-x-pre-delete: a hook of the add-on failed, and is tried again";
    assert_eq!(play.step(), retry);
    play.works[1] = work("addon-x-pre-delete", Some("True"), Some("JobComplete"));
    assert_eq!(play.step(), "report");
    assert_eq!(
        play.condition("HookManifestCompleted"),
        "True HookManifestIsCompleted: hook manifestWork addon-x-pre-delete is completed."
    );
    assert_eq!(play.step(), "metadata, 0 finalizers");
    assert_eq!(play.step(), "nothing");
}

#[test]
fn hooks_are_not_skipped_without_a_template_but_without_a_cluster() {
    let mut play = Play::new(&with_hook()).registered();
    assert_eq!(play.step(), "metadata, 1 finalizers");
    play.delete();
    let mut without_template = Play {
        on: play.on.clone(),
        configs: Configs::default(),
        ..Play::new(&with_hook())
    };
    assert_eq!(without_template.step(), "report");
    assert_eq!(
        without_template.condition("HookManifestCompleted"),
        "False HookManifestIsNotCompleted: the hooks are not known, as the template of the add-on cannot be rendered"
    );
    assert_eq!(without_template.step(), "nothing");
    play.managed = None;
    assert_eq!(play.step(), "metadata, 0 finalizers");
}

#[test]
fn a_cluster_that_is_being_deleted_gets_nothing_but_its_hooks() {
    let managed = || {
        Some(Cluster {
            is_deleting: true,
            ..Cluster::default()
        })
    };
    let mut without = Play::new(&config_map());
    without.managed = managed();
    assert_eq!(without.step(), "nothing");
    let mut with = Play::new(&with_hook()).registered();
    assert_eq!(with.step(), "metadata, 1 finalizers");
    with.managed = managed();
    assert_eq!(with.step(), "make Some(Hooks)");
}
