//! What operators report of a hub, and of its agent if it is a managed cluster, too.

use berth_api::conditions::operator::{
    APPLIED, AVAILABLE, PROGRESSING, SETTINGS_SUPPORTED, VALID_FEATURE_GATES,
};
use berth_rules::display::ShellWord;
use serde_json::Value;

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};

const CHECK: Check = Check::Operator;

/// The end of the types of conditions that are true if something does not work.
const DEGRADED: &str = "Degraded";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let operated = match &facts.operated {
        Ok(operated) => operated,
        Err(unread) => return vec![CHECK.unknown("what the operator reports", unread)],
    };
    operated
        .iter()
        .flat_map(|(kind, object)| of_object(kind, object))
        .collect()
}

fn of_object(kind: &'static str, object: &Value) -> Vec<Finding> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let conditions = object["status"]["conditions"].as_array();
    let conditions: Vec<_> = conditions.into_iter().flatten().collect();
    let mut findings: Vec<_> = conditions
        .iter()
        .filter_map(|it| of_condition(it))
        .collect();
    if conditions.is_empty() {
        findings.push(CHECK.fault("no operator has reported about it: does one run?"));
    }
    let shown = format!("kubectl describe {kind} {}", ShellWord(name));
    let findings = findings
        .into_iter()
        .map(|it| it.of(FindingObject::new(kind, name)).remedy(shown.clone()));
    findings.collect()
}

fn of_condition(condition: &Value) -> Option<Finding> {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let (type_, status) = (text("type"), text("status"));
    let message = format!("{type_}: {}", text("message"));
    match (type_, status) {
        (APPLIED | AVAILABLE, "False") => Some(CHECK.fault(message)),
        (VALID_FEATURE_GATES | SETTINGS_SUPPORTED, "False") | (PROGRESSING, "True") => {
            Some(CHECK.warning(message))
        }
        (degraded, "True") if degraded.ends_with(DEGRADED) => Some(CHECK.fault(message)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{told, with};

    #[test]
    fn what_an_operator_reports_is_told() {
        let of = |conditions: Value| {
            let object = json!({"metadata": {"name": "cluster-manager"}, "status": {"conditions": conditions}});
            check(&with(|facts| {
                facts.operated = Ok(vec![("clustermanager", object)]);
            }))
        };
        let condition =
            |type_: &str, status: &str| json!({"type": type_, "status": status, "message": "why"});
        let good = json!([
            condition("Applied", "True"),
            condition("Progressing", "False"),
            condition("HubRegistrationDegraded", "False"),
            condition("SettingsSupported", "True"),
        ]);
        assert_eq!(of(good), []);
        let found = of(json!([
            condition("Applied", "False"),
            condition("Progressing", "True"),
            condition("HubRegistrationDegraded", "True"),
            condition("SettingsSupported", "False"),
        ]));
        let expected = [
            "fault: Applied: why",
            "warning: Progressing: why",
            "fault: HubRegistrationDegraded: why",
            "warning: SettingsSupported: why",
        ];
        assert_eq!(told(&found, &expected), expected);
        let remedy = Some("kubectl describe clustermanager cluster-manager");
        assert_eq!(found[0].remedy.as_deref(), remedy);
        let silent = ["fault: no operator has reported about it: does one run?"];
        assert_eq!(told(&of(json!([])), &silent), silent);
        assert_eq!(check(&with(|_| {})), [], "no operator");
    }
}
