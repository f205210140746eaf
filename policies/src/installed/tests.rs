use serde_json::json;

use super::*;
use crate::options::{Kubernetes, Mode};

/// The objects that these options print, as a hub stores them.
fn stored(options: &Options) -> Stored {
    let mut stored = Stored::default();
    for (name, printed) in printed(options) {
        let mut policy = printed.policy;
        // Empty lists are not stored.
        if policy["spec"]["matchConditions"] == json!([]) {
            policy["spec"]["matchConditions"] = Value::Null;
        }
        let constraints = &mut policy["spec"]["matchConstraints"];
        constraints["matchPolicy"] = json!("Equivalent");
        constraints["namespaceSelector"] = json!({});
        constraints["objectSelector"] = json!({});
        stored.set_policy(&name, Some(policy));
        stored.set_binding(&name, Some(printed.binding));
    }
    stored
}

fn clusters() -> PolicyName {
    PolicyName {
        kind: PolicyKind::Validating,
        name: format!("managedclusters{SUFFIX}"),
    }
}

fn row(stored: &Stored, name: &PolicyName) -> Installed {
    let options = stored.options().unwrap().unwrap();
    let rows = stored.compare(&options);
    rows.into_iter().find(|it| it.policy == *name).unwrap()
}

#[test]
fn what_is_printed_is_enforced_with_the_defaults_of_the_api_server() {
    for kubernetes in Kubernetes::ALL {
        for (action, expected) in [
            (Action::Deny, State::Enforced),
            (Action::Audit, State::Audited),
        ] {
            let options = Options {
                kubernetes,
                action,
                mode: Mode::WithWebhook,
                ..Options::default()
            };
            let stored = stored(&options);
            assert_eq!(stored.options(), Some(Ok(options.clone())));
            for row in stored.compare(&options) {
                assert_eq!((row.state, &*row.differences), (expected, &[][..]));
            }
        }
    }
}

#[test]
fn every_state_is_told_by_what_differs() {
    type Change = fn(&mut Stored, &PolicyName);
    fn policy(stored: &mut Stored, change: impl Fn(&mut Value)) {
        change(stored.policies.get_mut(&clusters()).unwrap());
    }
    fn binding(stored: &mut Stored, change: impl Fn(&mut Value)) {
        change(stored.bindings.get_mut(&clusters()).unwrap());
    }
    // (sentence, change, state, differences)
    let table: [(&str, Change, State, &[&str]); 12] = [
        (
            "deleted",
            |it, name| it.set_policy(name, None),
            State::Missing,
            &[],
        ),
        (
            "unbound",
            |it, name| it.set_binding(name, None),
            State::Unbound,
            &[],
        ),
        (
            "refusals are recorded, too",
            |it, _| {
                binding(it, |it| {
                    it["spec"]["validationActions"] = json!(["Audit", "Deny"])
                })
            },
            State::Enforced,
            &[],
        ),
        (
            "refusals are recorded only",
            |it, _| {
                binding(it, |it| {
                    it["spec"]["validationActions"] = json!(["Audit", "Warn"])
                })
            },
            State::Audited,
            &["spec.validationActions of its binding is [\"Audit\",\"Warn\"]"],
        ),
        (
            "bound for some objects",
            |it, _| {
                binding(it, |it| {
                    it["spec"]["matchResources"] =
                        json!({"objectSelector": {"matchLabels": {"a": "b"}}})
                })
            },
            State::Changed,
            &["spec.matchResources of its binding differs"],
        ),
        (
            "bound to another policy",
            |it, _| binding(it, |it| it["spec"]["policyName"] = json!("x")),
            State::Changed,
            &["spec.policyName of its binding differs"],
        ),
        (
            "an expression is edited",
            |it, _| {
                policy(it, |it| {
                    it["spec"]["validations"][0]["expression"] = json!("true")
                })
            },
            State::Changed,
            &["spec.validations[0].expression of the policy differs"],
        ),
        (
            "a validation is removed",
            |it, _| {
                policy(it, |it| {
                    drop(it["spec"]["validations"].as_array_mut().unwrap().pop());
                })
            },
            State::Changed,
            &["spec.validations of the policy differs"],
        ),
        (
            "errors admit",
            |it, _| policy(it, |it| it["spec"]["failurePolicy"] = json!("Ignore")),
            State::Changed,
            &["spec.failurePolicy of the policy differs"],
        ),
        (
            "some objects are excluded",
            |it, _| {
                policy(it, |it| {
                    it["spec"]["matchConstraints"]["objectSelector"] =
                        json!({"matchLabels": {"a": "b"}});
                    it["spec"]["matchConstraints"]["matchPolicy"] = json!("Exact");
                })
            },
            State::Changed,
            &[
                "spec.matchConstraints.matchPolicy of the policy differs",
                "spec.matchConstraints.objectSelector of the policy differs",
            ],
        ),
        (
            "many fields",
            |it, _| {
                policy(it, |it| {
                    for variable in it["spec"]["variables"].as_array_mut().unwrap() {
                        variable["expression"] = json!("1");
                    }
                })
            },
            State::Changed,
            &[],
        ),
        (
            "an annotation",
            |it, _| policy(it, |it| it["metadata"]["annotations"]["a"] = json!("b")),
            State::Enforced,
            &[],
        ),
    ];
    for (sentence, change, state, differences) in table {
        let mut stored = stored(&Options::default());
        change(&mut stored, &clusters());
        let row = row(&stored, &clusters());
        assert_eq!(row.state, state, "{sentence}: {row:?}");
        if sentence == "many fields" {
            assert_eq!(row.differences.len(), MOST_DIFFERENCES + 1);
        } else {
            assert_eq!(row.differences, differences, "{sentence}");
        }
    }
}

#[test]
fn all_policies_are_compared_with_the_flags_of_one() {
    let mut mixed = stored(&Options::default());
    let without_default = Options::of_flags("--feature-gates=DefaultClusterSet=false").unwrap();
    let name = clusters();
    let other = stored(&without_default);
    mixed.set_policy(&name, Some(other.policies[&name].clone()));
    let options = mixed.options().unwrap().unwrap();
    assert_eq!(options, without_default);
    let states: BTreeMap<String, State> = mixed
        .compare(&options)
        .into_iter()
        .map(|row| (row.policy.short().to_owned(), row.state))
        .collect();
    assert_eq!(states["managedclusters"], State::Enforced);
    // It is printed with the gate only.
    assert_eq!(states["default-set.managedclusters"], State::Changed);
    assert_eq!(states["warnings.managedclusters"], State::Changed);
    // Another policy tells the options if that of clusters is missing.
    mixed.set_policy(&name, None);
    assert_eq!(mixed.options(), Some(Ok(Options::default())));
    assert_eq!(Stored::default().options(), None);
}

#[test]
fn policies_of_others_are_left_out() {
    let mut stored = Stored::default();
    let object = |name: &str| json!({"metadata": {"name": name}});
    stored.add_policies(
        PolicyKind::Validating,
        &[object("a.example.com"), object(&clusters().name)],
    );
    assert_eq!(stored.policies.keys().collect::<Vec<_>>(), [&clusters()]);
    assert_eq!(stored.options(), None);
}

#[test]
fn every_policy_has_a_name_and_a_short_one() {
    let short: Vec<&str> = PolicyName::all().iter().map(PolicyName::short).collect();
    assert_eq!(
        short,
        [
            "certificatesigningrequests",
            "managedclusters",
            "managedclustersetbindings",
            "managedclustersets",
            "namespaces.managedclustersetbindings",
            "warnings.managedclusters",
            "default-set.managedclusters",
            "taint-times.managedclusters",
        ]
    );
    for kubernetes in Kubernetes::ALL {
        for action in [Action::Deny, Action::Audit] {
            let options = Options {
                kubernetes,
                action,
                ..Options::default()
            };
            for name in printed(&options).keys() {
                assert!(PolicyName::all().contains(name), "{name:?}");
            }
        }
    }
}
