//! The overlays with policies: without a gate nothing of it is left, and beside policies one webhook is.

use berth_policies::installed::PolicyName;
use serde_json::{Value, json};

use crate::manifests::overlays::{CONTROLLER, GATE, args, build, given};

const ACCOUNT: &str = "berth-registration-controller-sa";

fn count(objects: &[Value], is_it: impl Fn(&Value) -> bool) -> usize {
    objects.iter().filter(|it| is_it(it)).count()
}

fn is_of_policies(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.contains("AdmissionPolicy")
}

#[test]
fn without_a_gate_nothing_of_it_is_left() {
    let (Some(objects), Some(base)) = (build("manifests/overlays/policies"), build("manifests"))
    else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let both = 2 * PolicyName::all().len();
    assert_eq!(count(&objects, is_of_policies), both);
    assert_eq!(args(&objects, CONTROLLER), json!(["controller"]));
    let for_people =
        |it: &Value| it["metadata"]["labels"]["app.kubernetes.io/component"] == "people";
    for object in objects
        .iter()
        .filter(|it| !is_of_policies(it) && !for_people(it))
    {
        let text = object.to_string();
        for of_the_gate in [
            GATE,
            "registration-webhook-sa",
            "berth-webhook-certificates",
            "webhookconfigurations",
            "\"webhooks\"",
            "\"secrets\"",
        ] {
            assert!(!text.contains(of_the_gate), "{of_the_gate}: {text}");
        }
    }
    // The controller keeps the rest of its rights.
    let before = given(&base, ACCOUNT);
    let after = given(&objects, ACCOUNT);
    assert!(after.iter().all(|rule| before.contains(rule)));
    let lost = before.iter().filter(|rule| !after.contains(rule));
    for rule in lost {
        let of_certificates = [
            "berth-webhook-certificates",
            "webhookconfigurations",
            "customresourcedefinitions",
        ];
        assert!(of_certificates.iter().any(|it| rule.contains(it)), "{rule}");
    }
}

#[test]
fn without_a_gate_nobody_is_alerted_to_its_absence() {
    let Some(objects) = build("manifests/overlays/policies/monitoring") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let of_kind = |kind: &str| -> Vec<&Value> {
        let of_kind = objects.iter().filter(|it| it["kind"] == kind);
        of_kind.collect()
    };
    let monitors = of_kind("ServiceMonitor");
    let mut monitors: Vec<_> = monitors
        .iter()
        .map(|it| it["metadata"]["name"].as_str())
        .collect();
    monitors.sort_unstable();
    assert_eq!(monitors, [Some("berth-console"), Some("berth-controller")]);
    let groups = &of_kind("PrometheusRule")[0]["spec"]["groups"];
    assert_eq!(groups.as_array().map(Vec::len), Some(1));
    let rules = groups[0]["rules"].to_string();
    assert!(rules.contains("BerthAdmissionPolicyGone"), "{rules}");
    assert!(!rules.contains("BerthGateDown"), "{rules}");
}

#[test]
fn beside_policies_one_webhook_is_left_on_which_no_write_depends() {
    let Some(objects) = build("manifests/overlays/policies-with-webhook") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    assert_eq!(count(&objects, is_of_policies), 2 * PolicyName::all().len());
    let registrations: Vec<_> = objects
        .iter()
        .filter(|it| it["webhooks"].is_array())
        .collect();
    let [registration] = &registrations[..] else {
        panic!("{} registrations", registrations.len())
    };
    let name = "managedclustervalidators.admission.cluster.open-cluster-management.io";
    assert_eq!(registration["metadata"]["name"], name);
    let webhook = &registration["webhooks"][0];
    assert_eq!(webhook["failurePolicy"], "Ignore");
    assert_eq!(webhook["timeoutSeconds"], 2);
    // The controller may write this registration only, and see that the others do not exist.
    let writes: Vec<String> = given(&objects, ACCOUNT)
        .into_iter()
        .filter(|rule| rule.contains("webhookconfigurations") && rule.contains("patch"))
        .collect();
    assert_eq!(
        writes,
        [format!(
            "null {}",
            json!({
                "apiGroups": ["admissionregistration.k8s.io"],
                "resourceNames": [name],
                "resources": ["validatingwebhookconfigurations"],
                "verbs": ["patch"],
            })
        )]
    );
    let reads = given(&objects, ACCOUNT).into_iter();
    let reads = reads.filter(|rule| rule.contains("webhookconfigurations") && rule.contains("get"));
    assert_eq!(reads.count(), 2);
}
