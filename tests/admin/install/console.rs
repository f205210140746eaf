//! `berth init` with the console in a pod: what its account may do at the hub, which is nothing, and what the overlay with impersonation
//! gives it.

use std::collections::BTreeSet;

use berth_testkit::cluster::{Cluster, Identity, Output, Person, fresh, rule};
use berth_testkit::hub_node::HUB;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::values::Files;
use super::{CLUSTERS, IMAGE};

const SPACE: &str = "open-cluster-management-hub";
const NAMESPACES: [&str; 3] = [SPACE, "default", "kube-system"];
const ACCOUNT: &str = "berth-console-sa";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:berth-console:impersonation";

async fn init(admin: &Person, more: &[&str]) -> Output {
    let mut args = vec!["init", IMAGE, "--no-token", "--wait=false"];
    args.extend(more);
    admin.berth(&args).await
}

async fn code(admin: &Person, path: &str) -> u16 {
    admin.get(path).await.unwrap().code
}

async fn container(admin: &Person) -> Value {
    let path = format!("{HUB}/deployments/berth-console");
    let deployment = admin.get(&path).await.unwrap().ok().clone();
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

/// All that the hub says an account may do in these namespaces, and beyond them.
async fn may(account: &Person) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for namespace in NAMESPACES {
        let question = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace},
        });
        let answer = account.post(REVIEWS, &question).await.unwrap();
        let status = &answer.ok()["status"];
        assert_eq!(status["incomplete"], false, "{status}");
        for rules in ["resourceRules", "nonResourceRules"] {
            let rules = status[rules].as_array().into_iter().flatten();
            all.extend(rules.map(|it| format!("{namespace} {it}")));
        }
    }
    assert!(!all.is_empty(), "to ask what it may, at least");
    all
}

/// The words of the refusal. Kubernetes 1.36 names other verbs than older versions.
fn cannot_impersonate() -> String {
    format!("User \"system:serviceaccount:{SPACE}:{ACCOUNT}\" cannot impersonate")
}

/// As `kubectl auth can-i --list` says it: no more than an account that nobody has heard of.
#[tokio::test]
async fn the_account_of_the_console_may_do_nothing() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let output = init(&admin, &["--console", "--dry-run=server"]).await;
    let words = "deployment/berth-console created (server dry run)";
    assert!(output.ok().contains(words), "{output:?}");
    let output = init(&admin, &["--console"]).await;
    let words = "To open the console, run this, and open https://localhost:8443:\n  kubectl -n open-cluster-management-hub \
                 port-forward service/berth-console 8443:443\n";
    assert!(output.ok().ends_with(words), "{output:?}");
    let args = json!(["console", "--serve", "--public-url=https://localhost:8443"]);
    assert_eq!(container(&admin).await["args"], args);
    let output = admin.berth(&["version"]).await;
    assert!(output.ok().contains("\nconsole "), "{output:?}");

    let stranger = cluster.service_account(SPACE, &fresh("nobody")).await;
    let console = cluster.service_account(SPACE, ACCOUNT).await;
    assert_eq!(may(&console).await, may(&stranger).await);
    for path in [
        CLUSTERS,
        "/api/v1/namespaces",
        "/api/v1/namespaces/open-cluster-management-hub/secrets",
    ] {
        let answer = console.get(path).await.unwrap();
        answer.refused(403, "Forbidden");
    }
    let ada = Identity {
        user: "ada",
        ..Identity::default()
    };
    let answer = console.acting_as(&ada).await.get(CLUSTERS).await.unwrap();
    let why = answer.refused(403, "Forbidden");
    assert!(why.contains(&cannot_impersonate()), "{why}");

    // The API server takes a pod with all that can be mounted.
    let oidc = json!({
        "issuerUrl": "https://login.example.com", "clientId": "berth", "clientSecretName": "oidc", "caConfigMap": "ca",
        "extraScopes": ["email"],
    });
    let values = json!({"console": {"enabled": true, "tokens": false, "tlsSecretName": "tls", "oidc": oidc}});
    let files = Files::new();
    let values = files.with("oidc.yaml", &values);
    let output = init(&admin, &["--values", &values, "--dry-run=server"]).await;
    let words = "deployment/berth-console configured (";
    assert!(output.ok().contains(words), "{output:?}");

    // It stays without the flag, and goes with the hub.
    let output = init(&admin, &["--dry-run=server"]).await;
    let words = "deployment/berth-console unchanged (server dry run)";
    assert!(output.ok().contains(words), "{output:?}");
    let output = admin.berth(&["uninstall", "--yes"]).await;
    for object in [
        "deployment/berth-console",
        "service/berth-console",
        "serviceaccount/berth-console-sa",
        "namespace/open-cluster-management-hub",
    ] {
        let words = format!("{object} deleted\n");
        assert!(output.ok().contains(&words), "{object}: {output:?}");
    }
}

#[tokio::test]
async fn with_impersonation_the_console_acts_as_users_in_groups_and_as_itself_it_may_do_nothing() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let files = Files::new();
    let proxy = json!({"enabled": true, "clientCaSecret": "proxy-ca", "allowedNames": ["proxy"]});
    let console = json!({"enabled": true, "tokens": false, "impersonation": proxy});
    let values = files.with("proxy.yaml", &json!({ "console": console }));
    init(&admin, &["--values", &values]).await.ok();
    let args = container(&admin).await["args"].to_string();
    assert!(
        args.contains("--requestheader-allowed-names=proxy\""),
        "{args}"
    );

    let stranger = cluster.service_account(SPACE, &fresh("nobody")).await;
    let console = cluster.service_account(SPACE, ACCOUNT).await;
    let strangers = may(&stranger).await;
    let more = eventually("the rules of the role", async || {
        when(&may(&console).await - &strangers, |it| !it.is_empty())
    });
    let more = more.await;
    let rules = ["groups", "users"].map(|it| {
        json!({"apiGroups": [""], "resources": [it], "verbs": ["impersonate"]}).to_string()
    });
    let expected = NAMESPACES.iter().flat_map(|namespace| {
        let rules = rules.iter();
        rules.map(move |rule| format!("{namespace} {rule}"))
    });
    assert_eq!(more, expected.collect::<BTreeSet<_>>());
    console
        .get(CLUSTERS)
        .await
        .unwrap()
        .refused(403, "Forbidden");

    // What the user may, and no more.
    let name = fresh("ada");
    let ada = cluster.user(&name, &[]).await;
    let list = rule(
        &["list"],
        "cluster.open-cluster-management.io",
        &["managedclusters"],
        &[],
    );
    cluster.grant(&ada, &[list]).await;
    let user = Identity {
        user: &name,
        groups: &["fleet"],
        ..Identity::default()
    };
    let acting = console.acting_as(&user).await;
    // The API server may be about to begin to serve the kind.
    eventually("the list of the user", async || {
        when(acting.get(CLUSTERS).await.unwrap(), |it| it.code == 200)
    })
    .await;
    let answer = acting.get("/api/v1/namespaces").await.unwrap();
    let why = answer.refused(403, "Forbidden");
    assert!(
        why.contains(&format!("User \"{name}\" cannot list")),
        "{why}"
    );
    // Neither accounts, nor what users and groups do not have.
    for identity in [
        Identity {
            user: "system:serviceaccount:kube-system:admin",
            ..Identity::default()
        },
        Identity { uid: "1", ..user },
        Identity {
            extra: &[("scopes", &["all"])],
            ..user
        },
    ] {
        let answer = console.acting_as(&identity).await.get(CLUSTERS).await;
        let answer = answer.unwrap();
        let why = answer.refused(403, "Forbidden");
        assert!(why.contains(&cannot_impersonate()), "{identity:?}: {why}");
    }

    // Of certain groups only: who is in another one is refused as a whole.
    let groups = json!({"console": {"impersonation": {"groups": ["fleet"]}}});
    let groups = files.with("groups.yaml", &groups);
    init(&admin, &["--values", &values, "--values", &groups])
        .await
        .ok();
    let masters = Identity {
        groups: &["fleet", "system:masters"],
        ..user
    };
    let masters = console.acting_as(&masters).await;
    eventually("a narrower role", async || {
        when(masters.get("/api/v1/namespaces").await.unwrap(), |it| {
            it.code == 403
        })
    })
    .await;
    acting.get(CLUSTERS).await.unwrap().ok();

    // With tokens again, the role goes.
    let values = files.with("tokens.yaml", &json!({"console": {"enabled": true}}));
    let output = init(&admin, &["--values", &values]).await;
    let words = "clusterrole/open-cluster-management:berth-console:impersonation deleted";
    assert!(output.ok().contains(words), "{output:?}");
    assert_eq!(code(&admin, ROLE).await, 404);
    assert_eq!(container(&admin).await["args"].as_array().unwrap().len(), 3);

    // Without the console it goes, too. One that somebody else has applied stays.
    let none = files.with("none.yaml", &json!({}));
    let output = init(&admin, &["--values", &none]).await;
    let words = "deployment/berth-console deleted";
    assert!(output.ok().contains(words), "{output:?}");
    let note =
        "Note: deployment/berth-console stays as it is, with its image: the values do not have it";
    assert!(!output.stderr.contains(note), "{output:?}");
    let applied = &berth_manifests::files::CONSOLE.documents()[0];
    eventually("an end of the former Deployment", async || {
        let path = format!("{HUB}/deployments/berth-console");
        when(code(&admin, &path).await, |it| *it == 404)
    })
    .await;
    let deployments = format!("{HUB}/deployments");
    admin.post(&deployments, applied).await.unwrap().ok();
    let output = init(&admin, &["--values", &none]).await;
    assert!(output.stderr.contains(note), "{output:?}");
    assert_eq!(container(&admin).await["image"], "berth");
}
