//! A short notation for changes and answers in tables.

use berth_rules::{
    Answer, Answers, Change, Decision, DecisionOutcome, Namespace, Question, Rules, Settings,
};
use serde_json::{Value, json};

/// The time of every decision.
pub(crate) const NOW: &str = "2026-11-21T12:00:00Z";

/// The facts of the hub in a row, as words: `accept`, `join:SET`, `join:*`, `agent` (the requester is an agent), `bind:SET`, `execute-as:USER`, `terminating`, `own` (the namespace is the cluster's),
/// `binding:NAME`, `accepted`, `set:NAME`; the prefix `?` makes a fact unknown.
pub(crate) fn answer(question: &Question, facts: &[&str]) -> Answer {
    let fact = match question {
        Question::Permission(permission) if permission.subresource == "accept" => {
            "accept".to_owned()
        }
        Question::Permission(permission) => {
            let name = permission.name.as_deref().unwrap_or("*");
            let what = match permission.subresource {
                "" => permission.verbs[0],
                subresource => subresource,
            };
            format!("{what}:{name}")
        }
        Question::Namespace { .. } => {
            let namespace = Namespace {
                terminating: facts.contains(&"terminating"),
                of_cluster: facts.contains(&"own"),
            };
            if facts.contains(&"?namespace") {
                return Answer::Unknown("the hub is away".to_owned());
            } else if namespace == Namespace::default() {
                return Answer::No;
            }
            return Answer::Namespace(namespace);
        }
        Question::BindingsIn { .. } => {
            let names = facts
                .iter()
                .filter_map(|fact| fact.strip_prefix("binding:"));
            let names: Vec<_> = names.map(str::to_owned).collect();
            if !names.is_empty() {
                return Answer::Names(names);
            }
            "bindings".to_owned()
        }
        Question::AcceptedCluster { .. } => "accepted".to_owned(),
        Question::SetExists { name } => format!("set:{name}"),
        Question::InGroup { .. } => "agent".to_owned(),
    };
    if facts.contains(&format!("?{fact}").as_str()) {
        return Answer::Unknown("the hub is away".to_owned());
    }
    facts.contains(&fact.as_str()).into()
}

pub(crate) fn answered(questions: Vec<Question>, facts: &[&str]) -> Vec<(Question, Answer)> {
    questions
        .into_iter()
        .map(|question| {
            let answer = answer(&question, facts);
            (question, answer)
        })
        .collect()
}

/// Decides a change with these rules on a hub with these facts.
pub(crate) fn decided<'o, R: Rules>(
    change: &Change<'_, R::Object<'o>>,
    settings: &Settings,
    facts: &[&str],
) -> Decision {
    let mut case = R::examine(change, settings, NOW.parse().unwrap());
    let answers = answered(case.take_questions(), facts);
    case.decide(change, settings, Answers::new(&answers))
}

/// A decision in short: `allow`, or the code and the reasons; then `~` and the number of warnings.
pub(crate) fn short(decision: &Decision) -> String {
    let outcome = match &decision.outcome {
        DecisionOutcome::Allowed => "allow".to_owned(),
        DecisionOutcome::Malformed(faults) => {
            format!(
                "400 {}",
                faults
                    .iter()
                    .map(|fault| fault.reason.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            )
        }
        DecisionOutcome::Denied(denials) => {
            format!(
                "403 {}",
                denials
                    .iter()
                    .map(|denial| denial.reason.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            )
        }
        DecisionOutcome::Undecided(open) => format!("500 x{}", open.len()),
    };
    match decision.warnings.len() {
        0 => outcome,
        warnings => format!("{outcome} ~{warnings}"),
    }
}

/// A ManagedCluster with these labels and this spec.
pub(crate) fn cluster(labels: Value, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": "c1", "labels": labels },
        "spec": spec,
    })
}

/// The label that adds a cluster to a set.
pub(crate) fn in_set(set: &str) -> Value {
    json!({ "cluster.open-cluster-management.io/clusterset": set })
}

/// Marks the object as being deleted.
pub(crate) fn deleting(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
    object
}
