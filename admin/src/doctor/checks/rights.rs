//! The rights of the accounts of gate and controller: they have every right that the manifests grant.

use crate::doctor::facts::{Fact, Facts, Rights};
use crate::doctor::finding::{Check, Finding, FindingObject};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = of_account(
        Check::GateRights,
        &facts.gate_rights,
        "the gate refuses writes that it cannot decide",
        "kubectl apply -f manifests/server/cluster-role.yaml (where OCM's operator keeps the roles: \
         manifests/overlays/replace-ocm/cluster-role.yaml)",
    );
    findings.extend(of_account(
        Check::ControllerRights,
        &facts.controller_rights,
        "the controller cannot do its work",
        "kubectl apply -f manifests/server/controller-role.yaml",
    ));
    findings
}

fn of_account(
    check: Check,
    rights: &Fact<Option<Rights>>,
    else_what: &str,
    remedy: &str,
) -> Vec<Finding> {
    match rights {
        Ok(Some(rights)) => one(check, rights, else_what, remedy),
        Ok(None) => vec![check.skipped(
            "no Deployment here names its service account: it runs outside of the hub, or another component grants its rights",
        )],
        Err(unread) => vec![check.unknown("its service account", unread)],
    }
}

fn one(check: Check, rights: &Rights, else_what: &str, remedy: &str) -> Vec<Finding> {
    const SHOWN: usize = 8;
    let mut findings = Vec::new();
    let object = FindingObject::new("user", &rights.account);
    let missing: Vec<String> = rights
        .asked
        .iter()
        .filter(|(_, has)| *has == Ok(false))
        .map(|(right, _)| right.to_string())
        .collect();
    if !missing.is_empty() {
        let more = match missing.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let missing = missing[..missing.len().min(SHOWN)].join("; ");
        let message = format!("it lacks {missing}{more}: {else_what}");
        findings.push(check.fault(message).of(object.clone()).remedy(remedy));
    }
    if let Some(unread) = rights.asked.iter().find_map(|(_, has)| has.as_ref().err()) {
        findings.push(check.unknown("its rights", unread).of(object));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::checks::testing::{told, with};
    use crate::doctor::facts::Unread;

    #[test]
    fn what_is_missing_is_named() {
        let facts = with(|facts| {
            let rights = facts.gate_rights.as_mut().unwrap().as_mut().unwrap();
            rights.asked[1].1 = Ok(false);
            let rights = facts.controller_rights.as_mut().unwrap().as_mut().unwrap();
            for (_, has) in &mut rights.asked[..10] {
                *has = Ok(false);
            }
        });
        let findings = check(&facts);
        let expected = [
            "fault: it lacks verb \"create\" on subjectaccessreviews.authorization.k8s.io: the gate refuses",
            "fault: it lacks verb ",
        ];
        assert_eq!(told(&findings, &expected), expected);
        assert!(findings[1].message.contains("; and 2 more: the controller"));
    }

    #[test]
    fn what_could_not_be_asked_is_told_once() {
        let facts = with(|facts| {
            let rights = facts.gate_rights.as_mut().unwrap().as_mut().unwrap();
            for (_, has) in &mut rights.asked {
                *has = Err(Unread::Needs("x".to_owned()));
            }
            facts.controller_rights = Ok(None);
        });
        let expected = [
            "unknown: could not be checked: its rights: you need x",
            "skipped: no Deployment here names its service account",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
