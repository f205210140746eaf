//! The gate's rules as policies in the API server: all are there, bound, and as this version prints them. Without policies the
//! webhooks decide, and nothing is found.

use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::{MUTATE_CLUSTER, WEBHOOKS};
use berth_policies::installed::{Installed, PolicyKind, State};
use berth_policies::{Action, Kubernetes, Options};

use crate::doctor::facts::{Facts, Policies, is_about};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation;

const CHECK: Check = Check::Policies;

/// The policy that writes the times of taints.
const TAINT_TIMES: &str = "taint-times.managedclusters";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let policies = match &facts.policies {
        Ok(policies) => policies,
        Err(unread) => return vec![CHECK.unknown("the policies in the API server", unread)],
    };
    let Some(options) = &policies.options else {
        return Vec::new();
    };
    let mut findings = vec![CHECK.note(mode(facts, options))];
    if let Some(unknown) = &policies.unknown {
        let message =
            format!("{unknown}: another version printed the policies, or a user changed them");
        findings.push(CHECK.warning(message).remedy(again(&Options::default())));
    }
    findings.extend(not_served(facts, policies, options));
    let rows = policies.installed.iter();
    // Another finding is about the kind.
    let rows = rows.filter(|row| policies.served.contains(&row.policy.kind));
    findings.extend(rows.filter_map(|row| of_row(facts, options, row)));
    findings.extend(trial(facts, options));
    findings.extend(of_ocms_mutator(facts, policies));
    findings
}

/// Returns the command that applies the policies of these options again.
pub(super) fn again(options: &Options) -> String {
    format!("berth policies {} | kubectl apply -f -", options.flags())
}

/// Returns how writes are decided on this hub.
fn mode(facts: &Facts, options: &Options) -> String {
    let registered = facts.registered().count();
    let webhooks = match registered {
        0 => "policies decide, without a webhook".to_owned(),
        1 => "policies decide, and 1 webhook".to_owned(),
        more => format!("policies decide, and {more} webhooks"),
    };
    format!("{webhooks}; they were printed with {}", options.flags())
}

/// Policies that this API server cannot have.
fn not_served(facts: &Facts, policies: &Policies, options: &Options) -> Option<Finding> {
    let mutates = |row: &&Installed| row.policy.kind == PolicyKind::Mutating;
    let lacks = policies.installed.iter().any(|row| mutates(&row))
        && !policies.served.contains(&PolicyKind::Mutating);
    let version = facts.answered.version;
    let is_older = version.is_some_and(|(major, minor)| {
        Kubernetes::of(major, minor).map_or(true, |version| version < options.kubernetes)
    });
    if !lacks && !is_older {
        return None;
    }
    let version = version.map_or_else(String::new, |(major, minor)| format!(" {major}.{minor}"));
    let effect = match lacks {
        true => format!(
            "it serves no MutatingAdmissionPolicies, so {}",
            MUTATE_CLUSTER.missing.effect
        ),
        false => "expressions may use functions that it does not have".to_owned(),
    };
    let message = format!(
        "the policies were printed for Kubernetes {}, and the API server is Kubernetes{version}: {effect}",
        options.kubernetes
    );
    let finding = match facts.registration(&MUTATE_CLUSTER) {
        Ok(Some(_)) => CHECK.warning(message),
        _ => CHECK.fault(message),
    };
    Some(finding.remedy(
        "register the webhooks again (kubectl apply -k manifests), then apply the policies of the API server's version: berth \
         policies --kubernetes=1.35 | kubectl apply -f -",
    ))
}

fn of_row(facts: &Facts, options: &Options, row: &Installed) -> Option<Finding> {
    let webhook = WEBHOOKS.iter().find(|webhook| is_about(row, webhook));
    let effect = effect(row, webhook.copied());
    let differences = row.differences.join("; ");
    let message = match row.state {
        State::Enforced => return None,
        State::Audited if row.differences.is_empty() => return None,
        State::Audited => format!("{differences}: it refuses nothing, so {effect}"),
        State::Unbound => format!("it has no binding, so it has no effect: {effect}"),
        State::Missing => format!("it does not exist: {effect}"),
        State::Changed => format!(
            "it differs from what this version prints ({differences}): another version printed it, or a user changed it, and \
             writes that it guards may pass"
        ),
    };
    let is_fault = webhook.is_some_and(|it| it.missing.is_fault && !decides(facts, it));
    let finding = match is_fault {
        true => CHECK.fault(message),
        false => CHECK.warning(message),
    };
    let remedy = match row.state {
        State::Changed
            if row
                .differences
                .iter()
                .all(|it| it.contains("does not print")) =>
        {
            let kind = kind(row);
            format!("kubectl delete {kind},{kind}binding {}", row.policy.name)
        }
        _ => again(options),
    };
    let object = FindingObject::new(kind(row), &row.policy.name);
    Some(finding.of(object).remedy(remedy))
}

/// Returns what happens without this policy, as a clause.
fn effect(row: &Installed, webhook: Option<&ShippedWebhook>) -> &'static str {
    match (row.policy.short(), webhook) {
        (TAINT_TIMES, _) => "taints do not get their times",
        ("default-set.managedclusters", _) => "clusters do not get the default set",
        ("namespaces.managedclustersetbindings", _) => {
            "sets may be bound in the namespaces of accepted clusters, where agents control the bindings"
        }
        (_, Some(webhook)) => webhook.missing.effect,
        (_, None) => "users get no warnings",
    }
}

/// Returns true if the webhook is registered for all that it decides, beside the policies.
fn decides(facts: &Facts, webhook: &ShippedWebhook) -> bool {
    let registration = facts.registration(webhook);
    registration.is_ok_and(|it| {
        it.is_some_and(|it| {
            let fails_closed = |webhook: &serde_json::Value| webhook["failurePolicy"] != "Ignore";
            it.webhooks.iter().all(fails_closed)
        })
    })
}

/// A trial run is sound beside webhooks only.
fn trial(facts: &Facts, options: &Options) -> Option<Finding> {
    if options.action != Action::Audit {
        return None;
    }
    let undecided = WEBHOOKS
        .iter()
        .find(|it| !it.mutates && it.missing.is_fault && !decides(facts, it))?;
    let message = format!(
        "the policies were printed with --action=Audit, and the webhook {} is not registered: {}",
        undecided.name, undecided.missing.effect
    );
    let deny = Options {
        action: Action::Deny,
        ..options.clone()
    };
    Some(CHECK.fault(message).remedy(again(&deny)))
}

/// OCM's mutating webhook refuses each new taint that has a time, and the policy adds the time before the webhook is called.
fn of_ocms_mutator(facts: &Facts, policies: &Policies) -> Option<Finding> {
    let times = |row: &&Installed| {
        row.policy.short() == TAINT_TIMES && !matches!(row.state, State::Missing | State::Unbound)
    };
    let policy = policies.installed.iter().find(times)?;
    facts.registration(&MUTATE_CLUSTER).ok()??;
    let gate = facts.deployment(installation::WEBHOOK)?;
    installation::is_operators(gate).then(|| {
        let message = format!(
            "the Deployment {} runs /registration: if that is OCM's image, its webhook {} refuses every new taint, because this \
             policy has added the time",
            installation::WEBHOOK,
            MUTATE_CLUSTER.name
        );
        let kind = kind(policy);
        let name = &policy.policy.name;
        CHECK
            .warning(message)
            .of(FindingObject::new(kind, name))
            .remedy(format!(
                "with OCM's image: kubectl delete {kind},{kind}binding {name}"
            ))
    })
}

fn kind(row: &Installed) -> &'static str {
    match row.policy.kind {
        PolicyKind::Validating => "validatingadmissionpolicy",
        PolicyKind::Mutating => "mutatingadmissionpolicy",
    }
}

#[cfg(test)]
mod tests {
    use berth_policies::installed::{PolicyName, SUFFIX, Stored};
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{add_policies, container, told, with};
    use crate::doctor::facts::Unread;

    fn name(short: &str) -> PolicyName {
        let is_it = |name: &&PolicyName| name.short() == short;
        PolicyName::all().iter().find(is_it).unwrap().clone()
    }

    fn object(options: &Options, short: &str, binding: bool) -> serde_json::Value {
        let documents = berth_policies::policies(options);
        let mut documents = documents.iter().map(|it| serde_json::to_value(it).unwrap());
        let is_it = |it: &serde_json::Value| {
            it["metadata"]["name"] == format!("{short}{SUFFIX}")
                && it["spec"]["policyName"].is_string() == binding
        };
        documents.find(is_it).unwrap()
    }

    fn without_webhooks(facts: &mut Facts) {
        facts.mutating = Ok(Vec::new());
        facts.validating = Ok(Vec::new());
    }

    #[test]
    fn each_policy_must_be_there_bound_and_as_printed() {
        // (sentence, what is done, what is found without webhooks)
        type Change = fn(&mut Stored);
        let table: [(&str, Change, &[&str]); 8] = [
            ("sound", |_| {}, &[]),
            (
                "deleted",
                |it| it.set_policy(&name("managedclusters"), None),
                &[
                    "fault: it does not exist: any user who may write a ManagedCluster may accept it",
                ],
            ),
            (
                "unbound",
                |it| it.set_binding(&name("taint-times.managedclusters"), None),
                &["fault: it has no binding, so it has no effect: taints do not get their times"],
            ),
            (
                "another action",
                |it| {
                    let short = "managedclustersetbindings";
                    let mut binding = object(&Options::default(), short, true);
                    binding["spec"]["validationActions"] = json!(["Audit"]);
                    it.set_binding(&name(short), Some(binding));
                },
                &[
                    "fault: spec.validationActions of its binding is [\"Audit\"]: it refuses nothing, so any user who may write \
                     bindings",
                ],
            ),
            (
                "edited",
                |it| {
                    let short = "managedclusters";
                    let mut policy = object(&Options::default(), short, false);
                    policy["spec"]["failurePolicy"] = json!("Ignore");
                    it.set_policy(&name(short), Some(policy));
                },
                &[
                    "fault: it differs from what this version prints (spec.failurePolicy of the policy differs): another version",
                ],
            ),
            (
                "no warnings",
                |it| it.set_policy(&name("warnings.managedclusters"), None),
                &["warning: it does not exist: users get no warnings"],
            ),
            (
                "sets",
                |it| it.set_policy(&name("managedclustersets"), None),
                &["warning: it does not exist: sets that"],
            ),
            (
                "one of another gate",
                |it| {
                    let options = Options::of_flags("--feature-gates=DefaultClusterSet=false");
                    let options = options.unwrap();
                    for short in ["managedclusters", "warnings.managedclusters"] {
                        it.set_policy(&name(short), Some(object(&options, short, false)));
                    }
                },
                &["fault: it differs from what this version prints (berth policies with the flags"],
            ),
        ];
        for (sentence, change, expected) in table {
            let facts = with(|facts| {
                without_webhooks(facts);
                add_policies(facts, &Options::default(), change);
            });
            let mut findings = check(&facts);
            let mode = findings.remove(0);
            assert!(
                mode.message
                    .starts_with("policies decide, without a webhook")
            );
            assert_eq!(told(&findings, expected), expected, "{sentence}");
            for finding in &findings {
                let remedy = finding.remedy.as_deref().unwrap();
                let applies =
                    remedy.starts_with("berth policies --kubernetes=1.36 --mode=policies");
                let deletes = remedy.starts_with("kubectl delete mutatingadmissionpolicy,mutating");
                assert!(
                    applies || deletes && sentence == "one of another gate",
                    "{remedy}"
                );
            }
        }
    }

    #[test]
    fn beside_the_webhooks_no_difference_is_a_fault() {
        let facts = with(|facts| {
            add_policies(facts, &Options::default(), |it| {
                it.set_policy(&name("managedclusters"), None);
                it.set_binding(&name("managedclustersetbindings"), None);
            });
        });
        let expected = [
            "note: policies decide, and 12 webhooks; they were printed with --kubernetes=1.36 --mode=policies",
            "warning: it does not exist: any user",
            "warning: it has no binding",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn a_trial_run_needs_the_webhooks() {
        let audit = Options {
            action: Action::Audit,
            ..Options::default()
        };
        let facts = with(|facts| add_policies(facts, &audit, |_| {}));
        assert_eq!(check(&facts).len(), 1);
        let facts = with(|facts| {
            facts.validating = Ok(Vec::new());
            add_policies(facts, &audit, |_| {});
        });
        let findings = check(&facts);
        let expected = [
            "note: ",
            "fault: the policies were printed with --action=Audit, and the webhook managedclustervalidators",
        ];
        assert_eq!(told(&findings, &expected), expected);
        let remedy = findings[1].remedy.as_deref();
        assert_eq!(
            remedy,
            Some("berth policies --kubernetes=1.36 --mode=policies | kubectl apply -f -")
        );
    }

    #[test]
    fn an_older_api_server_cannot_have_them_all() {
        let older = |facts: &mut Facts| {
            facts.answered.version = Some((1, 35));
            facts.policies.as_mut().unwrap().served = vec![PolicyKind::Validating];
        };
        let facts = with(|facts| {
            add_policies(facts, &Options::default(), |_| {});
            older(facts);
        });
        let expected = [
            "note: ",
            "warning: the policies were printed for Kubernetes 1.36, and the API server is Kubernetes 1.35: it serves no",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
        let facts = with(|facts| {
            without_webhooks(facts);
            add_policies(facts, &Options::default(), |_| {});
            older(facts);
        });
        let expected = [
            "note: ",
            "fault: the policies were printed for Kubernetes 1.36",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
        let facts = with(|facts| {
            facts.answered.version = Some((1, 34));
            let options = Options {
                kubernetes: Kubernetes::V1_35,
                ..Options::default()
            };
            add_policies(facts, &options, |_| {});
        });
        let expected = [
            "note: ",
            "warning: the policies were printed for Kubernetes 1.35, and the API server is Kubernetes 1.34: expressions",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn ocms_mutator_refuses_what_the_policy_fills_in() {
        let facts = with(|facts| {
            container(facts).command = Some(vec!["/registration".to_owned()]);
            add_policies(facts, &Options::default(), |_| {});
        });
        let findings = check(&facts);
        let expected = [
            "note: ",
            "warning: the Deployment cluster-manager-registration-webhook runs",
        ];
        assert_eq!(told(&findings, &expected), expected);
        let object = findings[1].object.as_ref().unwrap();
        assert_eq!(object.name, name("taint-times.managedclusters").name);
    }

    #[test]
    fn without_policies_nothing_is_found() {
        let facts = with(|facts| facts.policies.as_mut().unwrap().served = Vec::new());
        assert_eq!(check(&facts), []);
        let facts = with(|facts| facts.policies = Err(Unread::Needs("x".to_owned())));
        let expected =
            ["unknown: could not be checked: the policies in the API server: you need x"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn flags_of_another_version_are_reported() {
        let facts = with(|facts| {
            add_policies(facts, &Options::default(), |it| {
                let mut policy = object(&Options::default(), "managedclusters", false);
                policy["metadata"]["annotations"][berth_policies::ANNOTATION] = json!("--new=1");
                it.set_policy(&name("managedclusters"), Some(policy));
            });
        });
        let expected = [
            "note: ",
            "warning: the annotation berth.open-cluster-management.io/policies has \"--new=1\"",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn a_gate_on_which_no_write_depends_is_no_fault() {
        let options = Options::of_flags("--mode=with-webhook").unwrap();
        let rest = |facts: &mut Facts, failure_policy: &str| {
            let mut rest = crate::policies::rest(&options).unwrap();
            let webhook = &mut rest["webhooks"][0];
            webhook["failurePolicy"] = json!(failure_policy);
            facts.mutating = Ok(Vec::new());
            let all = facts.validating.as_mut().unwrap();
            let webhook = webhook.take();
            all.retain(|it| it.name == rest["metadata"]["name"]);
            all[0].webhooks = vec![webhook];
            for called in facts.called.values_mut() {
                called.slices = Ok(Vec::new());
            }
            add_policies(facts, &options, |_| {});
        };
        for (failure_policy, endpoint, bundle) in [
            (
                "Ignore",
                "warning: it has no ready endpoint: the API server does not have checked what policies",
                "warning: it has no caBundle: the API server trusts only its own authorities, and does not have checked",
            ),
            (
                "Fail",
                "fault: it has no ready endpoint: the API server refuses all writes",
                "fault: it has no caBundle: the API server trusts only its own authorities, and refuses all writes",
            ),
        ] {
            let facts = with(|facts| rest(facts, failure_policy));
            let findings: Vec<Finding> = super::super::check(&facts)
                .into_iter()
                .filter(|it| [Check::WebhookService, Check::WebhookCertificate].contains(&it.check))
                .collect();
            let expected = [endpoint, bundle];
            assert_eq!(told(&findings, &expected), expected);
        }
    }
}
