//! The versions of the agents of a fleet, as their clusters report them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_agent_core::claims::AGENT_VERSION;
use berth_api::conditions::{TRUE, cluster::JOINED};
use serde::Serialize;
use serde_json::Value;

use super::numbers;

/// Limit on the versions that are told apart. A fleet has a few; a cluster may report any.
const MOST_VERSIONS: usize = 32;

/// Limit on the clusters that a warning names.
const MOST_NAMED: usize = 5;

/// Bytes of the longest version. A longer text is none.
const LONGEST_VERSION: usize = 64;

/// The agents of the clusters that have joined.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Agents {
    /// All of them.
    clusters: usize,
    /// Those of Berth, the latest version first.
    versions: Vec<OfVersion>,
    /// Those of further versions, of which there are too many.
    #[serde(skip_serializing_if = "is_zero")]
    other_versions: usize,
    /// Those that report no version: OCM's, and Berth's without the feature gate ClusterClaim or the CRD of ClusterClaims.
    without_version: usize,
}

/// The agents of one version.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct OfVersion {
    version: String,
    clusters: usize,
    /// The first clusters by name.
    #[serde(skip)]
    named: Vec<String>,
}

/// Counts ManagedClusters one by one: what is kept of them is bounded.
#[derive(Debug, Default)]
pub(super) struct Counting {
    by_version: BTreeMap<String, OfVersion>,
    others: usize,
    without: usize,
}

// === impl Counting ===

impl Counting {
    /// Counts a ManagedCluster, as the hub sent it. One that has not joined has no agent.
    pub(super) fn add(&mut self, cluster: &Value) {
        if !has_joined(cluster) {
            return;
        }
        let Some(version) = version_of(cluster) else {
            self.without += 1;
            return;
        };
        let is_known = self.by_version.contains_key(version);
        if !is_known && self.by_version.len() >= MOST_VERSIONS {
            self.others += 1;
            return;
        }
        let of = self.by_version.entry(version.to_owned()).or_default();
        of.clusters += 1;
        // Lists are sorted by name.
        if of.named.len() < MOST_NAMED
            && let Some(name) = cluster["metadata"]["name"].as_str()
        {
            of.named.push(name.to_owned());
        }
    }

    pub(super) fn done(self) -> Agents {
        let versions = self.by_version.into_iter();
        let mut versions: Vec<_> = versions
            .map(|(version, of)| OfVersion { version, ..of })
            .collect();
        versions.sort_by_cached_key(|of| (numbers(&of.version), of.version.clone()));
        versions.reverse();
        let known: usize = versions.iter().map(|of| of.clusters).sum();
        Agents {
            clusters: known + self.others + self.without,
            versions,
            other_versions: self.others,
            without_version: self.without,
        }
    }
}

/// Returns true if an agent has joined.
fn has_joined(cluster: &Value) -> bool {
    let conditions = cluster["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == JOINED && it["status"] == TRUE)
}

/// Returns the version that the agent reports. A text that cannot be one, such as of another program, is none.
fn version_of(cluster: &Value) -> Option<&str> {
    let claims = cluster["status"]["clusterClaims"].as_array()?;
    let claim = claims.iter().find(|it| it["name"] == AGENT_VERSION)?;
    let version = claim["value"].as_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let is_one = version.len() <= LONGEST_VERSION && version.chars().all(is_plain);
    (is_one && numbers(version).is_some()).then_some(version)
}

// === impl Agents ===

impl Agents {
    /// Prints them in one line.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.clusters == 0 {
            return writeln!(out, "agents: no cluster has joined");
        }
        let versions = self.versions.iter();
        let mut parts: Vec<_> = versions
            .map(|of| format!("{} of {}", of.clusters, of.version))
            .collect();
        if self.other_versions > 0 {
            parts.push(format!("{} of other versions", self.other_versions));
        }
        if self.without_version > 0 {
            let agents = match self.without_version {
                1 => "reports",
                _ => "report",
            };
            parts.push(format!("{} that {agents} no version", self.without_version));
        }
        writeln!(out, "agents: {}", parts.join(", "))
    }

    /// Returns a warning for each version that is more than one minor version away from that of the hub's `component`.
    pub(super) fn skews(&self, component: &str, version: &str) -> Vec<String> {
        let far = |of: &&OfVersion| super::is_far(&of.version, version);
        let far = self.versions.iter().filter(far);
        far.map(|of| of.warning(component, version)).collect()
    }
}

// === impl OfVersion ===

impl OfVersion {
    fn warning(&self, component: &str, version: &str) -> String {
        let agents = match self.clusters {
            1 => "1 agent is".to_owned(),
            many => format!("{many} agents are"),
        };
        let mut named = self.named.join(", ");
        if self.clusters > self.named.len() {
            named = format!("{named} and {} more", self.clusters - self.named.len());
        }
        format!(
            "{agents} {}, and the {component} is {version}: upgrade one of them, so that they are at most one minor version apart \
             (SECURITY.md): {named}",
            self.version
        )
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(name: &str, joined: &str, version: &Value) -> Value {
        json!({
            "metadata": {"name": name},
            "status": {
                "conditions": [{"type": "Other", "status": "True"}, {"type": "ManagedClusterJoined", "status": joined}],
                "clusterClaims": [{"name": "id.k8s.io", "value": "v9.9.9"}, {"name": AGENT_VERSION, "value": version}],
            },
        })
    }

    fn counted(clusters: impl IntoIterator<Item = Value>) -> Agents {
        let mut counting = Counting::default();
        clusters.into_iter().for_each(|it| counting.add(&it));
        counting.done()
    }

    fn line(agents: &Agents) -> String {
        let mut out = Vec::new();
        agents.print(&mut out).unwrap();
        String::from_utf8(out).unwrap().trim_end().to_owned()
    }

    #[test]
    fn an_agent_counts_by_what_its_cluster_reports() {
        let long = format!("v1.2.{}", "3".repeat(60));
        for (sentence, cluster, expected) in [
            (
                "a version",
                cluster("c", "True", &json!("v1.2.3")),
                "1 of v1.2.3",
            ),
            (
                "a later build",
                cluster("c", "True", &json!("v1.2.3-rc.1+x")),
                "1 of v1.2.3-rc.1+x",
            ),
            (
                "it has left",
                cluster("c", "False", &json!("v1.2.3")),
                "no cluster has joined",
            ),
            (
                "no version",
                cluster("c", "True", &json!("devel")),
                "1 that reports no version",
            ),
            (
                "no text",
                cluster("c", "True", &json!(7)),
                "1 that reports no version",
            ),
            (
                "too long",
                cluster("c", "True", &json!(long)),
                "1 that reports no version",
            ),
            (
                "two lines",
                cluster("c", "True", &json!("v1.2.3\nagents: none")),
                "1 that reports no version",
            ),
            (
                "nothing at all",
                json!({"metadata": {"name": "c"}}),
                "no cluster has joined",
            ),
            (
                "OCM's agent",
                json!({"status": {"conditions": [{"type": "ManagedClusterJoined", "status": "True"}]}}),
                "1 that reports no version",
            ),
        ] {
            assert_eq!(
                line(&counted([cluster])),
                format!("agents: {expected}"),
                "{sentence}"
            );
        }
    }

    #[test]
    fn the_latest_version_comes_first_and_too_many_are_one() {
        let of = |version: &str| cluster("c", "True", &json!(version));
        let versions = ["v0.9.0", "v0.10.0", "v0.9.0", "devel", "devel"];
        let agents = counted(versions.map(of));
        assert_eq!(
            line(&agents),
            "agents: 1 of v0.10.0, 2 of v0.9.0, 2 that report no version"
        );
        let json = json!({
            "clusters": 5, "withoutVersion": 2,
            "versions": [{"version": "v0.10.0", "clusters": 1}, {"version": "v0.9.0", "clusters": 2}],
        });
        assert_eq!(serde_json::to_value(&agents).unwrap(), json);
        let agents = counted((0..40).map(|minor| of(&format!("v0.{minor}.0"))));
        assert_eq!(
            (
                agents.versions.len(),
                agents.other_versions,
                agents.clusters
            ),
            (32, 8, 40)
        );
        assert!(
            line(&agents).ends_with(" of v0.0.0, 8 of other versions"),
            "{agents:?}"
        );
    }

    #[test]
    fn only_agents_more_than_one_minor_version_away_are_named() {
        let clusters = [
            ("a", "v0.3.0"),
            ("b", "v0.1.9"),
            ("c", "v0.2.0"),
            ("d", "v1.2.0"),
        ];
        let agents =
            counted(clusters.map(|(name, version)| cluster(name, "True", &json!(version))));
        let skews = |version| agents.skews("controller", version);
        let far = |what: &str, hub: &str, name: &str| {
            format!(
                "1 agent is {what}, and the controller is {hub}: upgrade one of them, so that they are at most one minor \
                 version apart (SECURITY.md): {name}"
            )
        };
        assert_eq!(skews("v0.2.0"), [far("v1.2.0", "v0.2.0", "d")]);
        assert_eq!(
            skews("v0.1.0"),
            [far("v1.2.0", "v0.1.0", "d"), far("v0.3.0", "v0.1.0", "a")]
        );
        assert_eq!(skews("latest"), [""; 0], "nothing is known of it");
        let many = (0..8).map(|number| cluster(&format!("c{number}"), "True", &json!("v3.0.0")));
        let warning = counted(many).skews("gate", "v1.0.0").remove(0);
        assert!(
            warning.starts_with("8 agents are v3.0.0, and the gate is v1.0.0: "),
            "{warning}"
        );
        assert!(
            warning.ends_with(": c0, c1, c2, c3, c4 and 3 more"),
            "{warning}"
        );
    }
}
