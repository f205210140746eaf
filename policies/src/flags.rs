//! Reads the flags in the annotation of a stored policy.

use berth_api::reserved::ReservedPrefixes;
use berth_rules::FeatureGates;

use crate::options::{Action, Mode, Options};

/// The annotation with the flags of `berth policies` that printed the object.
pub const ANNOTATION: &str = "berth.open-cluster-management.io/policies";

/// The flags are not those of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {ANNOTATION} has {flag:?}, which this version does not know")]
pub struct UnknownFlag {
    flag: String,
}

// === impl Options ===

impl Options {
    /// Reads the flags of `berth policies`. A flag that is not given has its default value.
    ///
    /// # Errors
    /// A flag or a value is not one of this version: another version printed the policy, or a user has changed the annotation.
    pub fn of_flags(text: &str) -> Result<Self, UnknownFlag> {
        let mut options = Self::default();
        for word in text.split_ascii_whitespace() {
            options.read(word).ok_or_else(|| UnknownFlag {
                flag: word.to_owned(),
            })?;
        }
        Ok(options)
    }

    fn read(&mut self, word: &str) -> Option<()> {
        let (flag, value) = word.strip_prefix("--")?.split_once('=')?;
        match flag {
            "kubernetes" => self.kubernetes = value.parse().ok()?,
            "mode" => {
                self.mode = [Mode::Policies, Mode::WithWebhook]
                    .into_iter()
                    .find(|mode| mode.as_str() == value)?;
            }
            "action" => {
                self.action = [Action::Deny, Action::Audit]
                    .into_iter()
                    .find(|action| action.as_str() == value)?;
            }
            "feature-gates" => {
                for pair in value.split(',') {
                    set(&mut self.settings.gates, pair)?;
                }
            }
            "hub-namespace" => value.clone_into(&mut self.settings.hub_namespace),
            "reserved-prefixes" => {
                self.settings.reserved_prefixes = ReservedPrefixes::new(value.split(','));
            }
            _ => return None,
        }
        Some(())
    }
}

fn set(gates: &mut FeatureGates, pair: &str) -> Option<()> {
    let (gate, value) = pair.split_once('=')?;
    let gate = match gate {
        "DefaultClusterSet" => &mut gates.default_cluster_set,
        "GuardedSelectors" => &mut gates.guarded_selectors,
        "UnguardedDenial" => &mut gates.unguarded_denial,
        _ => return None,
    };
    *gate = value.parse().ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Kubernetes;

    #[test]
    fn flags_are_read_as_they_are_printed() {
        let mut options = Options {
            kubernetes: Kubernetes::V1_35,
            mode: Mode::WithWebhook,
            action: Action::Audit,
            ..Options::default()
        };
        options.settings.gates.unguarded_denial = true;
        options.settings.gates.default_cluster_set = false;
        options.settings.hub_namespace = "hub".to_owned();
        options.settings.reserved_prefixes = ReservedPrefixes::new(["kube-", "team-"]);
        assert_eq!(Options::of_flags(&options.flags()), Ok(options));
        let together = "--feature-gates=DefaultClusterSet=false,GuardedSelectors=true";
        let read = Options::of_flags(together).unwrap();
        assert!(!read.settings.gates.default_cluster_set);
        let none = Options::of_flags("--reserved-prefixes=").unwrap();
        assert_eq!(none.settings.reserved_prefixes.iter().count(), 0);
        assert_eq!(Options::of_flags(""), Ok(Options::default()));
    }

    #[test]
    fn what_another_version_writes_is_named() {
        for flag in [
            "--kubernetes=1.20",
            "--mode=both",
            "--action=deny",
            "--feature-gates=Other=true",
            "--feature-gates=UnguardedDenial=2",
            "--colour=red",
            "--mode",
            "policies",
        ] {
            let text = format!("--mode=policies {flag} --action=Audit");
            let error = Options::of_flags(&text).unwrap_err();
            assert_eq!(error.flag, flag);
        }
    }
}
