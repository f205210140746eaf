//! Compares the policies of a hub with those that this version prints.
//!
//! Every object names the flags that printed it ([`ANNOTATION`]). So the same objects can be made again and compared field by
//! field. The API server adds defaults, which do not count. Any other additional field counts: it may narrow a policy.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::flags::{ANNOTATION, UnknownFlag};
use crate::options::{Action, Options};
use crate::policies;

/// The end of the name of every policy and binding.
pub const SUFFIX: &str = ".berth.open-cluster-management.io";

/// What the API server adds to a policy or a binding, besides empty values.
const DEFAULTS: [(&str, &str); 1] = [("matchPolicy", "Equivalent")];

/// Upper bound on differences that are reported for an object.
const MOST_DIFFERENCES: usize = 5;

/// The kind of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// ValidatingAdmissionPolicy
    Validating,
    /// MutatingAdmissionPolicy
    Mutating,
}

/// A policy by its kind and name. Its binding has the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyName {
    /// Its kind.
    pub kind: PolicyKind,
    /// metadata.name
    pub name: String,
}

/// The effect of a policy on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The policy is as this version prints it, and refuses, fills in or warns.
    Enforced,
    /// The policy is as this version prints it. What it refuses is only recorded or warned of.
    Audited,
    /// The policy has no binding, so it has no effect.
    Unbound,
    /// The policy does not exist.
    Missing,
    /// The policy or its binding differs from what this version prints.
    Changed,
}

/// A policy of a hub, and how it compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The policy.
    pub policy: PolicyName,
    /// Its effect.
    pub state: State,
    /// The differences from what this version prints, as sentences. A policy that is audited has one if it was printed to
    /// refuse.
    pub differences: Vec<String>,
}

/// The policies of a hub and their bindings, as they are stored.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    policies: BTreeMap<PolicyName, Value>,
    bindings: BTreeMap<PolicyName, Value>,
}

/// The objects of one policy that some options print.
struct Printed {
    policy: Value,
    binding: Value,
}

// === impl PolicyKind ===

impl PolicyKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Validating, Self::Mutating];

    /// The resource of policies of this kind.
    pub fn policies(self) -> &'static str {
        match self {
            Self::Validating => "validatingadmissionpolicies",
            Self::Mutating => "mutatingadmissionpolicies",
        }
    }

    /// The resource of their bindings.
    pub fn bindings(self) -> &'static str {
        match self {
            Self::Validating => "validatingadmissionpolicybindings",
            Self::Mutating => "mutatingadmissionpolicybindings",
        }
    }

    fn of(kind: &Value) -> Option<Self> {
        match kind.as_str()? {
            "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding" => {
                Some(Self::Validating)
            }
            "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding" => Some(Self::Mutating),
            _ => None,
        }
    }
}

// === impl PolicyName ===

impl PolicyName {
    /// The policies of the default options, which are all that there can be.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<PolicyName>> = LazyLock::new(|| {
            let options = Options::default();
            printed(&options).into_keys().collect()
        });
        &ALL
    }

    /// Its name without [`SUFFIX`].
    pub fn short(&self) -> &str {
        self.name.strip_suffix(SUFFIX).unwrap_or(&self.name)
    }
}

// === impl State ===

impl State {
    /// All states.
    pub const ALL: [Self; 5] = [
        Self::Enforced,
        Self::Audited,
        Self::Unbound,
        Self::Missing,
        Self::Changed,
    ];

    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Audited => "audited",
            Self::Unbound => "unbound",
            Self::Missing => "missing",
            Self::Changed => "changed",
        }
    }
}

// === impl Stored ===

impl Stored {
    /// Adds the objects of a list of policies, but those of others.
    pub fn add_policies(&mut self, kind: PolicyKind, list: &[Value]) {
        add(&mut self.policies, kind, list);
    }

    /// Adds the objects of a list of bindings, but those of others.
    pub fn add_bindings(&mut self, kind: PolicyKind, list: &[Value]) {
        add(&mut self.bindings, kind, list);
    }

    /// Sets a policy, or removes it.
    pub fn set_policy(&mut self, name: &PolicyName, object: Option<Value>) {
        set(&mut self.policies, name, object);
    }

    /// Sets a binding, or removes it.
    pub fn set_binding(&mut self, name: &PolicyName, object: Option<Value>) {
        set(&mut self.bindings, name, object);
    }

    /// Returns true if there is no policy. A binding alone has no effect.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Returns the options that the policies were printed for: those of the policy of ManagedClusters, otherwise those of
    /// another one. `None` if there is no policy, or none with an annotation.
    ///
    /// # Errors
    /// The annotation is not one of this version.
    pub fn options(&self) -> Option<Result<Options, UnknownFlag>> {
        let flags = |(name, policy): (&PolicyName, &Value)| {
            let flags = policy["metadata"]["annotations"][ANNOTATION].as_str()?;
            Some((name.short() != "managedclusters", flags.to_owned()))
        };
        let (_, flags) = self.policies.iter().filter_map(flags).min()?;
        Some(Options::of_flags(&flags))
    }

    /// Compares with what these options print: a row for each of their policies, and for each other policy of Berth.
    pub fn compare(&self, options: &Options) -> Vec<Installed> {
        let printed = printed(options);
        let mut rows: Vec<Installed> = printed
            .iter()
            .map(|(name, printed)| self.compare_one(name, printed))
            .collect();
        let others = self.policies.keys().filter(|it| !printed.contains_key(it));
        rows.extend(others.map(|name| Installed {
            policy: name.clone(),
            state: State::Changed,
            differences: vec![
                "berth policies with the flags of the other policies does not print it".to_owned(),
            ],
        }));
        rows
    }

    fn compare_one(&self, name: &PolicyName, printed: &Printed) -> Installed {
        let row = |state, differences| Installed {
            policy: name.clone(),
            state,
            differences,
        };
        let Some(policy) = self.policies.get(name) else {
            return row(State::Missing, Vec::new());
        };
        let mut differences = differences("the policy", &printed.policy, policy);
        let Some(binding) = self.bindings.get(name) else {
            return row(State::Unbound, differences);
        };
        // Of a mutating policy both are null.
        let action = &printed.binding["spec"]["validationActions"][0];
        let actions = &binding["spec"]["validationActions"];
        let mut as_bound = printed.binding.clone();
        if !action.is_null() {
            // Other actions than the printed one are a state of their own.
            as_bound["spec"]["validationActions"] = actions.clone();
        }
        differences.extend(self::differences("its binding", &as_bound, binding));
        if !differences.is_empty() {
            return row(State::Changed, differences);
        }
        let is_as_printed = actions.as_array().is_none_or(|it| it.contains(action));
        if !is_as_printed {
            let difference = format!("spec.validationActions of its binding is {actions}");
            return row(State::Audited, vec![difference]);
        }
        match *action == Action::Audit.as_str() {
            true => row(State::Audited, Vec::new()),
            false => row(State::Enforced, Vec::new()),
        }
    }
}

fn add(objects: &mut BTreeMap<PolicyName, Value>, kind: PolicyKind, list: &[Value]) {
    for object in list {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if name.ends_with(SUFFIX) {
            let name = PolicyName {
                kind,
                name: name.to_owned(),
            };
            objects.insert(name, object.clone());
        }
    }
}

fn set(objects: &mut BTreeMap<PolicyName, Value>, name: &PolicyName, object: Option<Value>) {
    match object {
        Some(object) => drop(objects.insert(name.clone(), object)),
        None => drop(objects.remove(name)),
    }
}

/// The objects that these options print, by policy.
fn printed(options: &Options) -> BTreeMap<PolicyName, Printed> {
    let mut printed: BTreeMap<PolicyName, Printed> = BTreeMap::new();
    let documents = policies(options);
    let documents = documents
        .iter()
        .filter_map(|document| serde_json::to_value(document).ok());
    for document in documents {
        let Some(kind) = PolicyKind::of(&document["kind"]) else {
            continue;
        };
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let name = PolicyName {
            kind,
            name: name.to_owned(),
        };
        let both = printed.entry(name).or_insert_with(|| Printed {
            policy: Value::Null,
            binding: Value::Null,
        });
        if document["spec"]["policyName"].is_string() {
            both.binding = document;
        } else {
            both.policy = document;
        }
    }
    printed
}

/// The differences of the specs, as sentences.
fn differences(whose: &str, printed: &Value, stored: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(&printed["spec"], &stored["spec"], "spec", &mut paths);
    let more = paths.len().saturating_sub(MOST_DIFFERENCES);
    paths.truncate(MOST_DIFFERENCES);
    let mut sentences: Vec<String> = paths
        .into_iter()
        .map(|path| format!("{path} of {whose} differs"))
        .collect();
    if more > 0 {
        sentences.push(format!("{more} more fields of {whose} differ"));
    }
    sentences
}

/// Adds the paths of fields that differ. `printed` is without defaults.
fn compare(printed: &Value, stored: &Value, path: &str, paths: &mut Vec<String>) {
    match (printed, stored) {
        (Value::Object(printed), Value::Object(stored)) => {
            for (key, value) in printed {
                let stored = stored.get(key).unwrap_or(&Value::Null);
                compare(value, stored, &format!("{path}.{key}"), paths);
            }
            for (key, value) in stored {
                if !printed.contains_key(key) && !is_default(key, value) {
                    paths.push(format!("{path}.{key}"));
                }
            }
        }
        (Value::Array(printed), Value::Array(stored)) if printed.len() == stored.len() => {
            for (index, (printed, stored)) in printed.iter().zip(stored).enumerate() {
                compare(printed, stored, &format!("{path}[{index}]"), paths);
            }
        }
        _ if printed == stored || is_empty(printed) && is_empty(stored) => {}
        _ => paths.push(path.to_owned()),
    }
}

fn is_default(key: &str, value: &Value) -> bool {
    let is_it = |(name, default): &(&str, &str)| *name == key && value == default;
    is_empty(value) || DEFAULTS.iter().any(is_it)
}

/// Returns true for values that the API server leaves out or fills in.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
