//! The rights of the two accounts, as the hub answers: also after an upgrade from the manifests with one account for both.

use serde_json::{Value, json};

use berth_testkit::cluster::{Cluster, documents_of, kubectl_is_there, path_of};
use berth_testkit::shipped::{self, CONTROLLER, GATE, NAMESPACE};
use berth_testkit::{eventually, when};

/// What the manifests had before gate and controller were apart.
const BEFORE: &str = "tests/data/upgrade/one-deployment.yaml";

/// What takes a hub over, each as (sentence, verb, group, resource, namespace, name).
const POWERS: [(&str, &str, &str, &str, &str, &str); 9] = [
    (
        "approve CSRs",
        "update",
        "certificates.k8s.io",
        "certificatesigningrequests/approval",
        "",
        "csr-1",
    ),
    (
        "approve for the signer of clients",
        "approve",
        "certificates.k8s.io",
        "signers",
        "",
        "kubernetes.io/kube-apiserver-client",
    ),
    (
        "bind roles",
        "create",
        "rbac.authorization.k8s.io",
        "rolebindings",
        "c1",
        "",
    ),
    (
        "bind the agents' roles",
        "bind",
        "rbac.authorization.k8s.io",
        "clusterroles",
        "",
        "open-cluster-management:managedcluster:work",
    ),
    (
        "write a cluster's Lease",
        "patch",
        "coordination.k8s.io",
        "leases",
        "c1",
        "managed-cluster-lease",
    ),
    (
        "write a cluster",
        "patch",
        "cluster.open-cluster-management.io",
        "managedclusters",
        "",
        "c1",
    ),
    (
        "write the certificate",
        "update",
        "",
        "secrets",
        NAMESPACE,
        "berth-webhook-certificates",
    ),
    (
        "publish an authority",
        "patch",
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        "",
        "managedclustervalidators.admission.cluster.open-cluster-management.io",
    ),
    (
        "take the lead",
        "update",
        "coordination.k8s.io",
        "leases",
        NAMESPACE,
        "registration-controller-lock",
    ),
];

/// What neither account may do, in the namespace of both.
const NOBODYS: [(&str, &str, &str, &str, &str, &str); 5] = [
    (
        "make a Secret, which might be of the type service-account-token",
        "create",
        "",
        "secrets",
        NAMESPACE,
        "",
    ),
    ("read other Secrets", "get", "", "secrets", NAMESPACE, "x"),
    (
        "write rights that it has not",
        "escalate",
        "rbac.authorization.k8s.io",
        "clusterroles",
        "",
        "x",
    ),
    (
        "bind any role",
        "bind",
        "rbac.authorization.k8s.io",
        "clusterroles",
        "",
        "cluster-admin",
    ),
    (
        "accept clusters",
        "update",
        "register.open-cluster-management.io",
        "managedclusters/accept",
        "",
        "c1",
    ),
];

/// Whether the hub lets an account of the manifests do this.
async fn may(cluster: &Cluster, account: &str, what: (&str, &str, &str, &str, &str, &str)) -> bool {
    let (_, verb, group, resource, namespace, name) = what;
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{NAMESPACE}:{account}"),
            "groups": [
                "system:serviceaccounts",
                format!("system:serviceaccounts:{NAMESPACE}"),
                "system:authenticated",
            ],
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let admin = cluster.admin().await;
    admin.post(path, &review).await.unwrap().ok()["status"]["allowed"] == true
}

/// Waits until the hub goes by what was applied last.
async fn until_may(cluster: &Cluster, account: &str, allowed: bool) {
    until_may_each(cluster, account, allowed, &POWERS).await;
}

async fn until_may_each(
    cluster: &Cluster,
    account: &str,
    allowed: bool,
    powers: &[(&str, &str, &str, &str, &str, &str)],
) {
    for &power in powers {
        eventually(
            &format!("{account} may {}: {allowed}", power.0),
            async || when(may(cluster, account, power).await, |it| *it == allowed),
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_account_behind_the_port_may_ask_and_read_and_nothing_else() {
    let cluster = Cluster::private().await;
    shipped::install(&cluster).await;
    until_may(&cluster, CONTROLLER, true).await;
    until_may(&cluster, GATE, false).await;
    for what in NOBODYS {
        for account in [GATE, CONTROLLER] {
            assert!(
                !may(&cluster, account, what).await,
                "{account} may {}",
                what.0
            );
        }
    }
    // Not only by what the hub says: it is refused.
    let token = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "stolen",
            "annotations": { "kubernetes.io/service-account.name": CONTROLLER },
        },
        "type": "kubernetes.io/service-account-token",
    });
    for (account, person) in [
        (GATE, shipped::gate(&cluster).await),
        (CONTROLLER, shipped::controller(&cluster).await),
    ] {
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        let answer = person.post(&secrets, &token).await.unwrap();
        let message = answer.refused(403, "Forbidden");
        assert!(
            message.contains(&format!(
                "{NAMESPACE}:{account}\" cannot create resource \"secrets\""
            )),
            "{message}"
        );
    }
}

/// `overlays/hub` gives the gate's account both accounts' rights, and not one more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_one_process_the_account_has_the_rights_of_both_and_no_more() {
    let cluster = Cluster::private().await;
    shipped::install_hub(&cluster).await;
    until_may(&cluster, GATE, true).await;
    for what in NOBODYS {
        assert!(!may(&cluster, GATE, what).await, "{}", what.0);
    }
    // And back.
    shipped::install(&cluster).await;
    until_may(&cluster, GATE, false).await;
}

/// A name of the gate's role that was OCM's. The upgrade has it deleted by hand (docs/operations.md).
const RENAMED: &str = "open-cluster-management:cluster-manager-registration:webhook";

/// As users upgrade: `kubectl apply` of the old manifests, and then of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_takes_the_controllers_rights_from_the_gate() {
    let cluster = Cluster::private().await;
    let admin = cluster.admin().await;
    let is_applied = |object: &Value| {
        let kind = object["kind"].as_str().unwrap();
        // What runs is of no interest, and nothing here could run it.
        !["Deployment", "PodDisruptionBudget", "Service"].contains(&kind)
    };
    let mut before = documents_of(BEFORE);
    before.retain(is_applied);
    let mut after: Vec<_> = shipped::SERVER
        .iter()
        .flat_map(|file| documents_of(file))
        .collect();
    after.retain(is_applied);
    // It may have been used before: bindings as they were, and no others.
    for object in before.iter().chain(&after) {
        if object["kind"].as_str().unwrap().contains("Role") {
            admin.delete(&path_of(object)).await.unwrap();
        }
    }
    let apply = async |objects: &[Value]| {
        if !kubectl_is_there() {
            return cluster.apply(objects).await;
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let output = admin
            .kubectl_reading(&list.to_string(), &["apply", "-f", "-"])
            .await;
        output.ok();
    };
    apply(&before).await;
    // It had all that is in the agents' roles instead of the right to bind them.
    let had: Vec<_> = POWERS.into_iter().filter(|it| it.1 != "bind").collect();
    until_may_each(&cluster, GATE, true, &had).await;
    apply(&after).await;
    until_may(&cluster, GATE, false).await;
    until_may(&cluster, CONTROLLER, true).await;
    for what in NOBODYS {
        for account in [GATE, CONTROLLER] {
            assert!(
                !may(&cluster, account, what).await,
                "{account} may {}",
                what.0
            );
        }
    }
    // Nothing else that was applied before is left over: each object is one of ours now.
    let (renamed, before): (Vec<_>, Vec<_>) =
        (before.iter()).partition(|it| it["metadata"]["name"] == RENAMED);
    for object in renamed {
        admin.delete(&path_of(object)).await.unwrap().ok();
    }
    let ours: Vec<_> = after.iter().map(path_of).collect();
    for object in before {
        assert!(
            ours.contains(&path_of(object)),
            "left over: {}",
            path_of(object)
        );
    }
    // And no other binding of the hub names the gate.
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let mut bound = Vec::new();
    for kind in ["clusterrolebindings", "rolebindings"] {
        let list = admin.get(&format!("{rbac}/{kind}")).await.unwrap();
        for binding in list.ok()["items"].as_array().unwrap() {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            if subjects.clone().any(|it| it["name"] == GATE) {
                bound.push(binding["roleRef"]["name"].as_str().unwrap().to_owned());
            }
        }
    }
    bound.sort();
    assert_eq!(
        bound,
        [
            "berth-registration:certificates-reader",
            "open-cluster-management:berth-registration:webhook",
        ]
    );
}
