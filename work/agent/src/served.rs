//! What an API server serves: the kinds of a version, and where a kind is served that a version does not have.

use berth_hub::{Call, group_path, version_path};
use berth_reconcile::{Handle, Refusal, Writer, now};
use berth_work_agent_core::{Kinds, Mapped, Unmapped};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::MANAGED;
use super::world::Agent;

/// Upper bound on the versions of a group that are asked for a kind.
const MOST_VERSIONS: usize = 4;

/// Kinds that are in another group than manifests of earlier releases say, or than users think:
/// <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>.
const MOVED: [(&str, &[&str], &str); 7] = [
    (
        "extensions",
        &["DaemonSet", "Deployment", "ReplicaSet"],
        "apps",
    ),
    (
        "extensions",
        &["Ingress", "NetworkPolicy"],
        "networking.k8s.io",
    ),
    (
        "",
        &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        "apps",
    ),
    ("", &["CronJob", "Job"], "batch"),
    ("", &["Ingress", "NetworkPolicy"], "networking.k8s.io"),
    ("", &["HorizontalPodAutoscaler"], "autoscaling"),
    ("", &["PodDisruptionBudget"], "policy"),
];

#[derive(Default, Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: Box<str>,
    kind: Box<str>,
    #[serde(default)]
    namespaced: bool,
}

/// The versions of a group, the preferred one first.
#[derive(Default, Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// The resource of a kind: what is known of it, or what the API server says now.
///
/// # Errors
/// It is not served, or the API server cannot be asked.
pub(super) async fn resource(
    on: &Handle<Agent>,
    (group, version, kind): (&str, &str, &str),
) -> Result<Mapped, Unmapped> {
    let now = || now().instant;
    let known = |on: &Handle<Agent>| on.world().view.mapping.known(group, version, kind, now());
    if let Some(known) = known(on) {
        return known;
    }
    let cluster = on.writer(MANAGED);
    let kinds = kinds(cluster, group, version)
        .await
        .map_err(|refusal| Unmapped::Unknown(refusal.message))?;
    let is_served = kinds.contains_key(kind);
    on.world().view.mapping.keep(group, version, kinds, now());
    if is_served {
        return known(on).unwrap_or(Err(Unmapped::NotServed(None)));
    }
    let elsewhere = elsewhere(cluster, (group, version), kind).await;
    let elsewhere = elsewhere.map(String::into_boxed_str);
    let mapping = &mut on.world().view.mapping;
    mapping.keep_elsewhere(group, version, kind, elsewhere.clone());
    Err(Unmapped::NotServed(elsewhere))
}

/// The kinds of a group and version. None, if the API server does not serve it.
async fn kinds(cluster: &Writer, group: &str, version: &str) -> Result<Kinds, Refusal> {
    let list: ResourceList = read(cluster, version_path(group, version)).await?;
    let resources = list.resources.into_iter();
    // A subresource is named after its resource, and may have its kind.
    let resources = resources.filter(|it| !it.name.contains('/'));
    Ok(resources
        .map(|it| (it.kind, (it.name, it.namespaced)))
        .collect())
}

/// The apiVersion in which a kind is served that its own apiVersion does not have.
async fn elsewhere(cluster: &Writer, (group, version): (&str, &str), kind: &str) -> Option<String> {
    for candidate in groups(group, kind) {
        let path = group_path(candidate);
        let found: Group = read(cluster, path).await.ok()?;
        let versions = found.versions.into_iter().map(|it| it.version);
        let others = versions.filter(|it| (candidate, &**it) != (group, version));
        for other in others.take(MOST_VERSIONS) {
            let kinds = kinds(cluster, candidate, &other).await.ok()?;
            if kinds.contains_key(kind) {
                return Some(format!("{candidate}/{other}"));
            }
        }
    }
    None
}

/// The groups that may serve a kind. The core group has one version only.
fn groups<'a>(group: &'a str, kind: &str) -> Vec<&'a str> {
    let own = (!group.is_empty()).then_some(group);
    let moved = MOVED
        .iter()
        .filter(|(from, kinds, _)| *from == group && kinds.contains(&kind));
    own.into_iter().chain(moved.map(|(.., to)| *to)).collect()
}

/// Reads a document of the discovery; an empty one for what is not served. Of a built-in group, the API server returns a Status.
async fn read<T: Default + DeserializeOwned>(cluster: &Writer, path: String) -> Result<T, Refusal> {
    match cluster.send(Call::get(path)).await {
        Ok(answer) => Ok(answer.json()?),
        Err(error) if error.kind_is_absent() => Ok(T::default()),
        Err(error)
            if error
                .refusal()
                .is_some_and(|it| it.is_status() && it.code == 404) =>
        {
            Ok(T::default())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_looked_for_in_its_group_and_where_it_moved() {
        for (group, kind, expected) in [
            ("policy", "PodDisruptionBudget", &["policy"][..]),
            (
                "extensions",
                "Ingress",
                &["extensions", "networking.k8s.io"],
            ),
            ("extensions", "PodSecurityPolicy", &["extensions"]),
            ("", "Deployment", &["apps"]),
            ("", "Sercice", &[]),
            ("example.com", "Deployment", &["example.com"]),
        ] {
            assert_eq!(groups(group, kind), expected, "{group} {kind}");
        }
    }
}
