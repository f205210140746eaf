//! Mutants: policies with one mistake. Each must be found by the tables or by a few hundred random writes, or the comparison proves
//! nothing.

use futures::StreamExt;
use serde_json::Value;

use crate::compare::{Comparison, compare};
use crate::engine::{Engine, turn_into_mutant};
use crate::hub::{Hub, printed};
use crate::in_force::wait_until_policies_are_in_force;
use crate::{random, tables};

/// The number of random writes for each mutant, of all kinds.
const WRITES: usize = 300;

/// The number of writes that are in flight.
const IN_FLIGHT: usize = 8;

/// A mistake in a policy.
struct Mutant {
    what: &'static str,
    /// The start of the policy's name.
    policy: &'static str,
    find: &'static str,
    replace: &'static str,
    /// Only long lists show it.
    needs_long_lists: bool,
}

const fn mutant_of_long_lists(
    what: &'static str,
    policy: &'static str,
    find: &'static str,
    replace: &'static str,
) -> Mutant {
    let mutant = mutant(what, policy, find, replace);
    Mutant {
        needs_long_lists: true,
        ..mutant
    }
}

const fn mutant(
    what: &'static str,
    policy: &'static str,
    find: &'static str,
    replace: &'static str,
) -> Mutant {
    Mutant {
        what,
        policy,
        find,
        replace,
        needs_long_lists: false,
    }
}

/// ManagedClusters: the policy that refuses.
const CLUSTERS: &str = "managedclusters.";
/// ManagedClusters: the policy that warns.
const WARNINGS: &str = "warnings.managedclusters.";
/// ManagedClusters: the policy that writes times.
const TIMES: &str = "taint-times.";
const DEFAULT_SET: &str = "default-set.";
const SETS: &str = "managedclustersets.";
const BINDINGS: &str = "managedclustersetbindings.";
const NAMESPACES: &str = "namespaces.";
const REQUESTS: &str = "certificatesigningrequests.";

const MUTANTS: [Mutant; 34] = [
    mutant(
        "a lease may be one second longer",
        CLUSTERS,
        "s > 86400",
        "s > 86401",
    ),
    mutant_of_long_lists(
        "lists may be one item longer",
        CLUSTERS,
        "variables.taints.size() > 1000 && variables.taints != variables.oldTaints",
        "variables.taints.size() > 1001 && variables.taints != variables.oldTaints",
    ),
    mutant_of_long_lists(
        "a stored list that is too long is refused",
        CLUSTERS,
        "variables.taints.size() > 1000 && variables.taints != variables.oldTaints",
        "variables.taints.size() > 1000",
    ),
    mutant_of_long_lists(
        "taking the acceptance back is no exemption",
        CLUSTERS,
        "!variables.checked || variables.wasAccepted && !variables.isAccepted ? []",
        "!variables.checked ? []",
    ),
    mutant(
        "a denial is not guarded",
        CLUSTERS,
        "variables.isAccepted != variables.wasAccepted",
        "variables.isAccepted && !variables.wasAccepted",
    ),
    mutant(
        "a denial that takes effect at once is not guarded",
        CLUSTERS,
        "(variables.changesAcceptance || variables.deniedNow) &&",
        "variables.changesAcceptance &&",
    ),
    mutant(
        "the old set is free",
        CLUSTERS,
        "variables.oldSet != variables.newSet && variables.oldSet != '' &&",
        "variables.oldSet != variables.newSet && false &&",
    ),
    mutant(
        "the new set is free for members",
        CLUSTERS,
        "variables.oldSet != variables.newSet && variables.newSet != '' &&",
        "variables.oldSet == '' && variables.newSet != '' &&",
    ),
    mutant(
        "acceptance is asked for another cluster",
        CLUSTERS,
        "subresource('accept').name(variables.name)",
        "subresource('accept').name('other')",
    ),
    mutant(
        "two missing permissions are named as one",
        CLUSTERS,
        "!(variables.lacksAccept && variables.lacksNewSet)",
        "true",
    ),
    mutant(
        "stored URLs are refused",
        CLUSTERS,
        "([string(c.url)].exists(key, urls.exists(chunk, key in chunk)) || ",
        "(",
    ),
    mutant(
        "a URL needs no host",
        CLUSTERS,
        " && url(parts[0]).getHostname() != ''",
        "",
    ),
    mutant(
        "escapes of a fragment are not read",
        CLUSTERS,
        "(parts.size() == 1 || !",
        "(true || !",
    ),
    mutant(
        "objects that are being deleted are checked",
        CLUSTERS,
        "oldObject == null || !has(oldObject.metadata.deletionTimestamp)",
        "true",
    ),
    mutant(
        "stored duplicates are refused",
        CLUSTERS,
        "> [k].map(key, before.map(chunk, chunk[?key].orValue(0)).sum())[0]",
        "> 0",
    ),
    mutant(
        "two of a kind are good",
        CLUSTERS,
        "counts.map(chunk, chunk[?key].orValue(0)).sum())[0] > 1 &&",
        "counts.map(chunk, chunk[?key].orValue(0)).sum())[0] > 2 &&",
    ),
    mutant(
        "a time near now is refused",
        CLUSTERS,
        "timestamp(t.timeAdded) <= variables.now + duration('5s')",
        "timestamp(t.timeAdded) <= variables.now",
    ),
    mutant(
        "times of long ago are good",
        CLUSTERS,
        "timestamp(t.timeAdded) >= variables.now - duration('5s')",
        "true",
    ),
    mutant(
        "the names of stored clusters are reserved",
        CLUSTERS,
        "oldObject == null || variables.isAccepted && !variables.wasAccepted",
        "true",
    ),
    mutant(
        "a name is not reserved at the acceptance",
        CLUSTERS,
        "oldObject == null || variables.isAccepted && !variables.wasAccepted",
        "oldObject == null",
    ),
    mutant(
        "an echoed time is refused",
        TIMES,
        "!isOurs && [t.key +",
        "!isOurs && [t.id +",
    ),
    mutant(
        "a re-applied taint gets a new time",
        TIMES,
        "(t.time == '' ? variables.stored.filter(chunk, t.id in chunk)[0][t.id] : '')",
        "(t.time == '' ? variables.clock : '')",
    ),
    mutant(
        "any time of a new object is believed",
        TIMES,
        "(isOurs ? '' : variables.clock)",
        "(readable ? '' : variables.clock)",
    ),
    mutant(
        "the default set only by permission",
        DEFAULT_SET,
        "oldObject != null && oldObject.metadata.?labels",
        "false && oldObject.metadata.?labels",
    ),
    mutant(
        "the default set for everyone",
        DEFAULT_SET,
        ".check('create').allowed()",
        ".check('create').allowed() || true",
    ),
    mutant(
        "each write without a set is warned",
        WARNINGS,
        "variables.oldSet == '' && !(variables.isAccepted && !variables.wasAccepted)",
        "false",
    ),
    mutant(
        "a kept retired label is warned",
        WARNINGS,
        "oldObject != null &&\noldObject.metadata.?labels[?'open-cluster-management.io/clusterset'] ==",
        "oldObject != null && false && oldObject.metadata.?labels[?'open-cluster-management.io/clusterset'] ==",
    ),
    mutant(
        "a set with one more value is not wider",
        SETS,
        "variables.oldOnly && !(p in allowed)",
        "variables.oldOnly && false",
    ),
    mutant(
        "a left-out value may come back",
        SETS,
        "!(p in variables.newBut))",
        "false)",
    ),
    mutant(
        "the set of all clusters needs a permission",
        SETS,
        "!(variables.name == 'global' &&",
        "!(variables.name == 'globe' &&",
    ),
    mutant(
        "a binding may have any name",
        BINDINGS,
        "object.metadata.name == variables.set",
        "true",
    ),
    mutant(
        "accepted clusters' namespaces take bindings",
        NAMESPACES,
        "params.metadata.labels['open-cluster-management.io/cluster-name'] != request.namespace",
        "true",
    ),
    mutant(
        "an agent files for any cluster",
        REQUESTS,
        "variables.own != '' && variables.own == variables.cluster",
        "variables.own != ''",
    ),
    mutant(
        "everybody files for an add-on",
        REQUESTS,
        "!variables.addon ||",
        "!variables.addon || variables.own == '' ||",
    ),
];

/// The documents of a mutant: the policy and its binding. Panics if the text is not there.
fn documents(all: &[Value], number: usize, mutant: &Mutant) -> (String, [Value; 2]) {
    let named = |document: &&Value| {
        let name = document["metadata"]["name"].as_str().unwrap();
        name.starts_with(mutant.policy)
    };
    let [policy, binding] = all.iter().filter(named).collect::<Vec<_>>()[..] else {
        panic!("no policy {}", mutant.policy)
    };
    let mut policy = policy.clone();
    let replaced = replace(&mut policy["spec"], mutant.find, mutant.replace);
    assert!(
        replaced > 0,
        "{}: no {:?} in {policy:#}",
        mutant.what,
        mutant.find
    );
    let name = policy["metadata"]["name"].as_str().unwrap().to_owned();
    let mut binding = binding.clone();
    turn_into_mutant(&mut policy, &mut binding, &format!("mutant-{number}"));
    (name, [policy, binding])
}

/// Replaces a text in all texts, and returns in how many it was.
fn replace(value: &mut Value, find: &str, by: &str) -> usize {
    match value {
        Value::String(text) if text.contains(find) => {
            *text = text.replace(find, by);
            1
        }
        Value::Array(items) => items.iter_mut().map(|item| replace(item, find, by)).sum(),
        Value::Object(fields) => fields
            .values_mut()
            .map(|field| replace(field, find, by))
            .sum(),
        _ => 0,
    }
}

/// Returns true if a policy with this start of its name sees objects of this kind.
fn sees(policy: &str, kind: &str) -> bool {
    match kind {
        "ManagedCluster" => [CLUSTERS, WARNINGS, TIMES, DEFAULT_SET].contains(&policy),
        "ManagedClusterSet" => policy == SETS,
        "ManagedClusterSetBinding" => [BINDINGS, NAMESPACES].contains(&policy),
        "CertificateSigningRequest" => policy == REQUESTS,
        _ => false,
    }
}

/// Returns true for objects that nothing fills in, and that have a time near now.
fn is_deleted_with_a_time_near_now(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
        && object["spec"].to_string().contains("@now")
}

/// Returns true for objects that take long to check.
fn is_long(object: &Value) -> bool {
    object.to_string().len() > 20_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mutant_is_found() {
    let Some(hub) = Hub::shared().await else {
        return;
    };
    let all = printed(&berth_policies::Options::default());
    let mut engines = Vec::new();
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let (policy, documents) = documents(&all, number, mutant);
        for document in &documents {
            let path = berth_testkit::cluster::path_of(document);
            hub.admin
                .apply_as("proof", &path, document)
                .await
                .unwrap()
                .ok();
        }
        let name = format!("mutant-{number}");
        engines.push(Engine::Mutant {
            policy,
            mutant: name,
        });
    }
    wait_until_policies_are_in_force(&hub.admin).await;

    let mut writes = tables::prepared(&hub).await;
    writes.extend(random::prepared(&hub, WRITES, 1).await);
    // The gate sees a write long before the mutants do, so times that stay as they are differ.
    writes.retain(|one| !is_deleted_with_a_time_near_now(&one.write.object));
    let hub = &hub;
    let good: Vec<_> = futures::stream::iter(&writes)
        .map(|one| async move {
            let gate = hub.outcome(&one.write, &Engine::Gate).await;
            (&one.write, gate)
        })
        .buffer_unordered(IN_FLIGHT)
        .collect()
        .await;
    let mut survivors = Vec::new();
    for (mutant, engine) in MUTANTS.iter().zip(&engines) {
        let kind = |write: &Value| write["kind"].as_str().unwrap().to_owned();
        let concerned = good.iter().filter(|(write, _)| {
            sees(mutant.policy, &kind(&write.object))
                && is_long(&write.object) == mutant.needs_long_lists
        });
        let found: Vec<_> = futures::stream::iter(concerned)
            .map(|(write, gate)| async move {
                let outcome = hub.outcome(write, engine).await;
                matches!(compare(write, gate, &outcome), Comparison::Different(_))
            })
            .buffer_unordered(IN_FLIGHT)
            .collect()
            .await;
        let differences = found.iter().filter(|is_different| **is_different).count();
        println!("{differences:4} of {:4}: {}", found.len(), mutant.what);
        if differences == 0 {
            survivors.push(mutant.what);
        }
    }
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let (_, documents) = documents(&all, number, mutant);
        for document in &documents {
            let path = berth_testkit::cluster::path_of(document);
            hub.admin.delete(&path).await.unwrap().ok();
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:#?}");
}
