//! `berth join` at the managed cluster: what it checks, installs and waits for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::accept::{cluster_path, is_accepted, joins};
use crate::house::{CLUSTERS, House};
use crate::join::{Managed, NAMESPACE, OBJECTS, Printed, SHORT, cluster_name, with_object};
use berth_testkit::cluster::{Credentials, Person, fresh, rule};
use berth_testkit::csr::Csr;

/// The user of the token, who is the agent.
async fn agent(
    house: &House<&'static berth_testkit::cluster::Cluster>,
    kubeconfig: &Value,
) -> Person {
    let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
    let user = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
    house
        .cluster
        .person(user, &Credentials::Token(token.to_owned()))
        .await
}

#[tokio::test]
async fn the_printed_command_installs_the_agent_once_and_again() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let (line, bare) = (printed.command(&name), printed.without_image(&name));

    // A build that is no release has no image.
    let output = managed.types(&bare).await;
    let words = "Error: this build of berth is no release, so it has no image: name one by --image";
    assert!(output.failed().contains(words), "{output:?}");
    assert!(!managed.has_namespace().await);

    // First without a change.
    let output = managed.types(&format!("{line} --dry-run")).await;
    let manifests: Vec<Value> = serde_saphyr::from_multiple(output.ok()).unwrap();
    assert_eq!(manifests.len(), OBJECTS);
    assert!(
        output
            .stderr
            .contains("Note: these manifests contain the token (Secret bootstrap-hub-kubeconfig)"),
        "{output:?}"
    );
    assert!(
        output.stderr.ends_with("Nothing was changed.\n"),
        "{output:?}"
    );
    assert!(!output.stderr.contains(printed.token()), "{output:?}");
    assert!(!managed.has_namespace().await);

    // The API server cannot check what is in a namespace before that exists.
    let output = managed.types(&format!("{line} --dry-run=server")).await;
    let said = output.ok();
    for words in [
        "namespace/open-cluster-management-agent created (server dry run)\n",
        "clusterrole/open-cluster-management:berth-agent created (server dry run)\n",
        "deployment/berth-agent not checked: namespace open-cluster-management-agent does not exist yet (server dry run)\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.lines().count(), OBJECTS);
    assert!(
        !format!("{said}{}", output.stderr).contains(printed.token()),
        "{output:?}"
    );
    assert!(!managed.has_namespace().await);

    let output = managed
        .types(&format!("{line} --feature-gates ClusterProperty=true"))
        .await;
    let said = output.ok();
    for object in [
        "namespace/open-cluster-management-agent",
        "serviceaccount/berth-agent",
        "role/berth-agent",
        "rolebinding/berth-agent",
        "secret/bootstrap-hub-kubeconfig",
        "deployment/berth-agent",
    ] {
        assert!(
            said.contains(&format!("{object} created\n")),
            "{object}: {said}"
        );
    }
    assert!(
        said.ends_with(&format!("On the hub, run: berth accept {name}\n")),
        "{said}"
    );
    let url = house.cluster.url();
    assert!(
        output.stderr.contains(&format!(
            "the hub at {url} is verified by the CA in --ca-data\nthe hub accepts the token\n"
        )),
        "{output:?}"
    );
    assert!(
        !format!("{said}{}", output.stderr).contains(printed.token()),
        "{output:?}"
    );

    let path = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/berth-agent";
    let deployment = managed.admin.get(path).await.unwrap();
    let deployment = deployment.ok();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/berth:v1");
    assert_eq!(
        container["args"],
        json!([
            "agent",
            format!("--cluster-name={name}"),
            "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
            "--hub-kubeconfig-dir=/spoke/hub-kubeconfig",
            "--feature-gates=ClusterProperty=true",
        ])
    );
    let secret = managed.get("secrets/bootstrap-hub-kubeconfig").await;
    let kubeconfig = STANDARD
        .decode(secret["data"]["kubeconfig"].as_str().unwrap())
        .unwrap();
    let kubeconfig: Value = serde_saphyr::from_slice(&kubeconfig).unwrap();
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], json!(url));
    assert_eq!(
        kubeconfig["users"][0]["user"]["token"],
        json!(printed.token())
    );

    // The same again. Without --image the image stays.
    let output = managed
        .types(&format!("{bare} --feature-gates ClusterProperty=true"))
        .await;
    let changed: Vec<_> = output
        .ok()
        .lines()
        .filter(|line| line.ends_with("created") || line.ends_with("configured"))
        .collect();
    assert!(changed.is_empty(), "{output:?}");

    // As a dry run: what would change is told from what stays.
    let same = format!("{bare} --feature-gates ClusterProperty=true --dry-run=server");
    let output = managed.types(&same).await;
    let said = output.ok();
    assert_eq!(
        said.matches(" unchanged (server dry run)\n").count(),
        OBJECTS,
        "{said}"
    );
    let other = format!("{same} --image registry.example.com/berth:v2");
    let output = managed.types(&other).await;
    let said = output.ok();
    let words = "deployment/berth-agent configured (server dry run)\n";
    assert!(said.contains(words), "{said}");
    assert!(output.stderr.ends_with("Nothing was changed.\n"));
    let deployment = managed.admin.get(path).await.unwrap();
    let container = &deployment.ok()["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/berth:v1");

    // Whoever may not write gets each refusal of the API server.
    let reader = managed.cluster.user(&fresh("reader"), &[]).await;
    let reads = rule(&["get", "list"], "*", &["*"], &[]);
    managed.cluster.grant(&reader, &[reads]).await;
    let words = berth_testkit::transcript::words(&other);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let output = reader.berth(&args).await;
    let error = output.failed();
    for title in ["deployment/berth-agent", "role/berth-agent"] {
        let refused = format!("Error: {title}: ");
        let line = error.lines().find(|it| it.starts_with(&refused));
        assert!(
            line.is_some_and(|it| it.ends_with("(Forbidden)")),
            "{title}: {error}"
        );
    }
    assert!(error.ends_with("Nothing was changed.\n"), "{error}");
}

#[tokio::test]
async fn a_wait_says_what_is_missing_until_the_cluster_has_joined() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let line = printed.command(&name);
    let output = managed
        .types(&format!(
            "{line} --wait=joined --timeout {}",
            SHORT.as_secs()
        ))
        .await;
    let words = format!(
        "Error: {name}: timed out after 2s, waiting for the agent to start: Deployment \
                         open-cluster-management-agent/berth-agent is not available yet; the agent is installed and goes on\n"
    );
    assert!(output.failed().ends_with(&words), "{output:?}");

    // In place of the agent.
    let secret = managed.get("secrets/bootstrap-hub-kubeconfig").await;
    let kubeconfig = STANDARD
        .decode(secret["data"]["kubeconfig"].as_str().unwrap())
        .unwrap();
    let agent = agent(&house, &serde_saphyr::from_slice(&kubeconfig).unwrap()).await;
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": name},
    });
    agent.post(CLUSTERS, &object).await.unwrap().ok();
    Csr::new(&name, "agent1").sent_by(&agent).await;
    let output = managed.types(&format!("{line} --wait")).await;
    assert!(
        output.ok().ends_with(&format!(
            "managed cluster {name} waits to be accepted; on the hub: berth accept {name}\n"
        )),
        "{output:?}"
    );
    assert!(
        output.stderr.contains(&format!(
            "Note: managed cluster {name} exists on the hub and already waits to be accepted"
        )),
        "{output:?}"
    );

    let waits = format!("{line} --wait=joined");
    let waiting = managed.types(&waits);
    let accepting = async {
        house.berth(&format!("accept {name}")).await.ok();
        joins(&house, &name).await;
    };
    let (output, ()) = futures::join!(waiting, accepting);
    assert!(
        output
            .ok()
            .contains(&format!("managed cluster {name} has joined the hub")),
        "{output:?}"
    );
    assert!(is_accepted(&house, &name).await);
    assert!(!output.stderr.contains(printed.token()), "{output:?}");
}

#[tokio::test]
async fn manifests_are_written_for_a_git_repository_without_a_cluster() {
    let house = House::shared().await;
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("agent.yaml");
    let token = folder.path().join("token");
    std::fs::write(&token, format!("{}\n", printed.token())).unwrap();
    let line = printed.command(&name).replace(
        &format!("--hub-token {}", printed.token()),
        &format!("--hub-token-file {}", token.display()),
    );
    let line = format!(
        "{line} --output-manifests --output-file {} --kubeconfig /nowhere",
        file.display()
    );
    let words = berth_testkit::transcript::words(&line);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let output = house.admin.berth(&args).await;
    assert_eq!(output.ok(), "", "{output:?}");
    assert!(
        output
            .stderr
            .contains("agent.yaml contains the token (Secret bootstrap-hub-kubeconfig)"),
        "{output:?}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let manifests: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(manifests.len(), OBJECTS);
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // A file that exists stays.
    let output = house.admin.berth(&args).await;
    assert!(
        output.failed().contains("agent.yaml: File exists"),
        "{output:?}"
    );
}

#[tokio::test]
async fn nothing_is_installed_where_another_agent_or_name_is() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let line = printed.command(&name);
    with_object(&managed, "operator.open-cluster-management.io", "Klusterlet", "klusterlet", async || {
        let output = managed.types(&line).await;
        assert!(output.failed().ends_with(
            "Error: an operator runs the agent of this cluster (Klusterlet klusterlet); remove it first: kubectl delete klusterlet klusterlet\n"
        ), "{output:?}");
        let output = managed.types("berth unjoin").await;
        assert!(output.failed().contains("(Klusterlet klusterlet): kubectl delete klusterlet klusterlet removes it"), "{output:?}");
        assert!(!managed.has_namespace().await);
        // The Secrets of OCM's agent have the names of ours.
        managed.has_joined_as("other").await;
        let output = managed.types("berth unjoin --cluster-name other").await;
        assert!(output.failed().contains("(Klusterlet klusterlet): kubectl delete klusterlet klusterlet removes it"), "{output:?}");
        assert!(!managed.get("secrets/hub-kubeconfig-secret").await.is_null());
    })
    .await;
    let output = managed.types(&line).await;
    assert!(output.failed().ends_with(
        "Error: this cluster has already joined as other; keep --cluster-name other, or remove that registration: berth unjoin\n"
    ), "{output:?}");
    let accounts = managed.get("serviceaccounts/berth-agent").await;
    assert!(accounts.is_null(), "{accounts}");
}

#[tokio::test]
async fn an_agent_is_not_installed_into_a_namespace_that_is_being_deleted() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let name = cluster_name();
    let line = Printed::of(&house).await.command(&name);
    managed.has_joined_as(&name).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    managed.admin.merge(NAMESPACE, &hold).await.unwrap().ok();
    managed.admin.delete(NAMESPACE).await.unwrap();
    let output = managed.types(&line).await;
    let words = "Error: namespace open-cluster-management-agent is being deleted on the managed cluster; wait: kubectl wait --for=delete \
                 namespace/open-cluster-management-agent\n";
    assert!(output.failed().ends_with(words), "{output:?}");
    let release = json!({"metadata": {"finalizers": null}});
    managed.admin.merge(NAMESPACE, &release).await.unwrap();
}

#[tokio::test]
async fn fields_of_another_client_are_taken_over_only_on_request() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let line = Printed::of(&house).await.command(&cluster_name());
    managed.types(&line).await.ok();
    let path = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/berth-agent";
    let scaled = json!({"spec": {"replicas": 2}});
    managed.admin.merge(path, &scaled).await.unwrap().ok();
    let output = managed.types(&line).await;
    assert!(
        output
            .failed()
            .contains("--force-conflicts takes these fields over"),
        "{output:?}"
    );
    let output = managed.types(&format!("{line} --force-conflicts")).await;
    assert!(
        output.ok().contains("deployment/berth-agent configured\n"),
        "{output:?}"
    );
    let deployment = managed.admin.get(path).await.unwrap();
    assert_eq!(deployment.ok()["spec"]["replicas"], 1);
}

#[tokio::test]
async fn a_name_that_is_being_deleted_on_the_hub_cannot_be_taken() {
    let house = House::shared().await;
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    house.managed_cluster(&name, &[]).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let path = cluster_path(&name);
    house.admin.merge(&path, &hold).await.unwrap().ok();
    house.admin.delete(&path).await.unwrap();
    let line = format!("{} --output-manifests", printed.command(&name));
    let words = berth_testkit::transcript::words(&line);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let output = house.admin.berth(&args).await;
    assert!(output.failed().ends_with(&format!(
        "Error: managed cluster {name} is being deleted on the hub: wait until it is gone, or use another --cluster-name\n"
    )), "{output:?}");
    let release = json!({"metadata": {"finalizers": null}});
    house.admin.merge(&path, &release).await.unwrap();
}

#[tokio::test]
async fn an_operator_is_installed_with_the_klusterlet_that_it_carries_out() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let line = printed.command(&name);
    let flags = "--feature-gates ClusterProperty=true,RawFeedbackJsonString=true --klusterlet-annotation a=b";
    let with_operator = format!("{line} --operator {flags}");
    let output = managed
        .types(&format!("{with_operator} --dry-run=server"))
        .await;
    let klusterlet = "klusterlet/klusterlet not checked: its CustomResourceDefinition does not exist yet (server dry run)\n";
    assert!(output.ok().ends_with(klusterlet), "{output:?}");

    let output = managed.types(&with_operator).await;
    for object in [
        "deployment/berth-klusterlet-operator created\n",
        "secret/bootstrap-hub-kubeconfig created\n",
        "klusterlet/klusterlet created\n",
    ] {
        assert!(output.ok().contains(object), "{object}: {output:?}");
    }
    let path = "/apis/operator.open-cluster-management.io/v1/klusterlets/klusterlet";
    let klusterlet = managed.admin.get(path).await.unwrap();
    let spec = &klusterlet.ok()["spec"];
    assert_eq!(spec["clusterName"], *name);
    let gate = |name: &str| json!([{"feature": name, "mode": "Enable"}]);
    let registration = &spec["registrationConfiguration"];
    assert_eq!(registration["featureGates"], gate("ClusterProperty"));
    let annotations = json!({"agent.open-cluster-management.io/a": "b"});
    assert_eq!(registration["clusterAnnotations"], annotations);
    assert_eq!(
        spec["workConfiguration"]["featureGates"],
        gate("RawFeedbackJsonString")
    );
    let deployment =
        "/apis/apps/v1/namespaces/open-cluster-management/deployments/berth-klusterlet-operator";
    let deployment = managed.admin.get(deployment).await.unwrap();
    let container = &deployment.ok()["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], crate::join::IMAGE);
    assert!(managed.get("serviceaccounts/berth-agent").await.is_null());

    // Again, and as an agent alone.
    let output = managed.types(&with_operator).await;
    assert!(
        output.ok().contains("klusterlet/klusterlet unchanged\n"),
        "{output:?}"
    );
    let output = managed.types(&line).await;
    let refusal = "remove it first: kubectl delete klusterlet klusterlet\n";
    assert!(output.failed().ends_with(refusal), "{output:?}");

    // Nobody carries it out here.
    managed.admin.delete(path).await.unwrap().ok();
    let output = managed.types(&line).await;
    assert!(
        output.ok().contains("deployment/berth-agent created\n"),
        "{output:?}"
    );
    let output = managed.types(&with_operator).await;
    let refusal = "Error: an agent runs here without an operator; remove it first: berth unjoin\n";
    assert!(output.failed().ends_with(refusal), "{output:?}");
    let output = managed.types("berth unjoin --force").await;
    output.ok();
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/klusterlets.operator.open-cluster-management.io";
    managed.admin.delete(definition).await.unwrap().ok();
}
