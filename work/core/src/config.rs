//! The rules of a ManifestWork for one of its objects: how it is updated, what is reported of it, which conditions it gets.

use std::collections::HashMap;
use std::num::NonZeroU32;

use berth_api::work::{
    ConditionRule, FeedbackRule, FeedbackScrapeType, ManifestConfigOption, ManifestResourceMeta,
    UpdateStrategy, UpdateStrategyType,
};

use crate::{Prescribed, conditions, feedback};

/// What identifies an object in the configs of a ManifestWork. The namespace of a cluster-scoped object is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural name of the kind, such as `deployments`.
    pub resource: &'a str,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
}

/// The rules of a ManifestWork for one object.
///
/// Each kind of rule is taken from the first matching config that has one, as OCM's agent takes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules<'a> {
    /// How the object is updated; `None` is the default strategy.
    pub strategy: Option<&'a UpdateStrategy>,
    /// Fields that are reported.
    pub feedback: &'a [FeedbackRule],
    /// Conditions that are derived from the object.
    pub conditions: &'a [ConditionRule],
    /// When fields are read: the value of the last matching config. An agent that watches reports them at once in any case.
    pub scrape: FeedbackScrapeType,
}

/// The configs of a ManifestWork that the rules for an object come from, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    strategy: Option<Position>,
    feedback: Option<Position>,
    conditions: Option<Position>,
    /// The last one that matches.
    last: Option<Position>,
}

/// The position of a config, plus one: a work has as many as objects, and each object has some of them.
type Position = NonZeroU32;

/// The configs of a ManifestWork by what they are for: to look for each of many objects in each of many configs would take seconds.
#[derive(Debug, Default)]
pub struct Configs<'a> {
    named: HashMap<Identity<'a>, Picked>,
    /// Those with wildcards, by group and resource.
    patterns: HashMap<(&'a str, &'a str), Vec<(usize, &'a ManifestConfigOption)>>,
}

// === impl Identity ===

impl<'a> From<&'a ManifestResourceMeta> for Identity<'a> {
    fn from(meta: &'a ManifestResourceMeta) -> Self {
        Self {
            group: &meta.group,
            resource: &meta.resource,
            namespace: &meta.namespace,
            name: &meta.name,
        }
    }
}

impl Identity<'_> {
    /// Returns whether a config is for this object. Only names and namespaces may have wildcards.
    fn is_in(&self, config: &ManifestConfigOption) -> bool {
        let of = &config.resource_identifier;
        of.group == self.group
            && of.resource == self.resource
            && matches(&of.namespace, self.namespace)
            && matches(&of.name, self.name)
    }
}

// === impl Picked ===

impl Picked {
    /// What an object has of a config at this position that matches it.
    fn of(at: usize, config: &ManifestConfigOption) -> Self {
        let at = u32::try_from(at + 1).ok().and_then(Position::new);
        Self {
            strategy: at.filter(|_| config.update_strategy.is_some()),
            feedback: at.filter(|_| !config.feedback_rules.is_empty()),
            conditions: at.filter(|_| !config.condition_rules.is_empty()),
            last: at,
        }
    }

    fn and(self, other: Self) -> Self {
        let first = |one: Option<Position>, other| one.into_iter().chain(other).min();
        Self {
            strategy: first(self.strategy, other.strategy),
            feedback: first(self.feedback, other.feedback),
            conditions: first(self.conditions, other.conditions),
            last: self.last.max(other.last),
        }
    }
}

// === impl Configs ===

impl<'a> Configs<'a> {
    /// Indexes the configs of a ManifestWork.
    #[must_use]
    pub fn new(all: &'a [ManifestConfigOption]) -> Self {
        let mut configs = Self::default();
        for (at, config) in all.iter().enumerate() {
            let of = &config.resource_identifier;
            if of.namespace.contains('*') || of.name.contains('*') {
                let kind = (&*of.group, &*of.resource);
                configs.patterns.entry(kind).or_default().push((at, config));
                continue;
            }
            let id = Identity {
                group: &of.group,
                resource: &of.resource,
                namespace: &of.namespace,
                name: &of.name,
            };
            let picked = configs.named.entry(id).or_default();
            *picked = picked.and(Picked::of(at, config));
        }
        configs
    }

    /// The configs that the rules for an object come from.
    #[must_use]
    pub fn pick(&self, id: &Identity<'_>) -> Picked {
        let named = self.named.get(id).copied().unwrap_or_default();
        let patterns = self.patterns.get(&(id.group, id.resource));
        let patterns = patterns.into_iter().flatten();
        let matching = patterns.filter(|(_, config)| id.is_in(config));
        matching.fold(named, |picked, (at, config)| {
            picked.and(Picked::of(*at, config))
        })
    }
}

// === impl Rules ===

impl<'a> Rules<'a> {
    /// The rules of the configs of a ManifestWork for an object.
    #[must_use]
    pub fn of(configs: &'a [ManifestConfigOption], id: &Identity<'_>) -> Self {
        let matching = configs.iter().enumerate().filter(|(_, it)| id.is_in(it));
        let picked = matching.map(|(at, config)| Picked::of(at, config));
        Self::picked(configs, picked.fold(Picked::default(), Picked::and))
    }

    /// The rules that come from these configs of the ManifestWork.
    #[must_use]
    pub fn picked(configs: &'a [ManifestConfigOption], picked: Picked) -> Self {
        let config = |at: Option<Position>| configs.get(usize::try_from(at?.get()).ok()? - 1);
        let Picked {
            strategy,
            feedback,
            conditions,
            last,
        } = picked;
        if (strategy, feedback, conditions) == (None, None, None) {
            return Self::default();
        }
        Self {
            strategy: config(strategy).and_then(|it| it.update_strategy.as_ref()),
            feedback: config(feedback).map_or(&[], |it| &it.feedback_rules),
            conditions: config(conditions).map_or(&[], |it| &it.condition_rules),
            scrape: config(last)
                .map_or_else(Default::default, |it| it.feedback_scrape_type.clone()),
        }
    }

    /// Returns whether the manifest has fields to ignore, which are cut from it before it is applied or compared.
    #[must_use]
    pub fn cuts(&self) -> bool {
        let config = self.strategy.and_then(|it| it.server_side_apply.as_ref());
        config.is_some_and(|it| !it.ignore_fields.is_empty())
    }

    /// Returns whether to look at the object costs steps.
    #[must_use]
    pub fn cost(&self) -> bool {
        self.cuts() || !self.feedback.is_empty() || !self.conditions.is_empty()
    }

    /// Names the rules that cannot be used for an object, one sentence each: unknown types, expressions and paths that do not parse, and
    /// conditions that are not well-known for its kind.
    ///
    /// For commands, which have no object. The status of a ManifestWork reports the same faults ([`crate::report::report()`]): an unknown
    /// strategy in Applied, feedback rules in StatusFeedbackSynced, a condition rule in its own condition, or in Available if it has none.
    #[must_use]
    pub fn faults(&self, object: &Prescribed) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(UpdateStrategyType::Other(other)) = self.strategy.map(|it| &it.r#type) {
            faults.push(format!("the update strategy {other:?} is unknown"));
        }
        faults.extend(feedback::faults(self.feedback));
        let kind = (object.group(), object.version(), &*object.kind);
        faults.extend(conditions::faults(kind, self.conditions));
        faults
    }
}

/// Returns whether a text matches a pattern, in which `*` stands for any characters, also for none.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use berth_api::work::{FeedbackType, Manifest};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::prescribed;

    fn configs(value: Value) -> Vec<ManifestConfigOption> {
        serde_json::from_value(value).unwrap()
    }

    fn job(name: &str) -> Identity<'_> {
        Identity {
            group: "batch",
            resource: "jobs",
            namespace: "default",
            name,
        }
    }

    #[test]
    fn an_asterisk_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("my*", "my-test", true),
            ("*my", "my-test", false),
            ("*m*", "my-test", true),
            ("*t", "my-test", true),
            ("*", "my-test", true),
            ("*", "", true),
            ("", "", true),
            ("", "my-test", false),
            ("my-test", "my-test", true),
            ("my", "my-test", false),
            ("my*test", "my-test", true),
            ("my-t*-test", "my-test", false),
            ("m**t", "my-test", true),
            ("*a*b*", "xaxbx", true),
            ("*b*a*", "xaxbx", false),
            ("a*a", "a", false),
            ("*.", "my-test", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn each_kind_of_rule_is_that_of_the_first_matching_config_that_has_one() {
        let configs = configs(json!([
            {"resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "default", "name": "other"},
             "updateStrategy": {"type": "ReadOnly"}},
            {"resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "*", "name": "job1"},
             "feedbackScrapeType": "Watch",
             "feedbackRules": [{"type": "WellKnownStatus"}]},
            {"resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "default", "name": "job*"},
             "feedbackRules": [{"type": "JSONPaths"}],
             "conditionRules": [{"condition": "Complete", "type": "WellKnownConditions"}],
             "updateStrategy": {"type": "CreateOnly"}},
        ]));
        let rules = Rules::of(&configs, &job("job1"));
        assert_eq!(rules.feedback[0].r#type, FeedbackType::WellKnownStatus);
        assert_eq!(rules.conditions[0].condition, "Complete");
        assert_eq!(
            rules.strategy.unwrap().r#type,
            UpdateStrategyType::CreateOnly
        );
        assert_eq!(rules.scrape, FeedbackScrapeType::Poll);
        let rules = Rules::of(&configs, &job("job2"));
        assert_eq!(rules.feedback[0].r#type, FeedbackType::JsonPaths);
        assert_eq!(Rules::of(&configs, &job("none")), Rules::default());
    }

    #[test]
    fn group_and_resource_have_no_wildcards() {
        let config = |group: &str, resource: &str| {
            let id =
                json!({"group": group, "resource": resource, "namespace": "default", "name": "*"});
            configs(json!([{"resourceIdentifier": id, "updateStrategy": {"type": "ReadOnly"}}]))
        };
        for (group, resource, expected) in [
            ("batch", "jobs", true),
            ("*", "jobs", false),
            ("batch", "*", false),
            ("", "jobs", false),
        ] {
            let configs = config(group, resource);
            let rules = Rules::of(&configs, &job("a"));
            assert_eq!(rules.strategy.is_some(), expected, "{group} {resource}");
        }
    }

    #[test]
    fn a_config_with_a_scrape_type_alone_gives_nothing() {
        let configs = configs(json!([{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "default", "name": "a"},
            "feedbackScrapeType": "Watch",
        }]));
        assert_eq!(Rules::of(&configs, &job("a")), Rules::default());
    }

    #[test]
    fn unknown_types_are_named() {
        let configs = configs(json!([{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "default", "name": "a"},
            "updateStrategy": {"type": "Replace"},
            "feedbackRules": [{"type": "All"}],
            "conditionRules": [{"condition": "Done", "type": "Rego"}],
        }]));
        let expected = [
            r#"the update strategy "Replace" is unknown"#,
            r#"the type "All" of a feedback rule is unknown"#,
            r#"the condition rule "Done": the type "Rego" is unknown"#,
        ];
        let manifest = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}});
        let object = prescribed(0, &Manifest::new(&manifest).unwrap()).unwrap();
        assert_eq!(Rules::of(&configs, &job("a")).faults(&object), expected);
    }

    prop_compose! {
        /// A config of few groups, resources and names, of which many match.
        fn config()(
            group in "[gh]?", resource in "[rs]", namespace in "[ab*]{0,2}", name in "[ab*]{1,2}",
            (has_strategy, has_feedback, has_conditions, watches) in any::<(bool, bool, bool, bool)>(),
        ) -> Value {
            let mut config = json!({"resourceIdentifier":
                {"group": group, "resource": resource, "namespace": namespace, "name": name}});
            for (has, field, value) in [
                (has_strategy, "updateStrategy", json!({"type": "ReadOnly"})),
                (has_feedback, "feedbackRules", json!([{"type": "WellKnownStatus"}])),
                (has_conditions, "conditionRules", json!([{"condition": "C", "type": "WellKnownConditions"}])),
                (watches, "feedbackScrapeType", json!("Watch")),
            ] {
                if has {
                    config[field] = value;
                }
            }
            config
        }
    }

    proptest! {
        /// The index finds what a search in all configs finds: the very same rules, not equal ones.
        #[test]
        fn the_index_finds_the_rules_of_a_search(
            all in prop::collection::vec(config(), 0..12),
            (group, resource, namespace, name) in ("[gh]?", "[rs]", "[ab]{0,2}", "[ab]{1,2}"),
        ) {
            let all = configs(Value::Array(all));
            let id = Identity { group: &group, resource: &resource, namespace: &namespace, name: &name };
            let mut searched = Rules::default();
            for config in all.iter().filter(|it| id.is_in(it)) {
                searched.strategy = searched.strategy.or(config.update_strategy.as_ref());
                if searched.feedback.is_empty() {
                    searched.feedback = &config.feedback_rules;
                }
                if searched.conditions.is_empty() {
                    searched.conditions = &config.condition_rules;
                }
                searched.scrape = config.feedback_scrape_type.clone();
            }
            if !searched.cost() && searched.strategy.is_none() {
                searched = Rules::default();
            }
            let found = Rules::picked(&all, Configs::new(&all).pick(&id));
            prop_assert_eq!(&found, &searched);
            prop_assert_eq!(&found, &Rules::of(&all, &id));
            prop_assert_eq!(found.strategy.map(std::ptr::from_ref), searched.strategy.map(std::ptr::from_ref));
            let is_same = |one: &[FeedbackRule], other: &[FeedbackRule]| std::ptr::eq(one, other);
            prop_assert!(found.feedback.is_empty() || is_same(found.feedback, searched.feedback));
        }

        /// The matcher equals a regular expression of the pattern, by brute force over all splits.
        #[test]
        fn any_pattern_matches_as_its_definition(pattern in "[ab*]{0,6}", text in "[ab]{0,6}") {
            fn defined(pattern: &str, text: &str) -> bool {
                match pattern.chars().next() {
                    None => text.is_empty(),
                    Some('*') => (0..=text.len()).any(|at| defined(&pattern[1..], &text[at..])),
                    Some(first) => text.starts_with(first) && defined(&pattern[1..], &text[1..]),
                }
            }
            prop_assert_eq!(matches(&pattern, &text), defined(&pattern, &text));
        }
    }
}
