//! The checks: plain functions of the facts, one file for each group.

mod addons;
mod agent_roles;
mod certificates;
mod clusters;
pub(crate) mod crds;
pub(super) mod hub;
mod leftovers;
mod operator;
mod policies;
mod registrations;
mod requests;
mod rights;
mod services;
mod sets;
#[cfg(test)]
pub(crate) mod testing;
pub(super) mod writes;

use super::facts::Facts;
use super::finding::{Check, Finding};

/// Runs all checks. Findings are sorted by severity, then by check.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in [
        crds::check,
        registrations::check,
        policies::check,
        services::check,
        certificates::check,
        writes::check,
        rights::check,
        agent_roles::check,
        hub::check,
        leftovers::check,
        sets::check,
        clusters::check,
        requests::check,
        addons::check,
        operator::check,
    ] {
        findings.extend(group(facts));
    }
    if facts.is_gate_optional() {
        let of_calls = [Check::WebhookService, Check::WebhookCertificate];
        findings = (findings.into_iter())
            .map(|finding| match of_calls.contains(&finding.check) {
                true => finding.eased(),
                false => finding,
            })
            .collect();
    }
    findings.sort_by_key(|finding| (finding.severity, finding.check));
    findings
}

/// The most names of a list that are shown.
pub(super) const SHOWN: usize = 5;

/// Formats the first few names, in quotes, and the number of the others.
fn some(names: &[&str]) -> String {
    some_of(names, names.len())
}

/// As [`some`], of `count` names, of which these are the first ones.
fn some_of(names: &[&str], count: usize) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("{name:?}"))
        .collect();
    let shown = shown.join(", ");
    match count.saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
