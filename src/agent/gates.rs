//! The feature gates of the agent: those of OCM's registration agent, with its defaults.

use crate::feature_gates::pairs;

/// Gates of OCM's agents that change nothing here.
const WITHOUT_EFFECT: [&str; 4] = [
    "AllAlpha",
    "AllBeta",
    "ExecutorValidatingCaches",
    "V1beta1CSRAPICompatibility",
];

/// The feature gates of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    pub(super) addon_management: bool,
    pub(super) cluster_claim: bool,
    pub(super) cluster_property: bool,
    pub(super) multiple_hubs: bool,
    pub(super) raw_feedback: bool,
    pub(super) executor_impersonation: bool,
}

impl Gates {
    /// Parses all values of the flag, in order. Later values win.
    ///
    /// # Errors
    /// A value is not `Gate=true` or `Gate=false` of a known gate.
    pub(super) fn parse(values: &[String]) -> anyhow::Result<Self> {
        let mut gates = Self {
            addon_management: true,
            cluster_claim: true,
            cluster_property: false,
            multiple_hubs: false,
            raw_feedback: false,
            executor_impersonation: false,
        };
        for pair in pairs(values) {
            let (gate, on) = pair?;
            match gate {
                "AddonManagement" => gates.addon_management = on,
                "ClusterClaim" => gates.cluster_claim = on,
                "ClusterProperty" => gates.cluster_property = on,
                "MultipleHubs" => gates.multiple_hubs = on,
                "RawFeedbackJsonString" => gates.raw_feedback = on,
                "ExecutorImpersonation" => gates.executor_impersonation = on,
                gate if WITHOUT_EFFECT.contains(&gate) => {}
                gate => anyhow::bail!(
                    "--feature-gates: unknown gate {gate:?}; the gates of the agent are AddonManagement, ClusterClaim, ClusterProperty, ExecutorImpersonation, MultipleHubs and RawFeedbackJsonString"
                ),
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> Result<(bool, bool, bool, bool), String> {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        let gates = Gates::parse(&values).map_err(|error| error.to_string())?;
        Ok((
            gates.addon_management,
            gates.cluster_claim,
            gates.cluster_property,
            gates.multiple_hubs,
        ))
    }

    #[test]
    fn gates_are_those_of_ocms_agent() {
        for (values, expected) in [
            (&[][..], (true, true, false, false)),
            (
                &["ClusterClaim=false,ClusterProperty=true"],
                (true, false, true, false),
            ),
            (
                &["ClusterProperty=true", "ClusterProperty=false"],
                (true, true, false, false),
            ),
            (
                &["V1beta1CSRAPICompatibility=true,RawFeedbackJsonString=true"],
                (true, true, false, false),
            ),
            (
                &["AddonManagement=true,MultipleHubs=false"],
                (true, true, false, false),
            ),
            (
                &["AddonManagement=false,MultipleHubs=true"],
                (false, true, false, true),
            ),
        ] {
            assert_eq!(parse(values), Ok(expected), "{values:?}");
        }
        let unknown = parse(&["ClusterClaims=true"]).unwrap_err();
        assert!(
            unknown.contains("unknown gate \"ClusterClaims\""),
            "{unknown}"
        );
        let unclear = parse(&["ClusterClaim"]).unwrap_err();
        assert!(unclear.contains("ClusterClaim=true or"), "{unclear}");
    }
}
