//! What decides a write: the gate, the policies, or the policies with one of them replaced by a mutant.

use serde_json::{Value, json};

/// The group of requesters whose writes the policies decide.
const POLICIES: &str = "proof:policies";

/// The group of requesters whose writes the gate decides.
const WEBHOOKS: &str = "proof:webhooks";

/// All of these groups may write everything.
pub const GROUPS: [&str; 2] = [POLICIES, WEBHOOKS];

/// What decides a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    Gate,
    Policies,
    /// The policies, but this one is replaced by its mutant.
    Mutant {
        policy: String,
        mutant: String,
    },
}

impl Engine {
    /// The groups of a requester whose writes this engine decides.
    pub fn groups(&self) -> Vec<String> {
        match self {
            Self::Gate => vec![WEBHOOKS.to_owned()],
            Self::Policies => vec![POLICIES.to_owned()],
            Self::Mutant { policy, mutant } => {
                vec![POLICIES.to_owned(), without(policy), of_mutant(mutant)]
            }
        }
    }
}

/// Restricts a webhook of a registration to writes that the gate decides.
pub fn restrict_webhook(webhook: &mut Value) {
    let expression = is_member(WEBHOOKS);
    push_condition(&mut webhook["matchConditions"], &expression);
    // Slow answers on a busy machine are no differences.
    webhook["failurePolicy"] = "Fail".into();
    webhook["timeoutSeconds"] = 30.into();
}

/// Restricts a policy to writes that the policies decide, without those that a mutant of it decides.
pub fn restrict_policy(policy: &mut Value) {
    let name = policy["metadata"]["name"].as_str().unwrap();
    let expression = format!(
        "{} && !({})",
        is_member(POLICIES),
        is_member(&without(name))
    );
    push_condition(&mut policy["spec"]["matchConditions"], &expression);
}

/// Gives a policy and its binding the name of a mutant, and restricts it to the writes that the mutant decides.
pub fn turn_into_mutant(policy: &mut Value, binding: &mut Value, mutant: &str) {
    for object in [&mut *policy, &mut *binding] {
        object["metadata"]["name"] = mutant.into();
    }
    binding["spec"]["policyName"] = mutant.into();
    let expression = is_member(&of_mutant(mutant));
    push_condition(&mut policy["spec"]["matchConditions"], &expression);
}

fn without(policy: &str) -> String {
    format!("proof:without:{policy}")
}

fn of_mutant(mutant: &str) -> String {
    format!("proof:mutant:{mutant}")
}

fn is_member(group: &str) -> String {
    format!("'{group}' in request.userInfo.groups")
}

/// Puts the condition first: it is the cheapest one, and keeps all others from writes of other engines.
fn push_condition(conditions: &mut Value, expression: &str) {
    let condition = json!({ "name": "proof", "expression": expression });
    match conditions {
        Value::Array(conditions) => conditions.insert(0, condition),
        none => *none = json!([condition]),
    }
}
