//! `--feature-gates`, with the syntax of Kubernetes' components: `Gate=true,Other=false` (repeatable).

use berth_lifecycle_core::config::Gates;
use berth_rules::FeatureGates;

/// Gates of OCM's hub registration and placement that Berth does not implement.
const NOT_SUPPORTED: [&str; 4] = [
    "AllAlpha",
    "AllBeta",
    "ClusterImporter",
    "V1beta1CSRAPICompatibility",
];

/// Gates of OCM's work manager. The webhooks decide ManifestWorkReplicaSets whether or not a controller runs.
const OF_WORK_MANAGER: [&str; 3] = [
    "CleanUpCompletedManifestWork",
    "CloudEventsDrivers",
    "ManifestWorkReplicaSet",
];

/// The component of the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Webhooks,
    /// The webhooks of the work API alone.
    WorkWebhooks,
    /// The placement controller alone.
    Placement,
    /// The work manager alone.
    Work,
    /// All controllers in one process.
    Controller,
    /// The webhooks and all controllers in one process.
    Hub,
}

/// The parsed value of the flag.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) webhooks: FeatureGates,
    pub(crate) lifecycle: Gates,
    pub(crate) placement: berth_placement::Gates,
    /// The placement controller keeps PlacementDecisions of SIG-Multicluster.
    pub(crate) sig_decisions: bool,
    pub(crate) work: berth_work_hub::Settings,
    /// Warnings for the log.
    pub(crate) warnings: Vec<String>,
}

/// Returns each gate with its value, in order.
///
/// An error: a value is not `Gate=true` or `Gate=false`.
pub(crate) fn pairs(values: &[String]) -> impl Iterator<Item = anyhow::Result<(&str, bool)>> {
    let pairs = values.iter().flat_map(|value| value.split(','));
    let pairs = pairs.map(str::trim).filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (gate, value) = pair
            .split_once('=')
            .map_or((pair, ""), |(gate, value)| (gate.trim(), value.trim()));
        match value.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" => Ok((gate, true)),
            "false" | "f" | "0" => Ok((gate, false)),
            _ => anyhow::bail!(
                "--feature-gates: {pair:?} is not of the form {gate}=true or {gate}=false"
            ),
        }
    })
}

/// Parses all values of the flag, in order. Later values win.
///
/// # Errors
/// A value is not `Gate=true` or `Gate=false` of a known gate.
pub(crate) fn parse(values: &[String], of: Of) -> anyhow::Result<Parsed> {
    let mut parsed = Parsed {
        webhooks: FeatureGates::default(),
        lifecycle: Gates::default(),
        placement: berth_placement::Gates::default(),
        sig_decisions: false,
        work: berth_work_hub::Settings::default(),
        warnings: Vec::new(),
    };
    for pair in pairs(values) {
        let (gate, on) = pair?;
        let has_effect_on = match gate {
            "DefaultClusterSet" => {
                parsed.webhooks.default_cluster_set = on;
                parsed.lifecycle.default_cluster_set = on;
                Of::Hub
            }
            "UnguardedDenial" => {
                parsed.webhooks.unguarded_denial = on;
                Of::Webhooks
            }
            "GuardedSelectors" => {
                parsed.webhooks.guarded_selectors = on;
                Of::Webhooks
            }
            "NilExecutorValidating" => {
                parsed.webhooks.nil_executor_validating = on;
                Of::WorkWebhooks
            }
            // OCM's operator gives the work webhooks the gates of the work manager.
            gate if of == Of::WorkWebhooks && OF_WORK_MANAGER.contains(&gate) => of,
            "ManagedClusterAutoApproval" => {
                parsed.lifecycle.auto_approval = on;
                Of::Controller
            }
            "ManagedClusterAutoRebootstrap" => {
                parsed.lifecycle.auto_rebootstrap = on;
                Of::Controller
            }
            "ClusterProfile" => {
                parsed.lifecycle.cluster_profile = on;
                Of::Controller
            }
            "ResourceCleanup" => {
                parsed.lifecycle.resource_cleanup = on;
                Of::Controller
            }
            "PlacementPreferNoSelect" => {
                parsed.placement.prefer_no_select = on;
                Of::Placement
            }
            "PlacementScores" => {
                parsed.placement.scores = on;
                Of::Placement
            }
            "PlacementSortBy" => {
                parsed.placement.sort_by = on;
                Of::Placement
            }
            "PlacementSpreadPolicy" => {
                parsed.placement.spread = on;
                Of::Placement
            }
            "SIGPlacementDecision" => {
                parsed.sig_decisions = on;
                Of::Placement
            }
            "ManifestWorkReplicaSet" => {
                parsed.work.replica_sets = on;
                Of::Work
            }
            "CleanUpCompletedManifestWork" => {
                parsed.work.clean_up = on;
                Of::Work
            }
            gate if NOT_SUPPORTED.contains(&gate) => {
                if on && of != Of::Webhooks {
                    parsed.warnings.push(format!(
                        "feature gate {gate} is not supported and stays off"
                    ));
                }
                // These gates do not concern the webhooks, as in OCM.
                Of::Controller
            }
            gate => anyhow::bail!(
                "--feature-gates: unknown gate {gate:?}; the gates of {} are {}",
                of.name(),
                of.gates()
            ),
        };
        let is_everywhere = of == Of::Hub || has_effect_on == Of::Hub;
        let is_part = matches!(
            (of, has_effect_on),
            (Of::Controller, Of::Placement | Of::Work) | (Of::Webhooks, Of::WorkWebhooks)
        );
        if !is_everywhere && !is_part && has_effect_on != of {
            parsed.warnings.push(format!(
                "feature gate {gate} has no effect on {}",
                of.name()
            ));
        }
    }
    Ok(parsed)
}

// === impl Of ===

impl Of {
    fn name(self) -> &'static str {
        match self {
            Self::Webhooks => "the webhooks",
            Self::WorkWebhooks => "the webhooks of the work API",
            Self::Placement => "the placement controller",
            Self::Work => "the work manager",
            Self::Controller => "the controller",
            Self::Hub => "the hub",
        }
    }

    fn gates(self) -> &'static str {
        match self {
            Self::Webhooks => {
                "DefaultClusterSet, GuardedSelectors, NilExecutorValidating and UnguardedDenial"
            }
            Self::WorkWebhooks => {
                "CleanUpCompletedManifestWork, CloudEventsDrivers, ManifestWorkReplicaSet and NilExecutorValidating"
            }
            Self::Placement => {
                "PlacementPreferNoSelect, PlacementScores, PlacementSortBy, PlacementSpreadPolicy and SIGPlacementDecision"
            }
            Self::Work => "CleanUpCompletedManifestWork and ManifestWorkReplicaSet",
            Self::Controller => {
                "CleanUpCompletedManifestWork, ClusterProfile, DefaultClusterSet, ManagedClusterAutoApproval, \
                 ManagedClusterAutoRebootstrap, ManifestWorkReplicaSet, PlacementPreferNoSelect, PlacementScores, \
                 PlacementSortBy, PlacementSpreadPolicy, ResourceCleanup and SIGPlacementDecision"
            }
            Self::Hub => {
                "CleanUpCompletedManifestWork, ClusterProfile, DefaultClusterSet, GuardedSelectors, \
                 ManagedClusterAutoApproval, ManagedClusterAutoRebootstrap, ManifestWorkReplicaSet, NilExecutorValidating, \
                 PlacementPreferNoSelect, PlacementScores, PlacementSortBy, PlacementSpreadPolicy, ResourceCleanup, \
                 SIGPlacementDecision and UnguardedDenial"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(values: &[&str], of: Of) -> Result<Parsed, String> {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        parse(&values, of).map_err(|error| error.to_string())
    }

    fn gates(values: &[&str]) -> Result<(bool, bool, usize), String> {
        let parsed = parsed(values, Of::Webhooks)?;
        Ok((
            parsed.webhooks.default_cluster_set,
            parsed.webhooks.unguarded_denial,
            parsed.warnings.len(),
        ))
    }

    #[test]
    fn gates_are_read_as_kubernetes_components_read_them() {
        for (values, expected) in [
            (&[][..], (true, false, 0)),
            (&["DefaultClusterSet=false"], (false, false, 0)),
            (
                &["DefaultClusterSet=false,UnguardedDenial=true"],
                (false, true, 0),
            ),
            (
                &["DefaultClusterSet=false", "DefaultClusterSet=True"],
                (true, false, 0),
            ),
            (
                &["ResourceCleanup=true, ClusterImporter=0,"],
                (true, false, 2),
            ),
        ] {
            assert_eq!(gates(values), Ok(expected), "{values:?}");
        }
    }

    #[test]
    fn selectors_are_guarded_unless_an_admin_says_otherwise() {
        for (values, guarded) in [(&[][..], true), (&["GuardedSelectors=false"], false)] {
            let parsed = parsed(values, Of::Webhooks).unwrap();
            assert_eq!(parsed.webhooks.guarded_selectors, guarded);
            assert!(parsed.warnings.is_empty());
        }
        let elsewhere = parsed(&["GuardedSelectors=false"], Of::Controller).unwrap();
        assert_eq!(
            elsewhere.warnings,
            ["feature gate GuardedSelectors has no effect on the controller"]
        );
    }

    #[test]
    fn gates_of_the_controller_are_those_of_ocm() {
        let on = Gates {
            default_cluster_set: true,
            auto_approval: true,
            auto_rebootstrap: true,
            resource_cleanup: true,
            cluster_profile: false,
        };
        let off = Gates {
            default_cluster_set: false,
            auto_approval: false,
            auto_rebootstrap: false,
            resource_cleanup: false,
            cluster_profile: false,
        };
        let profiles = Gates {
            cluster_profile: true,
            ..Gates::default()
        };
        let nothing: &[&str] = &[];
        for (values, gates, warnings) in [
            (&[][..], Gates::default(), nothing),
            (
                &["ManagedClusterAutoApproval=true,ManagedClusterAutoRebootstrap=true"],
                on,
                nothing,
            ),
            (
                &["DefaultClusterSet=false", "ResourceCleanup=false"],
                off,
                nothing,
            ),
            (
                &["ClusterImporter=true,ClusterProfile=true"],
                profiles,
                &["feature gate ClusterImporter is not supported and stays off"],
            ),
            (
                &["V1beta1CSRAPICompatibility=true", "UnguardedDenial=true"],
                Gates::default(),
                &[
                    "feature gate V1beta1CSRAPICompatibility is not supported and stays off",
                    "feature gate UnguardedDenial has no effect on the controller",
                ],
            ),
        ] {
            let parsed = parsed(values, Of::Controller).unwrap();
            assert_eq!(parsed.lifecycle, gates, "{values:?}");
            assert_eq!(parsed.warnings, warnings, "{values:?}");
        }
    }

    #[test]
    fn gates_of_placement_count_for_every_process_that_places() {
        let values = [
            "PlacementSortBy=true,PlacementSpreadPolicy=true,PlacementPreferNoSelect=true,PlacementScores=true",
        ];
        let on = berth_placement::Gates {
            spread: true,
            sort_by: true,
            prefer_no_select: true,
            scores: true,
        };
        for of in [Of::Placement, Of::Controller, Of::Hub] {
            let parsed = parsed(&values, of).unwrap();
            assert_eq!((parsed.placement, parsed.warnings), (on, vec![]), "{of:?}");
        }
        let elsewhere = parsed(&["PlacementSortBy=true"], Of::Webhooks).unwrap();
        assert_eq!(
            elsewhere.warnings,
            ["feature gate PlacementSortBy has no effect on the webhooks"]
        );
        let others = ["ResourceCleanup=true", "ClusterImporter=true"];
        let others = parsed(&others, Of::Placement).unwrap();
        assert_eq!(
            others.warnings,
            [
                "feature gate ResourceCleanup has no effect on the placement controller",
                "feature gate ClusterImporter is not supported and stays off",
                "feature gate ClusterImporter has no effect on the placement controller",
            ]
        );
    }

    #[test]
    fn decisions_of_the_sig_are_off_unless_an_admin_turns_them_on() {
        let on = ["SIGPlacementDecision=true"];
        for of in [Of::Placement, Of::Controller, Of::Hub] {
            assert!(!parsed(&[], of).unwrap().sig_decisions, "{of:?}");
            let parsed = parsed(&on, of).unwrap();
            assert_eq!(
                (parsed.sig_decisions, parsed.warnings),
                (true, vec![]),
                "{of:?}"
            );
        }
        assert_eq!(
            parsed(&on, Of::Webhooks).unwrap().warnings,
            ["feature gate SIGPlacementDecision has no effect on the webhooks"]
        );
    }

    #[test]
    fn replica_sets_are_on_and_nothing_is_cleaned_up_unless_an_admin_says_otherwise() {
        let values = ["ManifestWorkReplicaSet=false,CleanUpCompletedManifestWork=true"];
        for of in [Of::Work, Of::Controller, Of::Hub] {
            let work = parsed(&[], of).unwrap().work;
            assert!(work.replica_sets && !work.clean_up, "{of:?}");
            let parsed = parsed(&values, of).unwrap();
            assert!(!parsed.work.replica_sets && parsed.work.clean_up, "{of:?}");
            assert!(parsed.warnings.is_empty(), "{of:?}");
        }
        let elsewhere = parsed(&["PlacementScores=true"], Of::Work).unwrap();
        assert_eq!(
            elsewhere.warnings,
            ["feature gate PlacementScores has no effect on the work manager"]
        );
    }

    #[test]
    fn a_hub_has_all_gates() {
        let all = "UnguardedDenial=true,ManagedClusterAutoApproval=true,DefaultClusterSet=false";
        let parsed = parsed(&[all], Of::Hub).unwrap();
        assert!(parsed.webhooks.unguarded_denial && parsed.lifecycle.auto_approval);
        assert!(!parsed.webhooks.default_cluster_set && !parsed.lifecycle.default_cluster_set);
        assert!(parsed.warnings.is_empty());
    }

    #[test]
    fn a_gate_that_is_not_known_is_named() {
        assert!(
            gates(&["DefaultClusterset=true"])
                .unwrap_err()
                .contains("unknown gate \"DefaultClusterset\"")
        );
        assert!(
            gates(&["DefaultClusterSet"])
                .unwrap_err()
                .contains("DefaultClusterSet=true or")
        );
        assert!(
            gates(&["DefaultClusterSet=yes"])
                .unwrap_err()
                .contains("\"DefaultClusterSet=yes\"")
        );
        assert!(
            parsed(&["Nonsense=true"], Of::Controller)
                .unwrap_err()
                .contains(
                    "the gates of the controller are CleanUpCompletedManifestWork, ClusterProfile, DefaultClusterSet, Managed"
                )
        );
    }
}
