//! The Helm charts in `charts/`: what is generated in them, and that they render what the manifests are.
//!
//! The manifests stay the truth. Templates into which no value reaches are copies of them (`copies`); those of Deployments are
//! written by hand. `hub` and `agent` compare what helm renders with what kustomize builds, object by object; `without_helm` with what
//! `berth init --values` installs. The values are types of `berth_manifests`, of which the schema, `values.yaml` and the table in
//! the README are printed. `operator` has what is rendered with `operator.enabled`.

mod agent;
mod compared;
mod complete;
mod console;
mod copies;
mod documented;
mod feature_gates;
mod helm;
mod hub;
mod operator;
mod printed;
mod refusals;
mod without_helm;

use berth_manifests::values::{AgentValues, HubValues};

/// Each generated file of the charts: its path in the repository, and its content.
pub(crate) fn generated_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    files.extend(printed::files::<HubValues>("berth-hub"));
    files.extend(printed::files::<AgentValues>("berth-agent"));
    files.extend(copies::hub());
    files.extend(copies::agent());
    files
}
