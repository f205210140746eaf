//! `berth can-i`, alone and with the commands that denials name.

use serde_json::json;

use crate::house::{CLUSTERS, House};
use berth_testkit::cluster::{Person, fresh, rule};
use berth_testkit::transcript::words;
use berth_testkit::{eventually, when};

const REGISTER: &str = "register.open-cluster-management.io";
const GROUP: &str = "cluster.open-cluster-management.io";

/// Applies what berth prints, as the admin.
async fn granted(house: &House<&'static berth_testkit::cluster::Cluster>, line: &str) {
    let manifests = house.berth(line).await;
    let manifests = manifests.ok();
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(manifests).unwrap();
    assert_eq!(documents.len(), 2, "{manifests}");
    house.cluster.apply(&documents).await;
}

/// The answer once it is this; for what was granted is not known at once.
async fn until_says(
    house: &House<&'static berth_testkit::cluster::Cluster>,
    dev: &Person,
    line: &str,
    code: i32,
) {
    eventually(&format!("exit code {code} of {line}"), async || {
        when(house.berth_as(dev, line).await, |it| it.code == code)
    })
    .await;
}

#[tokio::test]
async fn each_permission_is_answered_and_what_grants_it_grants_it() {
    let house = House::shared().await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let stage = || {
        house
            .stage_of(&dev)
            .with("user", &dev.user)
            .with("cluster", &cluster)
    };
    stage()
        .plays(
            "\
$ berth can-i accept {cluster}
no
verb \"update\" (or \"create\") on managedclusters/accept in API group register.open-cluster-management.io, name \"{cluster}\": user \"{user}\" lacks it
For all clusters, an admin may bind the ClusterRole open-cluster-management:berth:accept instead
To grant it, an admin runs: berth can-i accept {cluster} --as {user} -o yaml | kubectl apply -f -
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: berth:accept:{cluster}
rules:
- apiGroups:
  - register.open-cluster-management.io
  resourceNames:
  - {cluster}
  resources:
  - managedclusters/accept
  verbs:
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: berth:accept:{cluster}:{user}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: berth:accept:{cluster}
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: {user}
? 1
$ berth can-i join default
no
verb \"create\" on managedclustersets/join in API group cluster.open-cluster-management.io, name \"default\": user \"{user}\" lacks it
For all sets, an admin may bind the ClusterRole open-cluster-management:berth:set-admin instead
To grant it, an admin runs: berth can-i join default --as {user} -o yaml | kubectl apply -f -
---
...
? 1
$ berth can-i bind default
no
verb \"create\" on managedclustersets/bind in API group cluster.open-cluster-management.io, name \"default\": user \"{user}\" lacks it
...
? 1
",
        )
        .await;
    for (what, name) in [
        ("accept", cluster.as_str()),
        ("join", "default"),
        ("bind", "default"),
    ] {
        granted(
            &house,
            &format!("can-i {what} {name} --as {} -o yaml", dev.user),
        )
        .await;
        until_says(&house, &dev, &format!("can-i {what} {name}"), 0).await;
        // Each by its own name: nothing else was granted.
        until_says(&house, &dev, &format!("can-i {what} other"), 1).await;
    }
    stage()
        .plays(
            "\
$ berth can-i accept {cluster}
yes
$ berth can-i join default
yes
$ berth can-i bind default
yes
$ berth can-i accept {cluster} -o json
{
  \"apiVersion\": \"v1\",
  \"items\": [
...
$ kubectl patch managedcluster {cluster} --type=merge -p '{\"spec\":{\"hubAcceptsClient\":true}}'
managedcluster.cluster.open-cluster-management.io/{cluster} patched
",
        )
        .await;
}

/// To widen a set's selector, the gate asks for the permission without a name.
#[tokio::test]
async fn a_permission_for_all_is_asked_about_and_granted() {
    let house = House::shared().await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let set = fresh("set");
    granted(
        &house,
        &format!("can-i join {set} --as {} -o yaml", dev.user),
    )
    .await;
    until_says(&house, &dev, &format!("can-i join {set}"), 0).await;
    house
        .stage_of(&dev)
        .with("user", &dev.user)
        .with("set", &set)
        .plays(
            "\
$ berth can-i join --all
no
verb \"create\" on managedclustersets/join in API group cluster.open-cluster-management.io, for all names: user \"{user}\" lacks it
For all sets, an admin may bind the ClusterRole open-cluster-management:berth:set-admin instead
To grant it, an admin runs: berth can-i join --all --as {user} -o yaml | kubectl apply -f -
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: \"berth:join:\"
rules:
- apiGroups:
  - cluster.open-cluster-management.io
  resources:
  - managedclustersets/join
  verbs:
  - create
---
...
? 1
$ berth create clusterset {set} --selector a=b
Error: {set}: [..]user \"{user}\" cannot widen the selector of ManagedClusterSet \"{set}\"[..]
? 1
$ berth can-i join {set} --all
error: the argument '[NAME]' cannot be used with '--all'
...
? 2
",
        )
        .await;
    granted(
        &house,
        &format!("can-i join --all --as {} -o yaml", dev.user),
    )
    .await;
    until_says(&house, &dev, "can-i join --all", 0).await;
    house
        .stage_of(&dev)
        .with("set", &set)
        .plays(
            "\
$ berth create clusterset {set} --selector a=b
Clusterset {set} is created
",
        )
        .await;
}

#[tokio::test]
async fn an_executor_is_asked_about_and_granted_in_one_cluster() {
    let house = House::shared().await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    let stage = || {
        house
            .stage_of(&dev)
            .with("user", &dev.user)
            .with("cluster", &cluster)
    };
    stage()
        .plays(
            "\
$ berth can-i execute-as shop/deployer -n {cluster}
no
verb \"execute-as\" on manifestworks in API group work.open-cluster-management.io, name \"system:serviceaccount:shop:deployer\" in namespace \"{cluster}\": user \"{user}\" lacks it
To grant it, an admin runs: berth can-i execute-as shop/deployer -n {cluster} --as {user} -o yaml | kubectl apply -f -
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
...
? 1
$ berth can-i execute-as deployer
Error: service account \"deployer\": it is not of the form NAMESPACE/NAME
? 1
$ berth can-i bind prod -n team-a
Error: --namespace is for execute-as: clusters and sets have no namespace
? 1
",
        )
        .await;
    let user = &dev.user;
    let line = format!("can-i execute-as shop/deployer -n {cluster} --as {user} -o yaml");
    granted(&house, &line).await;
    let line = format!("can-i execute-as shop/deployer -n {cluster}");
    until_says(&house, &dev, &line, 0).await;
    // Nothing else was granted.
    for other in [
        "can-i execute-as shop/deployer".to_owned(),
        format!("can-i execute-as shop/other -n {cluster}"),
        format!("can-i execute-as --all -n {cluster}"),
    ] {
        until_says(&house, &dev, &other, 1).await;
    }
}

#[tokio::test]
async fn any_verb_that_the_gate_takes_will_do() {
    let house = House::shared().await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let rules = [rule(
        &["create"],
        REGISTER,
        &["managedclusters/accept"],
        &[&cluster],
    )];
    let dev = house.developer(&fresh("dev"), &rules).await;
    let output = house
        .berth_as(&dev, &format!("can-i accept {cluster}"))
        .await;
    assert_eq!(output.ok(), "yes\n");
    let path = format!("{CLUSTERS}/{cluster}");
    let patch = json!({"spec": {"hubAcceptsClient": true}});
    dev.merge(&path, &patch).await.unwrap().ok();
}

#[tokio::test]
async fn the_command_that_a_denial_names_is_the_one_to_type() {
    let house = House::shared().await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let patch = json!({"spec": {"hubAcceptsClient": true}});
    let answer = dev
        .merge(&format!("{CLUSTERS}/{cluster}"), &patch)
        .await
        .unwrap();
    assert_eq!(answer.code, 403, "{answer:?}");
    let message = answer.body["message"].as_str().unwrap();
    let (_, check) = message.split_once("; check: ").unwrap();
    let typed = words(check);
    assert_eq!(typed[0], "berth", "{check}");
    let args: Vec<&str> = typed[1..].iter().map(String::as_str).collect();
    let output = dev.berth(&args).await;
    assert!(
        output.code == 1 && output.stdout.starts_with("no\n"),
        "{output:?}"
    );
    assert_eq!(output.stderr, "");
    // As its admin types it, to see what the developer saw.
    let as_dev = [&args[..], &["--as", &dev.user]].concat();
    assert!(house.admin.berth(&as_dev).await.stdout.starts_with("no\n"));
    assert_eq!(house.admin.berth(&args).await.ok(), "yes\n");
}

#[tokio::test]
async fn groups_and_service_accounts_are_asked_about() {
    let house = House::shared().await;
    let set = fresh("set");
    house.berth(&format!("create clusterset {set}")).await.ok();
    let group = fresh("sres");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": group},
        "rules": [rule(&["create"], GROUP, &["managedclustersets/join"], &[&set])],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": group},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": group},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    });
    house.cluster.apply(&[role, binding]).await;
    let line = format!("can-i join {set} --as somebody --as-group a --as-group {group}");
    until_says(&house, &house.admin, &line, 0).await;
    house
        .stage()
        .with("set", &set)
        .with("group", &group)
        .plays(
            "\
$ berth can-i join {set} --as somebody --as-group {group}
yes
$ berth can-i join {set} --as somebody --as-group a
no
...
? 1
$ berth can-i bind {set} --as system:serviceaccount:ci:builder
no
...
For all sets, an admin may bind the ClusterRole open-cluster-management:berth:set-admin instead
To grant it, an admin runs: berth can-i bind {set} --as system:serviceaccount:ci:builder -o yaml | kubectl apply -f -
...
subjects:
- kind: ServiceAccount
  name: builder
  namespace: ci
? 1
$ berth --as somebody --as-group {group} can-i join {set}
yes
",
        )
        .await;
}

#[tokio::test]
async fn what_is_not_there_can_be_asked_about_and_that_is_said() {
    let house = House::shared().await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    house
        .stage()
        .with("cluster", &cluster)
        .with("nobody", &nobody.user)
        .plays(
            "\
$ berth can-i accept {cluster}x
yes
Note: managedclusters.cluster.open-cluster-management.io \"{cluster}x\" not found; did you mean \"{cluster}\"?
$ berth can-i bind globl
yes
Note: managedclustersets.cluster.open-cluster-management.io \"globl\" not found; did you mean \"global\"?
$ berth can-i execute-as shop/deployer -n {cluster}x
yes
Note: managedclusters.cluster.open-cluster-management.io \"{cluster}x\" not found; did you mean \"{cluster}\"?
$ berth can-i accept 'a b/c'
yes
Note: managedclusters.cluster.open-cluster-management.io \"a b/c\" not found
$ berth can-i accept 'it_s \"x\"' --as 'o/p' -o yaml
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: [..]berth:accept:it__s \"x\"[..]
...
Note: managedclusters.cluster.open-cluster-management.io \"it_s \\\"x\\\"\" not found
$ berth can-i eat {cluster}
error: invalid value 'eat' for '<WHAT>'
  [possible values: accept, join, bind, execute-as]
...
? 2
$ berth can-i accept
error: the following required arguments were not provided:
  <NAME>
...
? 2
",
        )
        .await;
    // Who may not even read, and may not speak for others.
    house
        .stage_of(&nobody)
        .with("nobody", &nobody.user)
        .plays(
            "\
$ berth can-i accept nothing
no
verb \"update\" (or \"create\") on managedclusters/accept in API group register.open-cluster-management.io, name \"nothing\": user \"{nobody}\" lacks it
...
? 1
$ berth can-i accept nothing --as admin
Error: [..] is forbidden: User \"{nobody}\" cannot impersonate[..] (Forbidden)
? 1
",
        )
        .await;
}

/// The line as somebody pastes it into a shell.
async fn pasted(person: &Person, line: &str) -> std::process::Output {
    let berth = berth_testkit::program();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [berth.parent().unwrap().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(line);
    shell
        .env("PATH", path)
        .env("KUBECONFIG", &person.kubeconfig);
    let output = tokio::task::spawn_blocking(move || shell.output());
    output.await.unwrap().unwrap()
}

/// The check that the gate's denial of an acceptance names.
async fn hint_about(cluster: &str) -> String {
    use berth_review::{FilesAnswerer, Gate, HubFiles, Webhook};
    use berth_rules::FeatureGates;
    let gate = Gate::new(
        std::sync::Arc::new(FilesAnswerer::new(HubFiles::default())),
        FeatureGates::default(),
    );
    let object = |accepted: bool| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": cluster},
            "spec": {"hubAcceptsClient": accepted},
        })
    };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "resource": {"group": GROUP, "version": "v1", "resource": "managedclusters"},
            "name": cluster,
            "operation": "UPDATE",
            "userInfo": {"username": "dev"},
            "object": object(true),
            "oldObject": object(false),
        },
    });
    let body = review.to_string().into_bytes();
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    let now = jiff::Timestamp::now();
    let verdict = gate.examine(Webhook::ValidateCluster, &body, now, deadline);
    let message = verdict.await.message();
    assert!(
        message.contains("cannot update the HubAcceptsClient field"),
        "{message}"
    );
    message.rsplit_once("; check: ").unwrap().1.to_owned()
}

#[tokio::test]
async fn commands_survive_a_shell_whatever_the_names() {
    let house = House::shared().await;
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    for name in ["-x", "--as", "--help", "-", "--", "-a b", "c'1", "$(id)"] {
        let hint = hint_about(name).await;
        for (person, code, begins) in [(&house.admin, 0, "yes\n"), (&nobody, 1, "no\n")] {
            let output = pasted(person, &hint).await;
            let stdout = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(code), "{hint}: {stdout}");
            assert!(stdout.starts_with(begins), "{hint}: {stdout}");
        }
        // What berth itself prints, for a user with such a name.
        let user = format!("{name}-user");
        let as_user = format!("--as={user}");
        let asked = ["can-i", "accept", &as_user, "--", name];
        let asked = house.admin.berth(&asked).await;
        let grants = asked.stdout.lines().find_map(|line| {
            let command = line.strip_prefix("To grant it, an admin runs: ")?;
            command.strip_suffix(" | kubectl apply -f -")
        });
        let grants = grants.unwrap_or_else(|| panic!("{asked:?}"));
        let printed = pasted(&house.admin, grants).await;
        let manifests = String::from_utf8(printed.stdout).unwrap();
        let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&manifests).unwrap();
        assert_eq!(
            documents[0]["rules"][0]["resourceNames"],
            json!([name]),
            "{grants}"
        );
        assert_eq!(documents[1]["subjects"][0]["name"], user, "{grants}");
    }
}
