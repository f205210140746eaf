//! Runs the laws on inputs that proptest generates.

use berth_laws::requests::{agent, alternative_name, subject};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

/// Text of few letters, or of any characters.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[ab]{0,2}", 1 => "[a-z./-]{0,70}", 1 => any::<String>()]
}

fn stored() -> impl Strategy<Value = String> {
    let operator = select(&["In", "NotIn", "Exists", "DoesNotExist", "Has", ""][..]);
    let expression = (word(), operator, proptest::option::of(vec(word(), 0..4))).prop_map(
        |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
    );
    let equal = proptest::option::of(proptest::collection::btree_map(word(), word(), 0..3));
    let expressions = proptest::option::of(vec(expression, 0..4));
    (equal, expressions).prop_map(|(equal, expressions)| {
        json!({"matchLabels": equal, "matchExpressions": expressions}).to_string()
    })
}

/// Valid selectors that have much in common.
fn few_words() -> impl Strategy<Value = String> {
    let expression = ("[xy]", 0..4usize, vec("[abc]", 1..4)).prop_map(|(key, operator, values)| {
        match ["In", "NotIn", "Exists", "DoesNotExist"][operator] {
            operator @ ("In" | "NotIn") => {
                json!({"key": key, "operator": operator, "values": values})
            }
            operator => json!({"key": key, "operator": operator}),
        }
    });
    vec(expression, 0..4).prop_map(|it| json!({"matchExpressions": it}).to_string())
}

fn subjects() -> impl Strategy<Value = Vec<u8>> {
    const ORGANIZATIONS: &[&str] = &[
        "system:open-cluster-management:c1",
        "system:open-cluster-management:managed-clusters",
        "system:open-cluster-management:c2",
        "system:masters",
        "",
    ];
    const NAMES: &[&str] = &[
        "system:open-cluster-management:c1:agent",
        "system:open-cluster-management:c1:é",
        "system:open-cluster-management:c1:",
        "system:open-cluster-management:c1:a:b",
        "system:open-cluster-management:c10:agent",
        "",
    ];
    (vec(select(ORGANIZATIONS), 0..3), select(NAMES))
        .prop_map(|(organizations, name)| subject(&organizations, name))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writes_of_clusters(bytes in vec(any::<u8>(), 0..400)) {
        berth_laws::mutate(&bytes);
    }

    #[test]
    fn policies_and_questions(bytes in vec(any::<u8>(), 0..1500)) {
        berth_laws::rbac(&bytes);
    }

    #[test]
    fn selectors_as_they_are_typed(selector in "[a-c=!(), <>0]{0,24}(in|notin)?[a-c=!(), ]{0,12}", labels in "[a-c=,\n]{0,12}") {
        berth_laws::selector(format!("{selector}\n{labels}").as_bytes());
    }

    #[test]
    fn selectors_as_they_are_stored(selector in stored()) {
        berth_laws::selector(selector.as_bytes());
    }

    #[test]
    fn selectors_as_they_are_widened(old in stored(), new in stored()) {
        berth_laws::widening(&old, &new);
        berth_laws::widening(&old, &old);
    }

    #[test]
    fn selectors_of_few_words_as_they_are_widened(old in few_words(), new in few_words()) {
        berth_laws::widening(&old, &new);
    }

    #[test]
    fn selectors_of_any_text(selector: String) {
        berth_laws::selector(selector.as_bytes());
    }

    #[test]
    fn requests_of_any_subject(subject in subjects(), alternative in any::<bool>()) {
        let attributes = if alternative { alternative_name("a.example") } else { Vec::new() };
        berth_laws::csr(&[subject, attributes].concat());
    }

    #[test]
    fn requests_of_agents_with_other_bytes(bytes in vec((any::<Index>(), any::<u8>()), 0..4), more: Vec<u8>) {
        let mut request = [agent(), more].concat();
        for (at, byte) in bytes {
            *at.get_mut(&mut request) = byte;
        }
        berth_laws::csr(&request);
    }

    #[test]
    fn requests_of_any_bytes(bytes: Vec<u8>) {
        berth_laws::csr(&bytes);
    }
}
