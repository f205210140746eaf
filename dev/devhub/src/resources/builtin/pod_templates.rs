//! What a pod template leaves out, filled in as Kubernetes does, so that a stored Deployment reads the same.

use serde_json::{Value, json};

use super::kind::{default_in, items_of, text_of};

/// Fills in a template.
pub(super) fn fill_in(template: &mut Value) {
    let Some(spec) = template.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    default_in(spec, "restartPolicy", "Always");
    default_in(spec, "terminationGracePeriodSeconds", 30);
    default_in(spec, "dnsPolicy", "ClusterFirst");
    default_in(spec, "securityContext", json!({}));
    default_in(spec, "schedulerName", "default-scheduler");
    // The older name of the field says the same.
    let account = text_of(spec, "serviceAccountName").to_owned();
    if !account.is_empty() {
        default_in(spec, "serviceAccount", account);
    }
    for field in ["initContainers", "containers"] {
        items_of(spec, field).for_each(container);
    }
    items_of(spec, "volumes").for_each(volume);
}

fn container(container: &mut Value) {
    let policy = match tag(text_of(container, "image")) {
        None | Some("latest") => "Always",
        Some(_) => "IfNotPresent",
    };
    default_in(container, "imagePullPolicy", policy);
    default_in(container, "resources", json!({}));
    default_in(container, "terminationMessagePath", "/dev/termination-log");
    default_in(container, "terminationMessagePolicy", "File");
    for port in items_of(container, "ports") {
        default_in(port, "protocol", "TCP");
    }
    for variable in items_of(container, "env") {
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
            default_in(field, "apiVersion", "v1");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name) {
            fill_in_probe(probe);
        }
    }
}

fn fill_in_probe(probe: &mut Value) {
    for (field, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        default_in(probe, field, default);
    }
    if let Some(get) = probe.get_mut("httpGet") {
        default_in(get, "path", "/");
        default_in(get, "scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source) {
            default_in(source, "defaultMode", 0o644);
        }
    }
}

/// An image's tag or digest.
fn tag(image: &str) -> Option<&str> {
    if let Some((_, digest)) = image.split_once('@') {
        return Some(digest);
    }
    // A colon before the last slash belongs to the registry's port.
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_pulled_always_if_its_tag_may_move() {
        for (image, expected) in [
            ("a", None),
            ("host:5000/a", None),
            ("host:5000/a:v1", Some("v1")),
            ("a:latest", Some("latest")),
            ("a@sha256:00", Some("sha256:00")),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
    }

    #[test]
    fn a_template_is_filled_in() {
        let mut template = json!({"spec": {
            "serviceAccountName": "x",
            "containers": [{
                "image": "a:1",
                "ports": [{"containerPort": 1}],
                "livenessProbe": {"httpGet": {"port": 1}, "periodSeconds": 5},
            }],
            "volumes": [{"secret": {"secretName": "s"}}],
        }});
        fill_in(&mut template);
        let spec = &template["spec"];
        assert_eq!(spec["serviceAccount"], "x");
        assert_eq!(spec["restartPolicy"], "Always");
        assert_eq!(spec["volumes"][0]["secret"]["defaultMode"], 420);
        let container = &spec["containers"][0];
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
        assert_eq!(container["ports"][0]["protocol"], "TCP");
        assert_eq!(
            container["livenessProbe"],
            json!({
                "httpGet": {"port": 1, "path": "/", "scheme": "HTTP"},
                "periodSeconds": 5,
                "timeoutSeconds": 1,
                "successThreshold": 1,
                "failureThreshold": 3,
            })
        );
        let before = template.clone();
        fill_in(&mut template);
        assert_eq!(template, before);
        let mut odd = json!({"spec": [1]});
        fill_in(&mut odd);
        assert_eq!(odd, json!({"spec": [1]}));
    }
}
