//! The account of `helm test`.

use std::fmt::Write;
use std::fs;

use crate::manifests::files::in_repository;

/// The permissions of `helm test`: those of docs/doctor.md, of which the last part is for the namespace only.
pub(super) fn role() -> String {
    let page = fs::read_to_string(in_repository("docs/doctor.md")).expect("there is a page");
    let (_, block) = page
        .split_once("## Permissions")
        .expect("it has the permissions");
    let (_, block) = block.split_once("rules:\n").expect("it has rules");
    let (rules, _) = block.split_once("```").expect("it ends");
    let rest = "# The rest in the namespace of the hub's components only.\n";
    let (cluster, namespace) = rules.split_once(rest).expect("it has two parts");
    let mut made = format!(
        "{}# For 'helm test', and gone after it.\n",
        crate::generated::HEADER
    );
    let hook = "    helm.sh/hook: test\n    helm.sh/hook-weight: \"-1\"\n    helm.sh/hook-delete-policy: \
                before-hook-creation,hook-succeeded,hook-failed\n";
    let head = |api: &str, kind: &str, namespaced: bool| {
        let namespace = if namespaced {
            "  namespace: open-cluster-management-hub\n"
        } else {
            ""
        };
        let labels = "    {{- include \"berth.labels\" (list $ \"test\") | nindent 4 }}\n";
        format!(
            "---\napiVersion: {api}\nkind: {kind}\nmetadata:\n  name: berth-hub-test\n{namespace}  annotations:\n{hook}  \
             labels:\n{labels}"
        )
    };
    let rbac = "rbac.authorization.k8s.io/v1";
    made.push_str(&head("v1", "ServiceAccount", true));
    made.push_str("automountServiceAccountToken: false\n");
    for (kind, rules, namespaced) in [("ClusterRole", cluster, false), ("Role", namespace, true)] {
        write!(
            made,
            "{}rules:\n{rules}{}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: \
             berth-hub-test\nsubjects:\n- kind: ServiceAccount\n  name: berth-hub-test\n  namespace: \
             open-cluster-management-hub\n",
            head(rbac, kind, namespaced),
            head(rbac, &format!("{kind}Binding"), namespaced),
        )
        .expect("a string can be written");
    }
    made
}
