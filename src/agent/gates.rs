//! The feature gates of the agent: those of OCM's registration agent, with its defaults.

use crate::feature_gates::pairs;

/// Gates of OCM's agents that change nothing here.
const WITHOUT_EFFECT: [&str; 5] = [
    "AllAlpha",
    "AllBeta",
    "ExecutorValidatingCaches",
    "RawFeedbackJsonString",
    "V1beta1CSRAPICompatibility",
];

/// A gate of OCM's agent that is not supported yet. OCM's agent has it off.
const NOT_SUPPORTED: &str = "MultipleHubs";

/// The feature gates of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    pub(super) addon_management: bool,
    pub(super) cluster_claim: bool,
    pub(super) cluster_property: bool,
    /// Warnings for the log.
    pub(super) warnings: Vec<String>,
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
            warnings: Vec::new(),
        };
        for pair in pairs(values) {
            let (gate, on) = pair?;
            match gate {
                "AddonManagement" => gates.addon_management = on,
                "ClusterClaim" => gates.cluster_claim = on,
                "ClusterProperty" => gates.cluster_property = on,
                gate if WITHOUT_EFFECT.contains(&gate) => {}
                NOT_SUPPORTED => {
                    if on {
                        let warning = format!("feature gate {gate} is not supported and stays off");
                        gates.warnings.push(warning);
                    }
                }
                gate => anyhow::bail!(
                    "--feature-gates: unknown gate {gate:?}; the gates of the agent are AddonManagement, ClusterClaim and ClusterProperty"
                ),
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> Result<(bool, bool, bool, usize), String> {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        let gates = Gates::parse(&values).map_err(|error| error.to_string())?;
        Ok((
            gates.addon_management,
            gates.cluster_claim,
            gates.cluster_property,
            gates.warnings.len(),
        ))
    }

    #[test]
    fn gates_are_those_of_ocms_agent() {
        for (values, expected) in [
            (&[][..], (true, true, false, 0)),
            (
                &["ClusterClaim=false,ClusterProperty=true"],
                (true, false, true, 0),
            ),
            (
                &["ClusterProperty=true", "ClusterProperty=false"],
                (true, true, false, 0),
            ),
            (
                &["V1beta1CSRAPICompatibility=true,RawFeedbackJsonString=true"],
                (true, true, false, 0),
            ),
            (
                &["AddonManagement=true,MultipleHubs=false"],
                (true, true, false, 0),
            ),
            (
                &["AddonManagement=false,MultipleHubs=true"],
                (false, true, false, 1),
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
