//! `berth create clusterset`, `berth delete clusterset`, `berth clusterset set|bind|unbind`.

use serde_json::{Value, json};

use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::{Cluster, fresh, rule};

const GROUP: &str = "cluster.open-cluster-management.io";
const LABEL: &str = "cluster.open-cluster-management.io/clusterset";

/// A house, with a set, two clusters in no set of a test's, and a namespace, all of their own.
struct Yard {
    house: House<&'static Cluster>,
    set: String,
    one: String,
    two: String,
    namespace: String,
}

impl Yard {
    async fn new() -> Self {
        let this = Self {
            house: House::shared().await,
            set: fresh("set"),
            one: fresh("one"),
            two: fresh("two"),
            namespace: fresh("team"),
        };
        this.house
            .managed_cluster(&this.one, &[("of", &this.set)])
            .await;
        this.house
            .managed_cluster(&this.two, &[("of", &this.set)])
            .await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": this.namespace}});
        let admin = &this.house.admin;
        admin
            .post("/api/v1/namespaces", &namespace)
            .await
            .unwrap()
            .ok();
        this.make(&this.set, json!({})).await;
        this
    }

    /// Makes a set.
    async fn make(&self, name: &str, selector: Value) {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": selector},
        });
        self.house.admin.post(SETS, &set).await.unwrap().ok();
    }

    async fn plays(&self, transcript: &str) {
        self.plays_as(&self.house.admin, transcript).await;
    }

    async fn plays_as(&self, person: &berth_testkit::cluster::Person, transcript: &str) {
        self.house
            .stage_of(person)
            .with("set", &self.set)
            .with("one", &self.one)
            .with("two", &self.two)
            .with("team", &self.namespace)
            .with("user", &person.user)
            .plays(transcript)
            .await;
    }

    async fn is(&self, path: &str) -> u16 {
        self.house.admin.get(path).await.unwrap().code
    }

    /// The set that a cluster's label names.
    async fn set_of(&self, cluster: &str) -> Value {
        let answer = self.house.admin.get(&format!("{CLUSTERS}/{cluster}")).await;
        answer.unwrap().ok()["metadata"]["labels"][LABEL].clone()
    }

    fn binding(&self) -> String {
        format!(
            "/apis/{GROUP}/v1beta2/namespaces/{}/managedclustersetbindings/{}",
            self.namespace, self.set
        )
    }
}

#[tokio::test]
async fn sets_are_made_and_those_that_are_there_are_left_alone() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth create clusterset {set}-a {set}-b {set}-a
Clusterset {set}-a is created
Clusterset {set}-b is created
$ berth create clusterset {set}-a
Clusterset {set}-a is already created
$ berth create clusterset {set}-c --selector 'env in (prod, test),!retired'
Clusterset {set}-c is created
$ berth create clusterset {set}-c --selector '!retired,env in (test,prod)'
Clusterset {set}-c is already created
$ berth create clusterset {set}-c
Clusterset {set}-c is already created
Note: Clusterset {set}-c selects the clusters with env in (prod,test),!retired
$ berth create clusterset {set}-c {set}-d -l env=prod
Clusterset {set}-d is created
Error: {set}-c: Clusterset {set}-c is already created, but it selects the clusters with env in (prod,test),!retired, and you asked for a set that selects the clusters with env=prod; to change it: kubectl edit managedclusterset {set}-c
? 1
$ berth create clusterset {set}-a --selector ''
Error: {set}-a: Clusterset {set}-a is already created, but it selects clusters by the label cluster.open-cluster-management.io/clusterset, and you asked for a set that selects all clusters; to change it: kubectl edit managedclusterset {set}-a
? 1
$ berth create clusterset global --selector=
Clusterset global is already created
$ berth create clusterset {set}-a {set}-e -o json
[
  {
    \"target\": \"{set}-a\",
    \"succeeded\": true,
    \"changed\": false,
    \"message\": \"Clusterset {set}-a is already created\"
  },
  {
    \"target\": \"{set}-e\",
    \"succeeded\": true,
    \"changed\": true,
    \"message\": \"Clusterset {set}-e is created\"
  }
]
$ kubectl get managedclusterset {set}-a {set}-c {set}-d -o jsonpath='{range .items[*]}{.spec.clusterSelector}{\"\\n\"}{end}'
{\"selectorType\":\"ExclusiveClusterSetLabel\"}
{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"env\",\"operator\":\"In\",\"values\":[\"prod\",\"test\"]},{\"key\":\"retired\",\"operator\":\"DoesNotExist\"}]},\"selectorType\":\"LabelSelector\"}
{\"labelSelector\":{\"matchLabels\":{\"env\":\"prod\"}},\"selectorType\":\"LabelSelector\"}
",
    )
    .await;
}

#[tokio::test]
async fn what_is_no_set_is_refused_by_whoever_knows() {
    let yard = Yard::new().await;
    let long = format!("{:-<63}0", fresh("long"));
    yard.house
        .stage()
        .with("long", &long)
        .with("set", &yard.set)
        .plays(
            "\
$ berth create clusterset {long} {set}-x
Clusterset {set}-x is created
Error: {long}: metadata.name: Invalid value: \"{long}\": must be no more than 63 characters, to fit the label by which clusters name their set
? 1
$ berth create clusterset {long} --dry-run=server
Error: {long}: metadata.name: Invalid value: \"{long}\": must be no more than 63 characters, to fit the label by which clusters name their set
? 1
$ berth create clusterset {set}_y
Error: {set}_y: [..]{set}_y[..]a lowercase RFC 1123 subdomain must consist of[..](Invalid)
? 1
$ berth create clusterset a/b ..
Error: a/b: [..]a lowercase RFC 1123 subdomain must consist of[..](Invalid)
Error: ..: [..]a lowercase RFC 1123 subdomain must consist of[..](Invalid)
? 1
$ berth create clusterset {set}-y --selector 'env like prod'
error: invalid value 'env like prod' for '--selector <SELECTOR>': unable to parse requirement: found 'like', expected: in, notin, =, ==, !=, gt, lt
...
? 2
$ berth create clusterset {set}-y --selector 'cpus>8'
error: invalid value 'cpus>8' for '--selector <SELECTOR>': cpus: a selector that is stored cannot compare numbers with < or >
...
? 2
$ berth create clusterset ''
error: invalid value '' for '<NAME>...': a name is empty
...
? 2
$ berth create clusterset
error: the following required arguments were not provided:
  <NAME>...
...
? 2
",
        )
        .await;
}

#[tokio::test]
async fn under_a_dry_run_nothing_is_written() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth create clusterset {set}-new --dry-run
Clusterset {set}-new is created (dry run)
$ berth create clusterset {set}-new --dry-run=server
Clusterset {set}-new is created (server dry run)
$ berth clusterset set {set} --clusters {one} --namespaces ns --dry-run=client
Cluster {one} is set to Clusterset {set} (dry run)
Managed namespace ns is added to Clusterset {set} (dry run)
$ berth clusterset set {set} --clusters {one} --namespaces ns --dry-run=server
Cluster {one} is set to Clusterset {set} (server dry run)
Managed namespace ns is added to Clusterset {set} (server dry run)
$ berth clusterset bind {set} --namespace {team} --dry-run
Clusterset {set} is bound to Namespace {team} (dry run)
$ berth clusterset bind {set} --namespace {team} --dry-run=server
Clusterset {set} is bound to Namespace {team} (server dry run)
$ berth delete clusterset {set} --dry-run
Clusterset {set} is deleted (dry run)
$ berth delete clusterset {set} --dry-run=server
Clusterset {set} is deleted (server dry run)
"
        .replace("is set to", "is set, from ClusterSet default to")
        .as_str(),
    )
    .await;
    assert_eq!(yard.is(&format!("{SETS}/{}-new", yard.set)).await, 404);
    assert_eq!(yard.is(&format!("{SETS}/{}", yard.set)).await, 200);
    assert_eq!(yard.is(&yard.binding()).await, 404);
    assert_eq!(yard.set_of(&yard.one).await, "default");
    yard.plays(
        "\
$ berth clusterset bind {set} --namespace {team}
Clusterset {set} is bound to Namespace {team}
$ berth clusterset unbind {set} --namespace {team} --dry-run
Clusterset {set} is unbound from Namespace {team} (dry run)
$ berth clusterset unbind {set} --namespace {team} --dry-run=server
Clusterset {set} is unbound from Namespace {team} (server dry run)
$ berth clusterset unbind {set}-x --namespace {team} --dry-run
Clusterset {set}-x was not bound to Namespace {team}; did you mean \"{set}\"?
",
    )
    .await;
    assert_eq!(yard.is(&yard.binding()).await, 200);
}

#[tokio::test]
async fn clusters_are_put_into_a_set_one_by_one_or_by_their_labels() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth clusterset set {set} --clusters '{one}, {one},nobody-{set},{two}'
Cluster {one} is set, from ClusterSet default to Clusterset {set}
Cluster {two} is set, from ClusterSet default to Clusterset {set}
Error: nobody-{set}: managedclusters.cluster.open-cluster-management.io \"nobody-{set}\" not found
? 1
$ berth clusterset set {set} --clusters {one}x
Error: {one}x: managedclusters.cluster.open-cluster-management.io \"{one}x\" not found; did you mean \"{one}\"?
? 1
$ berth clusterset set {set} --clusters {one}
Cluster {one} is already in Clusterset {set}
$ berth create clusterset {set}-b
Clusterset {set}-b is created
$ berth clusterset set {set}-b -l of={set}
Cluster {one} is set, from ClusterSet {set} to Clusterset {set}-b
Cluster {two} is set, from ClusterSet {set} to Clusterset {set}-b
$ berth clusterset set {set}-b --selector of={set},of!={set}
No clusters found.
$ kubectl label managedcluster {one} cluster.open-cluster-management.io/clusterset-
managedcluster.cluster.open-cluster-management.io/{one} unlabeled
$ berth clusterset set {set}-b --clusters {one} -o yaml
- target: {one}
  succeeded: true
  changed: true
  message: Cluster {one} is set, from ClusterSet default to Clusterset {set}-b
$ berth clusterset set {set}x --clusters {one}
Error: managedclustersets.cluster.open-cluster-management.io \"{set}x\" not found; did you mean \"{set}\"?
? 1
$ berth clusterset set global --clusters {one}
Error: global: clusters cannot be added to Clusterset global: it selects all clusters
? 1
$ berth clusterset set {set}
error: the following required arguments were not provided:
  <--clusters <NAME,...>|--selector <SELECTOR>|--namespaces <NAME,...>>
...
? 2
$ berth clusterset set {set} --clusters {one} -l of={set}
error: the argument '--clusters <NAME,...>' cannot be used with '--selector <SELECTOR>'
...
? 2
$ berth clusterset set {set} --clusters {one},
error: invalid value '' for '--clusters <NAME,...>': a name is empty
...
? 2
",
    )
    .await;
    let set = format!("{}-b", yard.set);
    assert_eq!(yard.set_of(&yard.one).await, set.as_str());
    assert_eq!(yard.set_of(&yard.two).await, set.as_str());
}

#[tokio::test]
async fn namespaces_are_added_to_those_a_set_has_managed() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth clusterset set {set} --namespaces b,a
Managed namespace b is added to Clusterset {set}
Managed namespace a is added to Clusterset {set}
$ berth clusterset set {set} --namespaces c,a --clusters {one}
Cluster {one} is set, from ClusterSet default to Clusterset {set}
Managed namespace c is added to Clusterset {set}
Managed namespace a already exists in Clusterset {set}
$ berth clusterset set {set} --namespaces No
Error: {set}: ManagedClusterSet.cluster.open-cluster-management.io \"{set}\" is invalid: spec.managedNamespaces[3].name: Invalid value: \"No\": [..] (Invalid)
? 1
$ kubectl get managedclusterset {set} -o jsonpath='{.spec.managedNamespaces[*].name}'
b a c
",
    )
    .await;
}

#[tokio::test]
async fn who_write_at_once_lose_nothing() {
    let yard = Yard::new().await;
    let add = async |namespace: &str| {
        let line = format!("clusterset set {} --namespaces {namespace}", yard.set);
        yard.house.berth(&line).await
    };
    let outputs = tokio::join!(add("a"), add("b"), add("c"), add("d"));
    let outputs = [outputs.0, outputs.1, outputs.2, outputs.3];
    assert!(outputs.iter().all(|output| output.code == 0), "{outputs:?}");
    let answer = yard
        .house
        .admin
        .get(&format!("{SETS}/{}", yard.set))
        .await
        .unwrap();
    let managed = answer.ok()["spec"]["managedNamespaces"].as_array().unwrap();
    let mut names: Vec<_> = managed
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn who_may_not_is_told_so_by_the_gate_and_what_may_be_done_is_done() {
    let yard = Yard::new().await;
    let may_join = |set: &str| rule(&["create"], GROUP, &["managedclustersets/join"], &[set]);
    let rules = [may_join(&yard.set), may_join("default")];
    let dev = yard.house.developer(&fresh("dev"), &rules).await;
    yard.make(&format!("{}-b", yard.set), json!({})).await;
    yard.plays_as(
        &dev,
        "\
$ berth clusterset set {set} --clusters {one}
Cluster {one} is set, from ClusterSet default to Clusterset {set}
$ berth clusterset set {set}-b --clusters {one},{two} --dry-run=server
Error: {one}: managedclustersets/join.cluster.open-cluster-management.io \"{set}-b\" is forbidden: user \"{user}\" cannot add/remove a ManagedCluster to/from ManagedClusterSet \"{set}-b\": needs verb \"create\" on managedclustersets/join, name \"{set}-b\"; check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set}-b --subresource=join -A
Error: {two}: managedclustersets/join.cluster.open-cluster-management.io \"{set}-b\" is forbidden: user \"{user}\" cannot add/remove a ManagedCluster to/from ManagedClusterSet \"{set}-b\": needs verb \"create\" on managedclustersets/join, name \"{set}-b\"; check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set}-b --subresource=join -A
? 1
$ berth clusterset bind {set} --namespace {team}
Error: {set}: managedclustersets/bind.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{user}\" is not allowed to bind cluster set \"{set}\": needs verb \"create\" on managedclustersets/bind, name \"{set}\"; check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set} --subresource=bind -A
? 1
$ berth clusterset bind {set} --namespace {team} --dry-run=server
Error: {set}: managedclustersets/bind.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{user}\" is not allowed to bind cluster set \"{set}\": needs verb \"create\" on managedclustersets/bind, name \"{set}\"; check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set} --subresource=bind -A
? 1
",
    )
    .await;
    assert_eq!(yard.set_of(&yard.one).await, yard.set.as_str());
    assert_eq!(yard.set_of(&yard.two).await, "default");
    yard.house
        .cluster
        .grant(
            &dev,
            &[rule(
                &["create"],
                GROUP,
                &["managedclustersets/bind"],
                &[&yard.set],
            )],
        )
        .await;
    yard.plays_as(
        &dev,
        "\
$ berth clusterset bind {set} {set}-b --namespace {team}
Clusterset {set} is bound to Namespace {team}
Error: {set}-b: managedclustersets/bind.cluster.open-cluster-management.io \"{set}-b\" is forbidden: [..]
? 1
$ berth clusterset bind {set} --namespace {team}-x
Error: {set}: namespaces \"{team}-x\" not found
? 1
$ berth clusterset unbind {set} {set}-b --namespace {team}
Clusterset {set} is unbound from Namespace {team}
Clusterset {set}-b was not bound to Namespace {team}
",
    )
    .await;
}

#[tokio::test]
async fn rights_that_are_missing_at_the_hub_are_named() {
    let yard = Yard::new().await;
    let nobody = yard.house.cluster.user(&fresh("nobody"), &[]).await;
    yard.plays_as(
        &nobody,
        "\
$ berth create clusterset {set}-x
Error: {set}-x: managedclustersets.cluster.open-cluster-management.io is forbidden: User \"{user}\" cannot create resource \"managedclustersets\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
$ berth delete clusterset {set}
Error: {set}: managedclustersets.cluster.open-cluster-management.io \"{set}\" is forbidden: User \"{user}\" cannot get resource \"managedclustersets\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
$ berth clusterset set {set} --clusters {one}
Error: managedclustersets.cluster.open-cluster-management.io \"{set}\" is forbidden: User \"{user}\" cannot get resource \"managedclustersets\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
",
    )
    .await;
    // Enough to delete a set, not enough to tell whether it is in use.
    let rules = [rule(
        &["get", "delete"],
        GROUP,
        &["managedclustersets"],
        &[],
    )];
    yard.house.cluster.grant(&nobody, &rules).await;
    yard.plays_as(
        &nobody,
        "\
$ berth delete clusterset {set}
Error: {set}: Clusterset {set} is in use: its bindings cannot be listed: managedclustersetbindings.cluster.open-cluster-management.io is forbidden: User \"{user}\" cannot list resource \"managedclustersetbindings\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden); its clusters cannot be listed: managedclusters.cluster.open-cluster-management.io is forbidden: User \"{user}\" cannot list resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden); --force deletes it anyway
? 1
",
    )
    .await;
}

#[tokio::test]
async fn sets_are_bound_and_unbound() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth clusterset bind {set} --namespace {team}
Clusterset {set} is bound to Namespace {team}
$ berth clusterset bind {set} --namespace {team}
Clusterset {set} is already bound to Namespace {team}
$ berth clusterset bind {set} --namespace {team} --dry-run
Clusterset {set} is already bound to Namespace {team}
$ berth clusterset bind {set}x {set} --namespace {team}
Clusterset {set} is already bound to Namespace {team}
Error: {set}x: managedclustersets.cluster.open-cluster-management.io \"{set}x\" not found; did you mean \"{set}\"?
? 1
$ berth clusterset bind {set} --namespace {team}x
Error: namespaces \"{team}x\" not found; did you mean \"{team}\"?
? 1
$ berth clusterset unbind {set} --namespace {team}x
Clusterset {set} was not bound to Namespace {team}x; it is bound to Namespace {team}
$ berth delete clusterset {set} --force
Clusterset {set} is deleted; bindings of it are left in Namespace {team}
$ berth clusterset unbind {set} {set}-never --namespace {team}
Clusterset {set} is unbound from Namespace {team}
Clusterset {set}-never was not bound to Namespace {team}
$ berth clusterset unbind {set} --namespace {team} -o json
[
  {
    \"target\": \"{set}\",
    \"succeeded\": true,
    \"changed\": false,
    \"message\": \"Clusterset {set} was not bound to Namespace {team}\"
  }
]
$ berth clusterset bind {set} --namespace ''
error: invalid value '' for '--namespace <NAME>': a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
...
? 2
",
    )
    .await;
    assert_eq!(yard.is(&yard.binding()).await, 404);
}

#[tokio::test]
async fn no_set_is_bound_in_the_namespace_of_an_accepted_cluster() {
    let yard = Yard::new().await;
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let path = format!("{CLUSTERS}/{}", yard.one);
    yard.house.admin.merge(&path, &accepted).await.unwrap().ok();
    let namespace = format!("/api/v1/namespaces/{}", yard.one);
    yard.house.once(&namespace, "there", |_| true).await;
    yard.plays(
        "\
$ berth clusterset bind {set} --namespace {one}
Error: {set}: managedclustersetbindings.cluster.open-cluster-management.io \"{set}\" is forbidden: namespace \"{one}\" belongs to the accepted ManagedCluster \"{one}\", whose agent works in it: bind the set in another namespace; check: kubectl get managedcluster {one}
? 1
",
    )
    .await;
}

#[tokio::test]
async fn a_set_in_use_is_not_deleted_unless_it_is_asked_for() {
    let yard = Yard::new().await;
    yard.plays(
        "\
$ berth clusterset set {set} --clusters {one},{two}
Cluster {one} is set, from ClusterSet default to Clusterset {set}
Cluster {two} is set, from ClusterSet default to Clusterset {set}
$ berth clusterset bind {set} --namespace {team}
Clusterset {set} is bound to Namespace {team}
$ berth create clusterset {set}-empty
Clusterset {set}-empty is created
$ berth delete clusterset {set} {set}-empty {set}-none
Clusterset {set}-none not found or is already deleted
Clusterset {set}-empty is deleted
Error: {set}: Clusterset {set} is in use: it is bound to Namespace {team} (berth clusterset unbind {set} --namespace {team}); it has 2 Clusters {one}, {two} (berth clusterset set OTHER -l cluster.open-cluster-management.io/clusterset={set}); --force deletes it anyway
Note: Clusterset {set}-none does not exist: did you mean \"[..]\"?
? 1
$ berth clusterset unbind {set} --namespace {team}
Clusterset {set} is unbound from Namespace {team}
$ berth clusterset set default --clusters {two}
Cluster {two} is set, from ClusterSet {set} to Clusterset default
$ berth delete clusterset {set}
Error: {set}: Clusterset {set} is in use: it has Cluster {one} (berth clusterset set OTHER -l cluster.open-cluster-management.io/clusterset={set}); --force deletes it anyway
? 1
$ berth delete clusterset {set} --force
Clusterset {set} is deleted; the label cluster.open-cluster-management.io/clusterset is left on Cluster {one}
$ berth delete clusterset {set}
Clusterset {set} not found or is already deleted
...
$ berth delete clusterset default global
Error: default: Clusterset default can not be deleted: the hub creates it again (while its feature gate DefaultClusterSet is on); --force deletes it anyway
Error: global: Clusterset global can not be deleted: the hub creates it again (while its feature gate DefaultClusterSet is on); --force deletes it anyway
? 1
$ berth create clusterset {set}-of --selector of={set}
Clusterset {set}-of is created
$ berth delete clusterset {set}-of
Error: {set}-of: Clusterset {set}-of is in use: it selects 2 Clusters {one}, {two} by labels; --force deletes it anyway
? 1
$ berth delete clusterset {set}-of --force
Clusterset {set}-of is deleted
",
    )
    .await;
    for name in [&yard.set, &format!("{}-of", yard.set)] {
        assert_eq!(yard.is(&format!("{SETS}/{name}")).await, 404);
    }
}

#[tokio::test]
async fn many_members_are_counted() {
    let yard = Yard::new().await;
    for _ in 0..11 {
        let labels = [(LABEL, yard.set.as_str())];
        yard.house.managed_cluster(&fresh("many"), &labels).await;
    }
    yard.plays(
        "\
$ berth delete clusterset {set}
Error: {set}: Clusterset {set} is in use: it has 11 Clusters many-[..], many-[..], ... and 1 more (berth clusterset set OTHER [..]
? 1
",
    )
    .await;
}

#[tokio::test]
async fn a_set_that_something_holds_is_waited_for_but_not_for_ever() {
    let yard = Yard::new().await;
    let path = format!("{SETS}/{}", yard.set);
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    yard.house.admin.merge(&path, &held).await.unwrap().ok();
    yard.plays(
        "\
$ berth delete clusterset {set} --wait=false
Clusterset {set} is being deleted
$ berth delete clusterset {set} --timeout 300ms
Error: {set}: Clusterset {set} is being deleted, and still exists after 300ms, held by finalizer example.com/hold
? 1
$ berth clusterset set {set} --clusters {one}
Error: Clusterset {set} is being deleted
? 1
$ berth clusterset bind {set} --namespace {team}
Error: {set}: Clusterset {set} is being deleted
? 1
$ berth create clusterset {set}
Error: {set}: Clusterset {set} is being deleted: create it after the deletion
? 1
",
    )
    .await;
    let free = async {
        let released = json!({"metadata": {"finalizers": null}});
        yard.house.admin.merge(&path, &released).await.unwrap().ok();
    };
    let line = format!("delete clusterset {} --timeout 30s", yard.set);
    let (output, ()) = tokio::join!(yard.house.berth(&line), free);
    let gone = format!("Clusterset {} is deleted\n", yard.set);
    let before = format!("Clusterset {} not found or is already deleted\n", yard.set);
    assert!(
        [gone, before].contains(&output.ok().to_owned()),
        "{output:?}"
    );
    assert_eq!(yard.is(&path).await, 404);
}
