//! Shell completion, and the name of kubectl's plugin.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::house::{House, SETS};
use berth_testkit::berth;
use berth_testkit::cluster::{Person, finish, fresh};

/// `berth` under another name, as this person.
fn called(person: &Person, folder: &TempDir, name: &str, args: &[&str]) -> Command {
    let program = folder.path().join(name);
    if !program.exists() {
        symlink(berth_testkit::program(), &program).unwrap();
    }
    let mut command = Command::new(program);
    command
        .args(args)
        .env("KUBECONFIG", &person.kubeconfig)
        .env("HOME", folder.path())
        .env("NO_COLOR", "1");
    command
}

/// What kubectl is told to offer after these words.
async fn offered(person: &Person, folder: &TempDir, words: &[&str]) -> Vec<String> {
    let output = finish(called(person, folder, "kubectl_complete-berth", words), "").await;
    let mut lines: Vec<String> = output.ok().lines().map(str::to_owned).collect();
    assert_eq!(lines.pop().as_deref(), Some(":4"), "no file names");
    lines
}

#[tokio::test]
async fn names_are_completed_from_the_hub() {
    let house = House::shared().await;
    let folder = TempDir::new().unwrap();
    let name = fresh("completed");
    house.managed_cluster(&format!("{name}-a"), &[]).await;
    house.managed_cluster(&format!("{name}-b"), &[]).await;
    let set = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": name},
    });
    house.admin.post(SETS, &set).await.unwrap().ok();
    let both = [format!("{name}-a"), format!("{name}-b")];
    let offer = async |words: &[&str]| offered(&house.admin, &folder, words).await;

    assert_eq!(offer(&["accept", &name]).await, both);
    for command in ["deny", "label", "taint", "cordon", "uncordon", "drain"] {
        assert_eq!(offer(&[command, &name]).await, both, "{command}");
    }
    assert_eq!(offer(&["get", "clusters", &name]).await, both);
    assert_eq!(
        offer(&["get", "clusters", "--clusterset", &name]).await,
        [name.as_str()]
    );
    assert_eq!(offer(&["get", "clustersets", &name]).await, [name.as_str()]);
    assert_eq!(offer(&["clusterset", "set", &name]).await, [name.as_str()]);
    assert_eq!(
        offer(&["clusterset", "set", "x", "--clusters", &name]).await,
        both
    );
    let second = format!("{name}-a,{name}");
    assert_eq!(
        offer(&["clusterset", "set", "x", "--clusters", &second]).await,
        both.each_ref().map(|it| format!("{name}-a,{it}"))
    );
    assert_eq!(
        offer(&["clusterset", "bind", "x", "--namespace", "kube-sys"]).await,
        ["kube-system"]
    );
    assert_eq!(
        offer(&["delete", "clusterset", &name]).await,
        [name.as_str()]
    );
    assert_eq!(offer(&["can-i", "accept", &name]).await, both);
    assert_eq!(offer(&["can-i", "execute-as", &name]).await, [""; 0]);
    assert_eq!(offer(&["get", "clusters", "--context", "h"]).await, ["hub"]);
    assert_eq!(offer(&["acc"]).await, ["accept"]);
}

/// A replica set's works have the same name in all clusters.
#[tokio::test]
async fn names_of_works_are_completed_once() {
    let house = House::shared().await;
    let folder = TempDir::new().unwrap();
    let name = fresh("work");
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"},
    });
    let spec = json!({"workload": {"manifests": [map]}});
    for namespace in ["default", "kube-system"] {
        let path = format!(
            "/apis/work.open-cluster-management.io/v1/namespaces/{namespace}/manifestworks"
        );
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"name": name},
            "spec": spec,
        });
        house.admin.post(&path, &work).await.unwrap().ok();
    }
    let set = json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": format!("{name}-set")},
        "spec": {"manifestWorkTemplate": spec, "placementRefs": [{"name": "p"}]},
    });
    let path =
        "/apis/work.open-cluster-management.io/v1alpha1/namespaces/default/manifestworkreplicasets";
    house.admin.post(path, &set).await.unwrap().ok();
    let offer = async |words: &[&str]| offered(&house.admin, &folder, words).await;
    let one = [name.as_str()];
    let both = [name.clone(), format!("{name}-set")];
    assert_eq!(offer(&["get", "works", &name]).await, one);
    assert_eq!(offer(&["work", "diff", &name]).await, one);
    let elsewhere = ["work", "diff", "-n", "kube-public", &name];
    assert_eq!(offer(&elsewhere).await, [""; 0]);
    assert_eq!(offer(&["work", "render", &name]).await, both);
    let within = ["work", "render", "--cluster=kube-system", &name];
    assert_eq!(offer(&within).await, one);
}

#[tokio::test]
async fn a_hub_that_tells_nothing_completes_nothing_and_disturbs_nobody() {
    let house = House::shared().await;
    let folder = TempDir::new().unwrap();
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    let offer = async |words: &[&str]| offered(&nobody, &folder, words).await;
    assert_eq!(offer(&["get", "clusters", "a"]).await, [""; 0]);
    assert_eq!(
        offer(&["get", "clusters", "--kubeconfig", "/nowhere", "a"]).await,
        [""; 0]
    );
}

#[tokio::test]
async fn a_shells_script_asks_the_program() {
    let house = House::shared().await;
    let name = fresh("shell");
    house.managed_cluster(&name, &[]).await;
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = finish(berth(&["completion", shell]), "").await;
        assert!(
            output.ok().contains("BERTH_COMPLETE"),
            "{shell}: {output:?}"
        );
    }
    // As bash does it: a function that the script defines is called with the words of the line.
    let script = format!(
        "source <(berth completion bash) && COMP_WORDS=(berth accept {name}) COMP_CWORD=2 COMP_TYPE=9 && \
         _clap_complete_berth berth {name} accept && echo \"${{COMPREPLY[@]}}\""
    );
    let folder = TempDir::new().unwrap();
    let mut command = called(&house.admin, &folder, "berth", &[]);
    let mut bash = Command::new("bash");
    let path = std::env::var("PATH").unwrap();
    bash.args(["-c", &script])
        .envs(
            command
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .env("PATH", format!("{}:{path}", folder.path().display()));
    let _ = command.arg("");
    let output = finish(bash, "").await;
    assert_eq!(output.ok().trim(), name, "{output:?}");
}

#[tokio::test]
async fn it_is_a_plugin_of_kubectl() {
    let house = House::shared().await;
    let folder = TempDir::new().unwrap();
    let output = finish(
        called(&house.admin, &folder, "kubectl-berth", &["get", "--help"]),
        "",
    )
    .await;
    assert!(
        output.ok().contains("Usage: kubectl berth get"),
        "{output:?}"
    );
    let name = fresh("plugin");
    house.managed_cluster(&name, &[]).await;
    if !berth_testkit::cluster::kubectl_is_there() {
        return;
    }
    let mut command = house
        .admin
        .kubectl_command(&["berth", "get", "clusters", &name, "-o", "name"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    let output = finish(command, "").await;
    assert_eq!(
        output.ok(),
        format!("managedcluster.cluster.open-cluster-management.io/{name}\n")
    );
}
