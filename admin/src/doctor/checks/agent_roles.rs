//! The two ClusterRoles that all agents share. The controller may bind them, but may not create or repair them.

use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::names::AGENT_ROLES_MANIFEST;
use berth_lifecycle_core::roles;

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};

const CHECK: Check = Check::AgentRoles;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let config = Config::default();
    let shipped = [roles::registration_role(&config), roles::work_role(&config)];
    let mut findings = Vec::new();
    for (shipped, found) in shipped.iter().zip(&facts.agent_roles) {
        let name = shipped["metadata"]["name"].as_str().unwrap_or_default();
        let object = FindingObject::new("clusterrole", name);
        let finding = match found {
            Err(unread) => CHECK.unknown("its rules", unread),
            Ok(None) => {
                let why = "it does not exist: accepted clusters get no rights, unless the controller's account may create it, \
                           as OCM's may";
                let anybody = facts.clusters.as_ref().is_ok_and(|clusters| {
                    clusters.iter().any(|it| it.object.spec.hub_accepts_client)
                });
                let finding = match anybody {
                    true => CHECK.fault(why),
                    false => CHECK.warning(why),
                };
                finding.remedy(format!("kubectl apply -f {AGENT_ROLES_MANIFEST}"))
            }
            Ok(Some(found))
                if roles::fingerprint(&config, found) != roles::fingerprint(&config, shipped) =>
            {
                CHECK
                    .warning(
                        "its rules differ from those that ship: all agents have the rights that it grants",
                    )
                    .remedy(format!("kubectl apply -f {AGENT_ROLES_MANIFEST}"))
            }
            Ok(Some(_)) => continue,
        };
        findings.push(finding.of(object));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{told, with};
    use crate::hub::Item;

    #[test]
    fn a_missing_or_edited_role_is_found_with_its_manifest() {
        let mut facts = with(|facts| facts.agent_roles[0] = Ok(None));
        let warned = ["warning: it does not exist: accepted clusters get no rights"];
        assert_eq!(told(&check(&facts), &warned), warned);
        facts.clusters = Ok(vec![Item::of(json!({
            "metadata": {"name": "c1"},
            "spec": {"hubAcceptsClient": true},
        }))]);
        let findings = check(&facts);
        let fault = ["fault: it does not exist"];
        assert_eq!(told(&findings, &fault), fault);
        assert_eq!(
            findings[0].remedy.as_deref(),
            Some("kubectl apply -f manifests/server/agent-roles.yaml")
        );
        let facts = with(|facts| {
            let role = facts.agent_roles[1].as_mut().unwrap().as_mut().unwrap();
            role["rules"][0]["verbs"] = json!(["*"]);
            role["metadata"]["labels"]["mine"] = json!("kept");
        });
        let edited = ["warning: its rules differ from those that ship"];
        assert_eq!(told(&check(&facts), &edited), edited);
    }
}
