//! What the policies are made for.

use std::fmt;
use std::str::FromStr;

use berth_rules::Settings;

/// The namespace that OCM installs its hub in.
pub const HUB_NAMESPACE: &str = "open-cluster-management-hub";

/// Settings of the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The settings of the rules: feature gates and reserved names.
    pub settings: Settings,
    /// The oldest API server of the hub.
    pub kubernetes: Kubernetes,
    /// Policies alone, or with a webhook for the rest.
    pub mode: Mode,
    /// Refuse, or only record.
    pub action: Action,
}

/// A version of Kubernetes that has what the expressions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kubernetes {
    /// ValidatingAdmissionPolicies only.
    V1_35,
    /// MutatingAdmissionPolicies, too.
    #[default]
    V1_36,
}

/// The second way to run the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Policies alone.
    #[default]
    Policies,
    /// Policies, and a webhook for what CEL cannot say.
    WithWebhook,
}

/// What the API server does with a write that a policy refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Refuses it.
    #[default]
    Deny,
    /// Admits it, and writes the refusal to the audit log.
    Audit,
}

/// The version is older than all that are supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no policies for Kubernetes {0}: the expressions need functions (sort, flatten) that API servers have from 1.35; \
     use the webhooks on this hub"
)]
pub struct TooOld(String);

/// Not the name of a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a version of Kubernetes; write it as 1.36 or v1.36.2")]
struct NotAVersion;

// === impl Options ===

/// The defaults of `berth policies`.
impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings {
                hub_namespace: HUB_NAMESPACE.to_owned(),
                ..Settings::default()
            },
            kubernetes: Kubernetes::default(),
            mode: Mode::default(),
            action: Action::default(),
        }
    }
}

impl Options {
    /// Returns the flags of `berth policies` that print the policies of these options. Most defaults are left out.
    pub fn flags(&self) -> String {
        let Settings {
            gates,
            hub_namespace,
            reserved_prefixes,
            // No policy guards ManifestWorks.
            manifest_limit: _,
        } = &self.settings;
        let mut flags = format!(
            "--kubernetes={} --mode={}",
            self.kubernetes,
            self.mode.as_str()
        );
        let mut add = |flag: &str, value: &str| flags.push_str(&format!(" --{flag}={value}"));
        if self.action != Action::default() {
            add("action", self.action.as_str());
        }
        let defaults = Settings::default();
        for (gate, on, default) in [
            (
                "DefaultClusterSet",
                gates.default_cluster_set,
                defaults.gates.default_cluster_set,
            ),
            (
                "GuardedSelectors",
                gates.guarded_selectors,
                defaults.gates.guarded_selectors,
            ),
            (
                "UnguardedDenial",
                gates.unguarded_denial,
                defaults.gates.unguarded_denial,
            ),
        ] {
            if on != default {
                add("feature-gates", &format!("{gate}={on}"));
            }
        }
        if hub_namespace != HUB_NAMESPACE {
            add("hub-namespace", hub_namespace);
        }
        if *reserved_prefixes != defaults.reserved_prefixes {
            let prefixes: Vec<_> = reserved_prefixes.iter().collect();
            add("reserved-prefixes", &prefixes.join(","));
        }
        flags
    }

    /// Returns true if MutatingAdmissionPolicies are among the policies. They have an effect on every write, so there are none
    /// in a trial run.
    pub(crate) fn mutates(&self) -> bool {
        self.kubernetes >= Kubernetes::V1_36 && self.action == Action::Deny
    }
}

// === impl Kubernetes ===

impl Kubernetes {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::V1_35, Self::V1_36];

    /// Returns the newest version that is no newer than this one.
    ///
    /// # Errors
    /// The version is older than all that are supported.
    pub fn of(major: u32, minor: u32) -> Result<Self, TooOld> {
        match (major, minor) {
            (1, ..35) | (0, _) => Err(TooOld(format!("{major}.{minor}"))),
            (1, 35) => Ok(Self::V1_35),
            _ => Ok(Self::V1_36),
        }
    }

    /// Returns `1.36`, for example.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
        }
    }
}

impl fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads `1.36`, `v1.36` and `v1.36.2`.
impl FromStr for Kubernetes {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(Self::of(major, minor)?),
            _ => Err(NotAVersion.into()),
        }
    }
}

// === impl Mode ===

impl Mode {
    /// Returns the value of `--mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policies => "policies",
            Self::WithWebhook => "with-webhook",
        }
    }
}

// === impl Action ===

impl Action {
    /// Returns the value of `--action`, and of `validationActions`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Audit => "Audit",
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_api::reserved::ReservedPrefixes;
    use berth_rules::FeatureGates;

    use super::*;

    #[test]
    fn flags_name_what_differs_from_the_defaults() {
        assert_eq!(
            Options::default().flags(),
            "--kubernetes=1.36 --mode=policies"
        );
        let other = Options {
            settings: Settings {
                gates: FeatureGates {
                    default_cluster_set: false,
                    unguarded_denial: true,
                    guarded_selectors: false,
                    ..FeatureGates::default()
                },
                hub_namespace: "hub".to_owned(),
                reserved_prefixes: ReservedPrefixes::new(["kube-"]),
                ..Settings::default()
            },
            kubernetes: Kubernetes::V1_35,
            mode: Mode::WithWebhook,
            action: Action::Audit,
        };
        assert_eq!(
            other.flags(),
            "--kubernetes=1.35 --mode=with-webhook --action=Audit --feature-gates=DefaultClusterSet=false \
             --feature-gates=GuardedSelectors=false --feature-gates=UnguardedDenial=true --hub-namespace=hub \
             --reserved-prefixes=kube-"
        );
    }

    #[test]
    fn versions_are_read_as_users_and_servers_write_them() {
        for (text, expected) in [
            ("1.36", Ok(Kubernetes::V1_36)),
            ("v1.36.2", Ok(Kubernetes::V1_36)),
            ("v1.36.2+k3s1", Ok(Kubernetes::V1_36)),
            ("1.35", Ok(Kubernetes::V1_35)),
            ("1.40", Ok(Kubernetes::V1_36)),
            ("2.0", Ok(Kubernetes::V1_36)),
            (
                "1.34",
                Err(
                    "no policies for Kubernetes 1.34: the expressions need functions (sort, flatten) that API servers have from 1.35; use the webhooks on this hub",
                ),
            ),
            (
                "1",
                Err("not a version of Kubernetes; write it as 1.36 or v1.36.2"),
            ),
            (
                "",
                Err("not a version of Kubernetes; write it as 1.36 or v1.36.2"),
            ),
            (
                "newest",
                Err("not a version of Kubernetes; write it as 1.36 or v1.36.2"),
            ),
        ] {
            let read = text
                .parse::<Kubernetes>()
                .map_err(|error| error.to_string());
            assert_eq!(read, expected.map_err(str::to_owned), "{text:?}");
        }
    }
}
