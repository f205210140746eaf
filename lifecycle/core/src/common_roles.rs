//! The two ClusterRoles that all agents share.
//!
//! They ship as a manifest (`manifests/server/agent-roles.yaml`). This reconciler writes them if they are missing or
//! edited, which succeeds only if the controller's account may grant their rules: OCM's account may, Berth's own may not.
//!
//! Follows OCM's ManagedClusterClusterRoleController, but never deletes them: an account that may not create them again would
//! leave all later clusters without permissions.

use serde_json::Value;

use crate::config::Config;
use crate::facts::Owned;
use crate::names::managers;
use crate::roles;
use berth_api::plan::Plan;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "cluster_roles";

/// Plans the writes that are due.
///
/// `any_cluster`: the hub has a ManagedCluster. Call this only after the first list of clusters.
pub fn decide(
    config: &Config,
    any_cluster: bool,
    registration: Option<&Owned>,
    work: Option<&Owned>,
) -> Plan {
    let mut plan = Plan::default();
    let roles: [(Option<&Owned>, Value); 2] = [
        (registration, roles::registration_role(config)),
        (work, roles::work_role(config)),
    ];
    for (there, body) in roles {
        match there {
            // No agent needs it yet.
            _ if !any_cluster => {}
            // It is created again when its last finalizer is removed.
            Some(there) if there.deleting => {}
            Some(there) if there.fingerprint == roles::fingerprint(config, &body) => {}
            _ => plan
                .writes
                .push(roles::apply(body, managers::CLUSTER_ROLES, NAME)),
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;
    use berth_api::plan::Action;

    /// What is done to the roles, as `verb name`.
    fn done(any_cluster: bool, registration: Option<&Owned>, work: Option<&Owned>) -> Vec<String> {
        let plan = decide(&Config::default(), any_cluster, registration, work);
        assert_eq!(plan.again, None);
        plan.writes
            .into_iter()
            .map(|write| {
                assert_eq!(write.reconciler, NAME);
                assert_eq!(write.target.namespace, None);
                let verb = match write.action {
                    Action::Apply { manager, body } => {
                        assert_eq!(manager, managers::CLUSTER_ROLES);
                        assert_eq!(body["metadata"]["name"], write.target.name);
                        "apply".to_owned()
                    }
                    other => panic!("{other:?}"),
                };
                format!("{verb} {}", write.target.name)
            })
            .collect()
    }

    fn right(body: &Value, uid: &str) -> Owned {
        Owned {
            uid: uid.to_owned(),
            fingerprint: roles::fingerprint(&Config::default(), body),
            ..Owned::default()
        }
    }

    #[test]
    fn they_are_there_while_there_is_a_cluster() {
        let config = Config::default();
        let registration = right(&roles::registration_role(&config), "r");
        let work = right(&roles::work_role(&config), "w");
        let edited = Owned {
            fingerprint: work.fingerprint.wrapping_add(1),
            ..work.clone()
        };
        let going = Owned {
            deleting: true,
            ..edited.clone()
        };
        let (r, w) = (names::REGISTRATION_ROLE, names::WORK_ROLE);
        type Row<'a> = (
            &'a str,
            bool,
            Option<&'a Owned>,
            Option<&'a Owned>,
            Vec<String>,
        );
        let rows: [Row<'_>; 10] = [
            (
                "the first cluster makes both",
                true,
                None,
                None,
                vec![format!("apply {r}"), format!("apply {w}")],
            ),
            (
                "both are right",
                true,
                Some(&registration),
                Some(&work),
                vec![],
            ),
            (
                "one is missing",
                true,
                Some(&registration),
                None,
                vec![format!("apply {w}")],
            ),
            (
                "one was edited",
                true,
                Some(&registration),
                Some(&edited),
                vec![format!("apply {w}")],
            ),
            (
                "the one in the place of the other",
                true,
                Some(&work),
                Some(&work),
                vec![format!("apply {r}")],
            ),
            (
                "one is being deleted: it is awaited",
                true,
                Some(&registration),
                Some(&going),
                vec![],
            ),
            (
                "the last cluster is gone: they stay as they are",
                false,
                Some(&registration),
                Some(&edited),
                vec![],
            ),
            ("one is gone already", false, None, Some(&work), vec![]),
            (
                "one is being deleted already",
                false,
                None,
                Some(&going),
                vec![],
            ),
            ("no cluster ever", false, None, None, vec![]),
        ];
        for (row, any_cluster, registration, work, expected) in rows {
            assert_eq!(done(any_cluster, registration, work), expected, "{row}");
        }
    }
}
