//! `--feature-gates`, as Kubernetes' components take it: `Gate=true,Other=false`, and the flag may be repeated.

use berth_rules::FeatureGates;

/// Gates of OCM's hub registration that mean nothing to the webhooks.
const WITHOUT_EFFECT: [&str; 7] = [
    "AllAlpha",
    "AllBeta",
    "ClusterImporter",
    "ClusterProfile",
    "ManagedClusterAutoApproval",
    "ResourceCleanup",
    "V1beta1CSRAPICompatibility",
];

/// What the flag said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) gates: FeatureGates,
    /// Sentences for the log.
    pub(crate) warnings: Vec<String>,
}

/// Reads all values of the flag, in order; a later one wins.
///
/// # Errors
/// The value that is not `Gate=true` or `Gate=false` of a known gate.
pub(crate) fn parse(values: &[String]) -> anyhow::Result<Parsed> {
    let mut parsed = Parsed {
        gates: FeatureGates::default(),
        warnings: Vec::new(),
    };
    for pair in values
        .iter()
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let (gate, value) = pair
            .split_once('=')
            .map_or((pair, ""), |(gate, value)| (gate.trim(), value.trim()));
        let on = match value.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" => true,
            "false" | "f" | "0" => false,
            _ => anyhow::bail!(
                "--feature-gates: {pair:?} is not of the form {gate}=true or {gate}=false"
            ),
        };
        match gate {
            "DefaultClusterSet" => parsed.gates.default_cluster_set = on,
            "UnguardedDenial" => parsed.gates.unguarded_denial = on,
            gate if WITHOUT_EFFECT.contains(&gate) => {
                parsed
                    .warnings
                    .push(format!("feature gate {gate} has no effect on the webhooks"));
            }
            gate => anyhow::bail!(
                "--feature-gates: {gate:?} is not known; the gates of the webhooks are DefaultClusterSet and \
                 UnguardedDenial"
            ),
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(values: &[&str]) -> Result<(bool, bool, usize), String> {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        let parsed = parse(&values).map_err(|error| error.to_string())?;
        Ok((
            parsed.gates.default_cluster_set,
            parsed.gates.unguarded_denial,
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
    fn a_gate_that_is_not_known_is_named() {
        assert!(
            gates(&["DefaultClusterset=true"])
                .unwrap_err()
                .contains("\"DefaultClusterset\" is not known")
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
    }
}
