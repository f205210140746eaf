use serde_json::json;

use super::*;
use crate::testing::mapped;

fn executor(json: serde_json::Value) -> Result<Option<Account>, String> {
    let executor: Option<ManifestWorkExecutor> = serde_json::from_value(json).unwrap();
    account(executor.as_ref()).map_err(|failure| failure.message)
}

#[test]
fn an_executor_is_a_service_account() {
    let account = Account {
        namespace: "n".to_owned(),
        name: "s".to_owned(),
    };
    let failed = |why: &str| Err(format!("Failed to apply manifest: {why}"));
    for (json, expected) in [
        (json!(null), Ok(None)),
        (
            json!({"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "s"}}}),
            Ok(Some(account)),
        ),
        (
            json!({"subject": {"type": "ServiceAccount"}}),
            failed("the executor service account is nil"),
        ),
        (
            json!({"subject": {"type": "User"}}),
            failed("only support ServiceAccount type for the executor"),
        ),
        (
            json!({}),
            failed("the executor has no subject: set executor.subject, or remove the executor"),
        ),
    ] {
        assert_eq!(executor(json.clone()), expected, "{json}");
    }
}

#[test]
fn an_account_must_be_allowed_everything() {
    let account = Account {
        namespace: "n".to_owned(),
        name: "s".to_owned(),
    };
    let object = mapped(
        &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "m", "name": "d"}}),
    );
    let verbs = |holding| {
        let questions = account.questions(&object, holding);
        let verbs = questions
            .into_iter()
            .map(|it| it.resource_attributes.unwrap().verb.unwrap());
        verbs.collect::<Vec<_>>()
    };
    assert_eq!(
        verbs(Holding::Owned),
        ["create", "update", "patch", "get", "delete"]
    );
    assert_eq!(
        verbs(Holding::Orphaned),
        ["create", "update", "patch", "get"]
    );
    let question = serde_json::to_value(account.question(&object, "get")).unwrap();
    assert_eq!(
        question,
        json!({
            "user": "system:serviceaccount:n:s",
            "groups": ["system:serviceaccounts", "system:authenticated", "system:serviceaccounts:n"],
            "resourceAttributes": {"group": "apps", "version": "v1", "resource": "deployments", "namespace": "m", "name": "d", "verb": "get"},
        })
    );
    assert_eq!(
        account.refused(&object, "get").message,
        "Failed to apply manifest: not allowed to apply the resource apps deployments, m d, will try again in 1m0s; \
         grant the verb get to system:serviceaccount:n:s"
    );
    assert_eq!(account.refused(&object, "get").retry, Retry::OnPermission);
    assert!(!may_escalate(&object));
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
    assert!(may_escalate(&mapped(&role)));
}

#[test]
fn some_kinds_depend_on_who_writes_them() {
    let row = |group: &str, kind: &str| {
        mapped(
            &json!({"apiVersion": format!("{group}v1"), "kind": kind, "metadata": {"name": "a"}}),
        )
    };
    for (group, kind, depends, names) in [
        ("", "Secret", false, false),
        ("apps/", "Deployment", false, false),
        ("rbac.authorization.k8s.io/", "Role", true, false),
        (
            "rbac.authorization.k8s.io/",
            "ClusterRoleBinding",
            true,
            false,
        ),
        (
            "admissionregistration.k8s.io/",
            "ValidatingAdmissionPolicyBinding",
            true,
            false,
        ),
        ("certificates.k8s.io/", "ClusterTrustBundle", true, false),
        (
            "certificates.k8s.io/",
            "CertificateSigningRequest",
            true,
            true,
        ),
        (
            "cluster.open-cluster-management.io/",
            "ManagedCluster",
            true,
            false,
        ),
        (
            "notopen-cluster-management.io/",
            "ManagedCluster",
            false,
            false,
        ),
    ] {
        let object = row(group, kind);
        assert_eq!(depends_on_writer(&object), depends, "{group}{kind}");
        assert_eq!(names_the_writer(&object).is_some(), names, "{group}{kind}");
    }
    let account = Account {
        namespace: "n".to_owned(),
        name: "s".to_owned(),
    };
    let cluster = row("cluster.open-cluster-management.io/", "ManagedCluster");
    let failure = account.forbidden(&cluster, "no");
    assert_eq!(
        failure.message,
        "Failed to apply manifest: not allowed to apply the resource cluster.open-cluster-management.io managedclusters,  a, \
         will try again in 1m0s; no"
    );
    assert_eq!(failure.retry, Retry::OnPermission);
    let role = row("rbac.authorization.k8s.io/", "Role");
    assert!(
        account
            .forbidden(&role, "no")
            .message
            .contains("error: permission escalation, ")
    );
}

#[test]
fn an_executor_does_not_reach_the_agent() {
    for (manifest, own) in [
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "agent", "name": "a"}}),
            true,
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": "a"}}),
            false,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "agent"}}),
            true,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
            false,
        ),
        (
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "open-cluster-management:x"}}),
            true,
        ),
        (
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}}),
            false,
        ),
        (
            json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "metadata": {"name": "x"}}),
            true,
        ),
    ] {
        assert_eq!(
            agents_own(&mapped(&manifest), "agent").is_some(),
            own,
            "{manifest}"
        );
    }
}
