//! Conditions of an object that condition rules set. Reasons and messages are those of OCM.

use std::cell::OnceCell;
use std::slice;

use berth_api::conditions::{FALSE, TRUE, manifest, manifest_work};
use berth_api::names::is_dns1123_subdomain;
use berth_api::work::{ConditionRule, ConditionRuleType, ManifestResourceMeta};
use berth_cel::{BUDGET, Environment, EvaluationError, Function, Host, Value};

use crate::bound::shortened;
use crate::programs::Programs;

/// The budget of all expressions of an object, in steps.
pub(crate) const OBJECT_BUDGET: u64 = 10 * BUDGET;

/// The most rules of an object that are evaluated.
const MOST_RULES: usize = 100;

/// The longest type and message of a condition, from the schema.
const LONGEST_TYPE: usize = 316;
const LONGEST_MESSAGE: usize = 32_768;

/// The longest error in bytes.
const LONGEST_ERROR: usize = 1024;

/// The most bytes of the messages that rules give an object.
const MOST_BYTES: usize = 64 * 1024;

/// Conditions that the agent sets itself.
const RESERVED: [&str; 4] = [
    manifest::APPLIED,
    manifest::AVAILABLE,
    manifest::STATUS_FEEDBACK_SYNCED,
    manifest_work::DELETING,
];

const OBJECT: &str = "object";
const RESULT: &str = "result";
const HAS_CONDITIONS: &str = "hasConditions";

const FUNCTIONS: &[Function] = &[Function::of_host(HAS_CONDITIONS, false, &[1])];

/// Group, version and kind of an object.
type ObjectKind<'a> = (&'a str, &'a str, &'a str);

/// What expressions for a condition can use.
const OF_CONDITION: Environment = Environment {
    variables: &[OBJECT],
    functions: FUNCTIONS,
};

/// What expressions for a message can use.
const OF_MESSAGE: Environment = Environment {
    variables: &[OBJECT, RESULT],
    functions: FUNCTIONS,
};

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleCondition {
    pub(crate) type_: String,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// The object as expressions see it.
struct ObjectHost<'a> {
    json: &'a serde_json::Value,
    object: OnceCell<Value>,
    /// The value of the condition, for its message.
    result: Option<Value>,
}

/// Evaluates the rules for an object. `budget` is that of all expressions; what they cost is taken from it.
pub(crate) fn conditions(
    meta: &ManifestResourceMeta,
    rules: &[ConditionRule],
    object: &serde_json::Value,
    programs: &Programs,
    budget: &mut u64,
) -> Vec<RuleCondition> {
    let mut host = ObjectHost {
        json: object,
        object: OnceCell::new(),
        result: None,
    };
    let mut room = MOST_BYTES;
    let mut conditions = Vec::new();
    for rule in usable(rules) {
        let evaluated = match &rule.r#type {
            ConditionRuleType::Cel => host.cel(rule, programs, budget),
            ConditionRuleType::WellKnownConditions => match well_known(kind_of(meta), rule, object)
            {
                Some((holds, message)) => {
                    host.result = Some(Value::Bool(holds));
                    Ok((holds, host.message(rule, message, programs, budget)))
                }
                None => continue,
            },
            ConditionRuleType::Other(other) => {
                Err((manifest::CONDITION_RULE_INVALID, unknown_type(other)))
            }
        };
        let (status, reason, message) = match evaluated {
            Ok((true, message)) => (TRUE, manifest::CONDITION_RULE_EVALUATED, message),
            Ok((false, message)) => (FALSE, manifest::CONDITION_RULE_EVALUATED, message),
            Err((reason, error)) => (FALSE, reason, shortened(error, LONGEST_ERROR)),
        };
        let message = shortened(message, LONGEST_MESSAGE.min(room));
        room -= message.len();
        conditions.push(RuleCondition {
            type_: rule.condition.clone(),
            status,
            reason,
            message,
        });
    }
    conditions
}

/// The rules that can set a condition: those with a valid type that the agent does not set itself, the first one of each type.
fn usable(rules: &[ConditionRule]) -> impl Iterator<Item = &ConditionRule> {
    let first = |(at, rule): &(usize, &ConditionRule)| {
        let same = |it: &ConditionRule| it.condition == rule.condition;
        !rules[..*at].iter().any(same)
    };
    let rules = rules.iter().take(MOST_RULES).enumerate();
    rules
        .filter(first)
        .map(|(_, rule)| rule)
        .filter(|it| can_be_set(&it.condition))
}

/// Names the rules that are not used and that no condition reports: rules for a condition that no rule sets, well-known rules for a
/// condition that the kind does not have, and rules over the limit.
///
/// Other faults are in the message of the condition that the rule sets. It is asked for each object of each status: rules over the limit are
/// counted, and as many are named as have room in a text.
pub(crate) fn unreported(meta: &ManifestResourceMeta, all: &[ConditionRule]) -> Vec<String> {
    let rules = &all[..all.len().min(MOST_RULES)];
    let unset = with_room(not_settable(rules));
    let unset = (!unset.is_empty()).then(|| format!("condition rules cannot set {unset:?}"));
    let unknown = with_room(not_well_known(kind_of(meta), rules));
    let unknown = (!unknown.is_empty()).then(|| has_not(kind_of(meta), &unknown));
    let unset = unset.into_iter().chain(unknown);
    unset.chain(too_many(all)).collect()
}

/// The first types, as many as have room in a text that is cut.
fn with_room<'a>(types: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut room = LONGEST_ERROR;
    let has_room = |it: &&str| {
        let has_room = room > 0;
        room = room.saturating_sub(it.len());
        has_room
    };
    types.take_while(has_room).collect()
}

/// The types of conditions for which there are well-known rules, and which the kind does not have.
fn not_well_known<'a>(
    kind: ObjectKind<'_>,
    rules: &'a [ConditionRule],
) -> impl Iterator<Item = &'a str> {
    let is_unknown = move |it: &&ConditionRule| {
        it.r#type == ConditionRuleType::WellKnownConditions
            && !is_reserved(&it.condition)
            && well_known(kind, it, &serde_json::Value::Null).is_none()
    };
    rules
        .iter()
        .filter(is_unknown)
        .map(|it| it.condition.as_str())
}

fn has_not((_, version, kind): ObjectKind<'_>, types: &[&str]) -> String {
    format!("{version} {kind} has no well-known conditions {types:?}: use rules of the type CEL")
}

/// The types of conditions that rules name and cannot set.
fn not_settable(rules: &[ConditionRule]) -> impl Iterator<Item = &str> {
    let types = rules.iter().map(|it| it.condition.as_str());
    // A well-known rule for all conditions of the kind has no type.
    types.filter(|it| !it.is_empty() && !can_be_set(it))
}

/// Returns whether the agent sets a condition itself, so that no rule can.
pub(crate) fn is_reserved(type_: &str) -> bool {
    RESERVED.contains(&type_)
}

/// Returns whether a rule sets this condition for the kind of an object.
pub(crate) fn sets(meta: &ManifestResourceMeta, rules: &[ConditionRule], type_: &str) -> bool {
    // The first rule of the type is the one that counts.
    let mut rules = rules.iter().take(MOST_RULES);
    let rule = rules.find(|it| it.condition == type_ && can_be_set(type_));
    rule.is_some_and(|rule| {
        rule.r#type != ConditionRuleType::WellKnownConditions
            || well_known(kind_of(meta), rule, &serde_json::Value::Null).is_some()
    })
}

/// Names the rules that cannot be used for this kind, whatever the object is.
pub(crate) fn faults(kind: ObjectKind<'_>, rules: &[ConditionRule]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let condition = &rule.condition;
        let mut fault = |what: String| {
            faults.push(format!("the condition rule {condition:?}: {what}"));
        };
        if is_reserved(condition) {
            fault("the agent sets this condition itself".to_owned());
        } else if !is_condition_type(condition) && !condition.is_empty() {
            fault("this is no valid type of a condition".to_owned());
        }
        if rules[..at].iter().any(|it| it.condition == *condition) {
            fault("an earlier rule sets this condition".to_owned());
        }
        let expressions = match &rule.r#type {
            ConditionRuleType::Other(other) => {
                fault(unknown_type(other));
                continue;
            }
            ConditionRuleType::WellKnownConditions => {
                for type_ in not_well_known(kind, slice::from_ref(rule)) {
                    fault(has_not(kind, &[type_]));
                }
                &[][..]
            }
            ConditionRuleType::Cel => {
                if rule.cel_expressions.is_empty() {
                    fault(no_expressions());
                }
                &rule.cel_expressions
            }
        };
        let of_condition = expressions.iter().map(|it| (it, OF_CONDITION));
        let of_message = Some((&rule.message_expression, OF_MESSAGE));
        let of_message = of_message.filter(|(it, _)| !it.is_empty());
        for (text, environment) in of_condition.chain(of_message) {
            if let Err(mistake) = berth_cel::Expression::new(text, environment) {
                fault(format!("the expression {text:?}: {mistake}"));
            }
        }
    }
    faults.extend(too_many(rules));
    faults
}

fn too_many(rules: &[ConditionRule]) -> Option<String> {
    let count = rules.len();
    (count > MOST_RULES)
        .then(|| format!("there are {count} condition rules; the first {MOST_RULES} are evaluated"))
}

fn unknown_type(type_: &str) -> String {
    format!("the type {type_:?} is unknown")
}

fn no_expressions() -> String {
    "celExpressions is empty".to_owned()
}

fn can_be_set(type_: &str) -> bool {
    is_condition_type(type_) && !is_reserved(type_)
}

/// Returns whether the API server accepts the type of a condition. It would refuse the whole status otherwise.
fn is_condition_type(type_: &str) -> bool {
    let (prefix, name) = match type_.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, type_),
    };
    let is_end = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    let is_part = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    type_.len() <= LONGEST_TYPE
        && prefix.is_none_or(is_dns1123_subdomain)
        && is_end(name.chars().next())
        && is_end(name.chars().next_back())
        && name.chars().all(is_part)
}

fn kind_of(meta: &ManifestResourceMeta) -> ObjectKind<'_> {
    (&meta.group, &meta.version, &meta.kind)
}

/// The condition Complete of kinds that finish, and its message.
fn well_known(
    kind: ObjectKind<'_>,
    rule: &ConditionRule,
    object: &serde_json::Value,
) -> Option<(bool, String)> {
    if rule.condition != manifest_work::COMPLETE {
        return None;
    }
    match kind {
        ("batch", "v1", "Job") => {
            let conditions = object.pointer("/status/conditions");
            let mut conditions = conditions
                .and_then(serde_json::Value::as_array)
                .into_iter()
                .flatten();
            let is_finished = conditions.any(|it| {
                let type_ = it["type"].as_str();
                matches!(type_, Some("Complete" | "Failed")) && it["status"] == TRUE
            });
            let message = if is_finished {
                "Job is finished"
            } else {
                "Job is not finished"
            };
            Some((is_finished, message.to_owned()))
        }
        ("", "v1", "Pod") => {
            let phase = object
                .pointer("/status/phase")
                .and_then(serde_json::Value::as_str);
            let phase = phase.unwrap_or_default();
            let is_finished = matches!(phase, "Succeeded" | "Failed");
            Some((is_finished, format!("Pod is in phase {phase}")))
        }
        _ => None,
    }
}

// === impl ObjectHost ===

impl ObjectHost<'_> {
    /// The value of a condition, and its message; or a reason and an error.
    fn cel(
        &mut self,
        rule: &ConditionRule,
        programs: &Programs,
        budget: &mut u64,
    ) -> Result<(bool, String), (&'static str, String)> {
        if rule.cel_expressions.is_empty() {
            return Err((manifest::CONDITION_RULE_INVALID, no_expressions()));
        }
        self.result = None;
        // A later expression may be evaluated for the first time when the earlier ones are true: its mistakes are reported now.
        for text in &rule.cel_expressions {
            // Its program may have to be compiled.
            *budget = budget.saturating_sub(text.len() as u64);
            if *budget == 0 {
                return Err((manifest::CONDITION_RULE_EXPRESSION_ERROR, exceeded(0)));
            }
            if let Err(mistake) = &*programs.get(text, OF_CONDITION) {
                return Err((manifest::CONDITION_RULE_EXPRESSION_ERROR, mistake.clone()));
            }
        }
        let mut holds = true;
        for text in &rule.cel_expressions {
            let value = self.value(text, OF_CONDITION, programs, budget);
            let value = value.and_then(|value| match value {
                Value::Bool(value) => Ok(value),
                other => Err(unexpected("bool", &other)),
            });
            holds = value.map_err(|it| (manifest::CONDITION_RULE_EXPRESSION_ERROR, it))?;
            if !holds {
                break;
            }
        }
        self.result = Some(Value::Bool(holds));
        let not = if holds { "" } else { "not " };
        let default = format!("Manifest is {not}{}", rule.condition);
        Ok((holds, self.message(rule, default, programs, budget)))
    }

    /// The message of a rule, or `default` if it has none.
    fn message(
        &self,
        rule: &ConditionRule,
        default: String,
        programs: &Programs,
        budget: &mut u64,
    ) -> String {
        if !rule.message_expression.is_empty() {
            let length = rule.message_expression.len() as u64;
            *budget = budget.saturating_sub(length);
            let value = self.value(&rule.message_expression, OF_MESSAGE, programs, budget);
            match value {
                Ok(Value::String(text)) if text.is_empty() => {}
                Ok(Value::String(text)) => return text.to_string(),
                Ok(other) => return unexpected("string", &other),
                Err(error) => return shortened(error, LONGEST_ERROR),
            }
        }
        if !rule.message.is_empty() {
            return rule.message.clone();
        }
        default
    }

    fn value(
        &self,
        text: &str,
        environment: Environment,
        programs: &Programs,
        budget: &mut u64,
    ) -> Result<Value, String> {
        let granted = *budget;
        match &*programs.get(text, environment) {
            Err(mistake) => Err(mistake.clone()),
            Ok(expression) => expression.evaluate(self, budget).map_err(|it| match it {
                EvaluationError::Error(message) => message,
                EvaluationError::TooCostly => exceeded(granted),
            }),
        }
    }
}

/// OCM's words, the bound that an expression with this budget exceeds, and the remedy.
fn exceeded(granted: u64) -> String {
    let words = "CEL evaluation budget exceeded";
    if granted >= BUDGET {
        format!("{words}: the expression costs more than {BUDGET} steps; let it read fewer values")
    } else {
        format!(
            "{words}: the expressions of all condition rules of the object cost more than {OBJECT_BUDGET} steps together; use fewer or \
             simpler ones"
        )
    }
}

fn unexpected(wanted: &str, value: &Value) -> String {
    format!("expected {wanted} result, got {}", value.type_name())
}

impl Host for ObjectHost<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        match name {
            OBJECT => Some(self.object.get_or_init(|| Value::from(self.json))),
            RESULT => self.result.as_ref(),
            _ => None,
        }
    }

    /// `hasConditions(status)`: the value is an object with conditions. Any value may be given.
    fn call(&self, _: &str, args: &[Value]) -> Result<Value, String> {
        let conditions = args.first().and_then(|it| it.field("conditions"));
        let has = matches!(conditions, Some(Value::List(items)) if !items.is_empty());
        Ok(Value::Bool(has))
    }
}

#[cfg(test)]
mod tests;
