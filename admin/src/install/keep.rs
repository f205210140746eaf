//! What somebody has set in a Deployment of ours stays when it is installed again.

use serde_json::Value;

use crate::hub::MANAGER;

/// Returns true if the pods of a Deployment run Berth by the name of its manifests.
pub(super) fn is_ours(deployment: &Value) -> bool {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    container["command"][0] == "/berth"
}

/// Returns true if Helm manages an object.
pub(super) fn is_run_by_helm(object: &Value) -> bool {
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
}

/// Takes out of our Deployment what somebody else has set in the stored one: replicas, and of the container arguments, environment and
/// resources. What is not applied stays, and stays theirs: the next version finds it the same way. Returns the names of the fields.
pub(super) fn leave_settings(ours: &mut Value, stored: &Value) -> Vec<&'static str> {
    if ours["kind"] != "Deployment" || !is_ours(stored) {
        return Vec::new();
    }
    const CONTAINER: &str = "/spec/template/spec/containers/0";
    let container = &stored["spec"]["template"]["spec"]["containers"][0]["name"];
    let container = format!("k:{{\"name\":{container}}}");
    let in_container = ["f:spec", "f:template", "f:spec", "f:containers", &container];
    let mut left = Vec::new();
    let mut leave = |name: &'static str, parent: &str, owned: &[&str]| {
        let path = format!("{parent}/{name}");
        let set = stored.pointer(&path).filter(|set| !set.is_null());
        if set.is_none_or(|set| ours.pointer(&path) == Some(set)) || is_set_by_us(stored, owned) {
            return;
        }
        if let Some(Value::Object(fields)) = ours.pointer_mut(parent)
            && fields.remove(name).is_some()
        {
            left.push(name);
        }
    };
    leave("replicas", "/spec", &["f:spec", "f:replicas"]);
    for (name, owned) in [
        ("args", "f:args"),
        ("env", "f:env"),
        ("resources", "f:resources"),
    ] {
        leave(name, CONTAINER, &[&in_container[..], &[owned]].concat());
    }
    left
}

/// Returns true if this program has applied a field, and nobody has taken it over since.
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>
fn is_set_by_us(stored: &Value, field: &[&str]) -> bool {
    let managed = stored["metadata"]["managedFields"].as_array();
    managed.into_iter().flatten().any(|entry| {
        let mut path = field.iter();
        entry["manager"] == MANAGER
            && entry["operation"] == "Apply"
            && path
                .try_fold(&entry["fieldsV1"], |at, name| at.get(*name))
                .is_some()
    })
}

#[cfg(test)]
mod tests {
    use berth_manifests::{Hub, Mode};
    use serde_json::json;

    use super::*;

    fn gate() -> Value {
        let hub = Hub::of(Mode::Webhooks, "new");
        hub.workloads[1].clone()
    }

    #[test]
    fn settings_stay_and_the_rest_is_ours() {
        let mut stored = gate();
        stored["spec"]["replicas"] = json!(5);
        let container = &mut stored["spec"]["template"]["spec"]["containers"][0];
        container["args"] = json!(["webhook-server", "--feature-gates=DefaultClusterSet=false"]);
        container["image"] = json!("old");
        let mut ours = gate();
        assert_eq!(leave_settings(&mut ours, &stored), ["replicas", "args"]);
        assert!(ours["spec"]["replicas"].is_null());
        let container = &ours["spec"]["template"]["spec"]["containers"][0];
        assert!(container["args"].is_null());
        assert_eq!(container["image"], "new");
        assert_eq!(leave_settings(&mut gate(), &gate()), [""; 0]);
    }

    #[test]
    fn what_this_program_has_set_follows_its_version() {
        let mut stored = gate();
        let container = &mut stored["spec"]["template"]["spec"]["containers"][0];
        container["args"] = json!(["webhook-server", "--of-an-older-version"]);
        stored["spec"]["replicas"] = json!(5);
        let of_container = json!({"k:{\"name\":\"cluster-manager-webhook\"}": {"f:args": {}}});
        stored["metadata"]["managedFields"] = json!([
            {
                "manager": "berth", "operation": "Apply",
                "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": of_container}}}},
            },
            {
                "manager": "kubectl", "operation": "Update",
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            },
        ]);
        let mut ours = gate();
        assert_eq!(leave_settings(&mut ours, &stored), ["replicas"]);
        let container = &ours["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(
            container["args"],
            gate()["spec"]["template"]["spec"]["containers"][0]["args"]
        );
    }

    #[test]
    fn nothing_of_ocms_webhook_stays() {
        let mut stored = gate();
        stored["spec"]["replicas"] = json!(1);
        stored["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["/registration"]);
        let mut ours = gate();
        assert_eq!(leave_settings(&mut ours, &stored), [""; 0]);
        assert_eq!(ours, gate());
    }
}
