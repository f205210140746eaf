//! The commands that denials and `docs/denials.md` name, pasted into a shell: their output is true.

use serde_json::json;

use berth_testkit::cluster::{Person, fresh, kubectl_is_there};
use berth_testkit::guarded::{Guarded, may_accept, may_bind, may_join};

/// What `kubectl auth can-i` says, of which the exit code is part.
async fn can_i(person: &Person, verb: &str, set: &str, subresource: &str) -> (i32, String) {
    let object = format!("managedclustersets.cluster.open-cluster-management.io/{set}");
    let subresource = format!("--subresource={subresource}");
    let args = ["auth", "can-i", verb, &object, &subresource, "-A"];
    let output = person.kubectl(&args).await;
    (output.code, output.stdout)
}

#[tokio::test]
async fn can_i_tells_whether_somebody_may_join_and_bind() {
    if !kubectl_is_there() {
        return;
    }
    let hub = Guarded::shared().await;
    let set = fresh("set");
    let dev = hub.developer(&fresh("dev"), &[]).await;
    let (no, yes) = ((1, "no\n".to_owned()), (0, "yes\n".to_owned()));
    assert_eq!(can_i(&dev, "create", &set, "join").await, no);
    assert_eq!(can_i(&dev, "create", &set, "bind").await, no);
    hub.cluster.grant(&dev, &[may_join(&set)]).await;
    assert_eq!(can_i(&dev, "create", &set, "join").await, yes);
    assert_eq!(can_i(&dev, "create", &set, "bind").await, no);
    hub.cluster.grant(&dev, &[may_bind(&set)]).await;
    assert_eq!(can_i(&dev, "create", &set, "bind").await, yes);
}

#[tokio::test]
async fn a_review_of_oneself_tells_whether_one_may_accept() {
    if !kubectl_is_there() {
        return;
    }
    let hub = Guarded::shared().await;
    let name = fresh("c");
    let dev = hub.developer(&fresh("dev"), &[]).await;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "group": "register.open-cluster-management.io",
            "resource": "managedclusters",
            "subresource": "accept",
            "verb": "update",
            "name": name,
        } },
    });
    let review = review.to_string();
    let args = [
        "create",
        "--validate=false",
        "-o",
        "jsonpath={.status.allowed}",
        "-f",
        "-",
    ];
    let output = dev.kubectl_reading(&review, &args).await;
    assert_eq!(output.ok(), "false");
    hub.cluster.grant(&dev, &[may_accept(&name)]).await;
    let output = dev.kubectl_reading(&review, &args).await;
    assert_eq!(output.ok(), "true");
}
