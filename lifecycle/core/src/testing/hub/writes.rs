//! How the hub carries out writes.

use berth_api::labels;
use berth_api::plan::{Action, Target, Write, WriteFailure};
use serde_json::{Value, json};

use super::{FakeHub, strings};
use crate::cluster_plan::{ClusterChanges, ClusterPlan};
use crate::testing::facts::applied_condition;
use crate::testing::patch_of;
use crate::{roles, status};

impl FakeHub {
    /// Writes the plan, and returns what failed.
    pub(crate) fn carry_out(&mut self, plan: ClusterPlan) -> Vec<WriteFailure> {
        let mut failures = Vec::new();
        if plan.changes != ClusterChanges::default() {
            self.change(plan.changes);
        }
        for write in plan.writes {
            failures.extend(self.write(write).err());
        }
        failures
    }

    /// Writes the patch of the ManagedCluster, as the engine sends it.
    pub(crate) fn change(&mut self, changes: ClusterChanges) {
        let version = self.next_version();
        for finalizer in &changes.add_finalizers {
            let Some(cluster) = &self.cluster else { break };
            assert!(
                !cluster.deleting,
                "a cluster that is being deleted gets no finalizer"
            );
            assert!(!cluster.has_finalizer(finalizer), "{finalizer} is there");
        }
        let plan = ClusterPlan {
            changes,
            ..ClusterPlan::default()
        };
        let plan = plan.into_plan(&self.name, self.cluster.as_ref());
        let Some(cluster) = &mut self.cluster else {
            assert_eq!(plan.writes, []);
            return;
        };
        for write in plan.writes {
            let body = patch_of(&write);
            assert_eq!(write.target, status::cluster_target(&self.name));
            assert_eq!(body["metadata"]["uid"], *cluster.uid);
            assert_eq!(
                body["metadata"]["resourceVersion"],
                *cluster.resource_version
            );
            cluster.resource_version.clone_from(&version);
            if body["metadata"]["finalizers"].is_array() {
                cluster.finalizers = strings(&body["metadata"]["finalizers"]);
            }
            let annotations = &body["metadata"]["annotations"];
            if let Some(time) = annotations[labels::AUTO_ACCEPTED_ON].as_str() {
                cluster.auto_accepted_on = Some(time.to_owned());
            }
            cluster.denied |= !annotations[labels::DENIED_ON].is_null();
            cluster.accepted |= body["spec"]["hubAcceptsClient"] == true;
            self.events.extend(write.events);
        }
        if cluster.deleting && cluster.finalizers.is_empty() {
            self.cluster = None;
        }
    }

    /// One write.
    pub(crate) fn write(&mut self, write: Write) -> Result<(), WriteFailure> {
        self.writes.push(write.clone());
        assert!(
            write.events.is_empty() || write.target.resource.resource == "managedclusters",
            "an Event of ours concerns the cluster: {write:?}"
        );
        let result = match &write.action {
            Action::Apply { body, .. } | Action::CreateOrUpdate { body } => {
                self.apply(&write.target, body)
            }
            Action::Create { body } => match self.has_foreign_namespace() {
                true => Err((409, "it is there already")),
                false => self.apply(&write.target, body),
            },
            Action::ApplyStatus { body, .. } => self.apply_status(body),
            Action::Patch { body, .. } => self.patch(&write.target, body),
            Action::Delete { uid, .. } => self.delete(&write.target, uid),
            other => panic!("none of ours: {other:?}"),
        };
        let is_cluster = write.target.resource.resource == "managedclusters";
        assert!(
            is_cluster || write.events.is_empty(),
            "Events must be about the cluster, not about {:?}: {:?}",
            write.target,
            write.events
        );
        match result {
            Ok(()) => {
                self.events.extend(write.events);
                Ok(())
            }
            Err((code, message)) => Err(WriteFailure {
                reconciler: write.reconciler,
                target: write.target,
                code,
                message: message.to_owned(),
            }),
        }
    }

    fn apply(&mut self, target: &Target, body: &Value) -> Result<(), (u16, &'static str)> {
        assert_eq!(*target, roles::target(body), "the target is the object");
        let key = (target.resource.resource.clone(), target.name.clone());
        let version = self.next_version();
        // Without permission to bind every role, the API server looks up the role, to compare its permissions.
        if let Some(role) = body["roleRef"]["name"].as_str() {
            let there = match role == crate::names::cluster_role(&self.name) {
                true => self.object("clusterroles", role).is_some(),
                false => self.common_roles,
            };
            if !there {
                return Err((404, "clusterrole not found"));
            }
        }
        let Some(stored) = self.objects.get_mut(&key) else {
            if let Some(namespace) = &target.namespace {
                match self.object("namespaces", namespace) {
                    None => return Err((404, "namespace not found")),
                    Some(stored) if stored.deleting => return Err((403, "it is being terminated")),
                    Some(_) => {}
                }
            }
            self.insert(body.clone());
            return Ok(());
        };
        if stored.body["roleRef"] != body["roleRef"] {
            return Err((422, "roleRef: Invalid value: cannot change roleRef"));
        }
        stored.version = version;
        for (key, value) in body["metadata"]["labels"]
            .as_object()
            .expect("labels are a map")
        {
            stored.body["metadata"]["labels"][key] = value.clone();
        }
        for part in ["rules", "subjects"] {
            if let Some(value) = body.get(part) {
                stored.body[part] = value.clone();
            }
        }
        for finalizer in strings(&body["metadata"]["finalizers"]) {
            if !stored.finalizers.contains(&finalizer) {
                assert!(!stored.deleting, "a finalizer comes too late");
                stored.finalizers.push(finalizer);
            }
        }
        Ok(())
    }

    fn apply_status(&mut self, body: &Value) -> Result<(), (u16, &'static str)> {
        let version = self.next_version();
        let Some(cluster) = &mut self.cluster else {
            return Err((404, "managedcluster not found"));
        };
        cluster.resource_version = version;
        assert_eq!(body["metadata"], json!({ "name": self.name }));
        let condition = applied_condition(body);
        assert!(!condition.reason.is_empty() && condition.message.len() <= 32768);
        cluster
            .conditions
            .retain(|old| old.type_ != condition.type_);
        cluster.conditions.push(condition);
        Ok(())
    }

    fn patch(&mut self, target: &Target, body: &Value) -> Result<(), (u16, &'static str)> {
        let key = (target.resource.resource.clone(), target.name.clone());
        let Some(stored) = self.objects.get_mut(&key) else {
            return Err((404, "not found"));
        };
        let metadata = &body["metadata"];
        if metadata["resourceVersion"] != *stored.version || metadata["uid"] != *stored.uid {
            return Err((409, "conflict"));
        }
        stored.finalizers = strings(&metadata["finalizers"]);
        if stored.deleting && stored.finalizers.is_empty() {
            self.objects.remove(&key);
        }
        Ok(())
    }

    fn delete(&mut self, target: &Target, uid: &str) -> Result<(), (u16, &'static str)> {
        if let Some(content) = self.content.get_mut(&target.resource) {
            assert_eq!(target.namespace.as_ref(), Some(&self.name));
            let Some(at) = content.iter().position(|content| content.object.uid == uid) else {
                return Err((409, "no such uid"));
            };
            assert_eq!(content[at].object.name, target.name);
            assert!(!content[at].object.deleting, "it is being deleted already");
            if content[at].finalizer {
                content[at].object.deleting = true;
            } else {
                content.remove(at);
            }
            return Ok(());
        }
        self.remove((target.resource.resource.clone(), target.name.clone()), uid)
    }

    pub(super) fn remove(
        &mut self,
        key: (String, String),
        uid: &str,
    ) -> Result<(), (u16, &'static str)> {
        let version = self.next_version();
        let Some(stored) = self.objects.get_mut(&key) else {
            return Err((404, "not found"));
        };
        if stored.uid != uid {
            return Err((409, "another uid"));
        }
        assert!(!stored.deleting, "it is being deleted already");
        if stored.finalizers.is_empty() {
            self.objects.remove(&key);
        } else {
            stored.deleting = true;
            stored.version = version;
        }
        Ok(())
    }
}
