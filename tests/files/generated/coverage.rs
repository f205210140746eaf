//! `docs/policies.md`: the policies, what they do not cover, and where they answer differently.

use std::fmt::Write;

use berth_policies::installed::{PolicyKind, PolicyName};
use berth_policies::{Action, DIFFERENCES, Kubernetes, NOT_IN_CEL, Options, left_out};

const INTRODUCTION: &str = "\
<!-- Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated -->
# Policies

`berth policies` prints the gate's rules as policies, which the API server evaluates itself. They decide as the gate does, with the
same sentences, except as listed here. Which mode is for whom, and how to change from webhooks to policies:
[operations.md](operations.md#policies-instead-of-webhooks).

## The policies

The binding of each policy has the same name. The names end in `.berth.open-cluster-management.io`.

| Name | Kind | What it does |
|---|---|---|
";

const NOT_COVERED: &str = "
## What policies do not cover

The last column is for the webhook beside policies (`--mode with-webhook`).

| What | Why, and what else covers it | With the webhook |
|---|---|---|
";

const BY_OPTION: &str = "
Some options leave out more:

| Option | What is left out |
|---|---|
";

const ANSWERS: &str = "
## Where answers differ

";

/// Seen with the tests of OCM 00f84c32b03b on kube-apiserver 1.36.2; with webhooks, all 31 pass.
const OCMS_TESTS: &str = "
## OCM's tests

Of the 31 end-to-end cases of OCM's registration webhooks (`test/e2e/registration_webhook_test.go`), these fail with policies:

| Case | Why | With the webhook |
|---|---|---|
| a ManagedCluster with an invalid external server URL: create, update | asserts `IsBadRequest` (400), and once the name of the webhook | the same |
| a ManagedCluster with an invalid name: create | asserts `IsBadRequest` | the same |
| a ManagedClusterSetBinding with an unmatched set: create (two cases), update (two cases) | asserts `IsBadRequest` | the same |
| a ManagedCluster with a terminating namespace: create, update | not covered by policies | passes |
";

/// What a policy does.
fn effect(name: &PolicyName) -> &'static str {
    match name.short() {
        "default-set.managedclusters" => {
            "adds a cluster without a set to `default`, if the user may join it"
        }
        "taint-times.managedclusters" => "gives new taints their time, and keeps stored times",
        "managedclusters" => "content, acceptance, sets and reserved names of ManagedClusters",
        "warnings.managedclusters" => "warnings about sets and reserved names; never refuses",
        "managedclustersets" => {
            "content of ManagedClusterSets, and the permission to widen a selector"
        }
        "managedclustersetbindings" => {
            "names of ManagedClusterSetBindings, and the permission to bind"
        }
        "namespaces.managedclustersetbindings" => {
            "refuses ManagedClusterSetBindings in the namespaces of accepted clusters"
        }
        "certificatesigningrequests" => {
            "refuses CertificateSigningRequests of an agent for another cluster, and those for add-ons that are not from the cluster's \
             agent; a policy that fails admits"
        }
        other => panic!("what does the policy {other} do?"),
    }
}

/// The page.
pub(super) fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for name in PolicyName::all() {
        let kind = match name.kind {
            PolicyKind::Validating => "ValidatingAdmissionPolicy",
            PolicyKind::Mutating => "MutatingAdmissionPolicy",
        };
        let (short, effect) = (name.short(), effect(name));
        writeln!(page, "| `{short}` | {kind} | {effect} |").expect("a string can be written");
    }
    page.push_str(NOT_COVERED);
    for row in NOT_IN_CEL {
        let webhook = if row.in_webhook {
            "covered"
        } else {
            "not covered"
        };
        writeln!(page, "| {} | {} | {webhook} |", row.what, row.why)
            .expect("a string can be written");
    }
    page.push_str(BY_OPTION);
    let always = left_out(&Options::default());
    for (flag, options) in [
        (
            "--kubernetes=1.35",
            Options {
                kubernetes: Kubernetes::V1_35,
                ..Options::default()
            },
        ),
        (
            "--action=Audit",
            Options {
                action: Action::Audit,
                ..Options::default()
            },
        ),
    ] {
        for sentence in left_out(&options) {
            if !always.contains(&sentence) {
                writeln!(page, "| `{flag}` | {sentence} |").expect("a string can be written");
            }
        }
    }
    page.push_str(ANSWERS);
    for difference in DIFFERENCES {
        writeln!(page, "- {difference}").expect("a string can be written");
    }
    page.push_str(OCMS_TESTS);
    page
}
