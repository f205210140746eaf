//! ManagedClusterSets: the selector, and the permission to widen it.

use crate::guard::Guard;
use crate::policy::{Code, Policy, Target};
use crate::snippets::Snippet;
use crate::template::Template;

/// The variables about a selector, of the new object and of the stored one.
const OF_EACH: [&str; 19] = [
    "ByLabels",
    "Selectors",
    "Labels",
    "Expressions",
    "Requirements",
    "Values",
    "Whole",
    "InvalidLabels",
    "InvalidExpressions",
    "Faults",
    "All",
    "Keys",
    "Needed",
    "Only",
    "None",
    "But",
    "InKeys",
    "InPairs",
    "Allowed",
];

pub(crate) fn policy(template: &Template) -> Policy {
    let mut policy = Policy::validating("", Target::SETS)
        .when(Guard::ClusterSet.name(), Guard::ClusterSet.fill(template))
        .variables(template, "sets", &["name", "user", "newSpec", "oldSpec"]);
    for side in ["new", "old"] {
        for name in OF_EACH {
            let snippet = Snippet::at(&format!("sets/side{name}"));
            let expression = template.fill(&snippet.text().replace("{{SIDE}}", side));
            policy = policy.variable(&format!("{side}{name}"), expression);
        }
    }
    policy
        .variables(
            template,
            "sets",
            &["introduced", "faults", "wider", "widened", "lacksJoin"],
        )
        .require(
            Code::Invalid,
            "variables.faults.size() == 0".to_owned(),
            template.fill("{{listedInPart variables.faults}}"),
        )
        .require(
            Code::Forbidden,
            "!variables.lacksJoin".to_owned(),
            template.fill("variables.widened ? {{say widen | variables.name}} : ''"),
        )
}
