//! Laws of RBAC: permissions are additive, and each has a grant.

mod made_up;

use arbitrary::{Arbitrary, Unstructured};
use berth_rbac::{Grant, Policy, RbacKind, Request, Subject, Verdict, implied_groups, not_covered};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use self::made_up::{Question, RbacObject, Word, list};

#[derive(Debug)]
struct Case {
    objects: Vec<RbacObject>,
    added: Vec<RbacObject>,
    questions: Vec<Question>,
}

/// Runs the laws on a policy, objects to add, and questions, that are generated from the bytes.
///
/// # Panics
/// A law is broken.
pub fn rbac(bytes: &[u8]) {
    let Ok(case) = Case::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let policy = policy(case.objects.iter());
    let reversed = self::policy(unique(&case.objects).into_iter().rev());
    let in_order = self::policy(unique(&case.objects).into_iter());
    let mut more = policy.clone();
    for object in &case.added {
        // An object with an existing name would replace it, which can remove permissions.
        let renamed = object.renamed("added");
        if !case
            .objects
            .iter()
            .any(|object| object.id() == renamed.id())
        {
            renamed.add_to(&mut more);
        }
    }
    for question in &case.questions {
        let (subject, request) = (question.subject(), question.request());
        let verdict = policy.evaluate(&subject, &request);
        assert_eq!(
            policy.evaluate(&subject, &request),
            verdict,
            "a second evaluation gives the same verdict"
        );
        assert!(
            !verdict.is_allowed() || more.evaluate(&subject, &request).is_allowed(),
            "an additional object removes no permission: {question:?}"
        );
        assert_eq!(
            in_order.evaluate(&subject, &request),
            reversed.evaluate(&subject, &request),
            "the order of objects does not matter"
        );
        if let Verdict::Allowed(grant) = &verdict {
            the_grant_is_enough(&policy, &case.objects, grant, &subject, &request);
        }
        listed_and_allowed(&policy, question, &verdict);
        a_name_more_is_no_right_less(&policy, question, &verdict);
        let _ = implied_groups(subject.user);
    }
    covered_is_allowed(&case);
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        // Questions first, because they need few bytes and a policy can use all the rest.
        let (questions, added, objects) = (
            bytes.int_in_range(1..=6)?,
            bytes.int_in_range(0..=5)?,
            bytes.int_in_range(2..=16)?,
        );
        Ok(Self {
            questions: list(bytes, questions)?,
            added: list(bytes, added)?,
            objects: list(bytes, objects)?,
        })
    }
}

fn policy<'o>(objects: impl Iterator<Item = &'o RbacObject>) -> Policy {
    let mut policy = Policy::new();
    objects.for_each(|object| object.add_to(&mut policy));
    policy
}

/// Returns the objects that a policy accepts, the last one of each name.
fn unique(objects: &[RbacObject]) -> Vec<&RbacObject> {
    let taken: Vec<_> = objects.iter().filter(|object| object.is_taken()).collect();
    let is_last = |i: usize| {
        !taken[i + 1..]
            .iter()
            .any(|later| later.id() == taken[i].id())
    };
    (0..taken.len())
        .filter(|i| is_last(*i))
        .map(|i| taken[i])
        .collect()
}

/// The binding and role of a verdict are sufficient.
fn the_grant_is_enough(
    policy: &Policy,
    objects: &[RbacObject],
    grant: &Grant,
    subject: &Subject<'_, Word>,
    request: &Request<'_>,
) {
    assert!(!grant.to_string().is_empty());
    let Grant::Binding { binding, role, .. } = grant else {
        panic!("there are no superusers: {grant}");
    };
    let mut alone = Policy::new();
    let bindings = objects
        .iter()
        .filter(|object| object.id().0 == binding.kind);
    for object in bindings {
        // The last object of a name counts.
        if (object.id().1, object.id().2)
            == (
                binding.namespace.as_deref().unwrap_or_default(),
                binding.name.as_str(),
            )
        {
            object.add_to(&mut alone);
        }
    }
    let rules: Vec<PolicyRule> = policy
        .rules_of(role)
        .expect("what grants is there")
        .into_iter()
        .cloned()
        .collect();
    let metadata = ObjectMeta {
        name: Some(role.name.clone()),
        namespace: role.namespace.clone(),
        ..ObjectMeta::default()
    };
    let rules = Some(rules);
    let added = match role.kind {
        RbacKind::Role => alone.upsert_role(Role { metadata, rules }),
        _ => alone.upsert_cluster_role(ClusterRole {
            metadata,
            rules,
            aggregation_rule: None,
        }),
    };
    assert!(added.is_ok(), "what was taken once is taken again");
    assert!(
        alone.evaluate(subject, request).is_allowed(),
        "the grant is sufficient: {grant}"
    );
}

/// Every allowed request matches a listed rule; without a listed rule for the verb, no request is allowed.
fn listed_and_allowed(policy: &Policy, question: &Question, verdict: &Verdict) {
    let (Request::Resource { verb, .. } | Request::NonResource { verb, .. }) = question.request();
    let rules = policy
        .rules_for(&question.subject(), question.namespace())
        .rules;
    let listed = rules
        .iter()
        .any(|rule| rule.verbs.iter().any(|own| own == "*" || own == verb));
    assert!(
        listed || !verdict.is_allowed(),
        "every allowed request is listed: {question:?}"
    );
}

/// A request that is allowed without a name is allowed with any name, unless a rule is for the name "", which no object has.
fn a_name_more_is_no_right_less(policy: &Policy, question: &Question, verdict: &Verdict) {
    let Request::Resource {
        verb,
        api_group,
        resource,
        subresource,
        name: "",
        namespace,
    } = question.request()
    else {
        return;
    };
    let rules = policy.rules_for(&question.subject(), namespace).rules;
    if rules
        .iter()
        .any(|rule| rule.resource_names.iter().flatten().any(String::is_empty))
    {
        return;
    }
    let named = Request::Resource {
        verb,
        api_group,
        resource,
        subresource,
        name: "any",
        namespace,
    };
    assert!(
        !verdict.is_allowed() || policy.evaluate(&question.subject(), &named).is_allowed(),
        "{question:?}"
    );
}

/// The escalation check is sound: covered rules allow nothing beyond the held rules.
fn covered_is_allowed(case: &Case) {
    let rules = |objects: &[RbacObject]| -> Vec<PolicyRule> {
        objects.iter().flat_map(RbacObject::rules).collect()
    };
    let (held, wanted) = (rules(&case.objects), rules(&case.added));
    assert!(
        not_covered(&held, &held).is_empty(),
        "held rules are covered: {held:?}"
    );
    let open = not_covered(&held, &wanted);
    for part in &wanted {
        if !not_covered(&held, std::slice::from_ref(part)).is_empty() {
            assert!(!open.is_empty(), "the whole has no less than its parts");
            continue;
        }
        let (holder, part) = (
            made_up::holder_of(&held),
            made_up::holder_of(std::slice::from_ref(part)),
        );
        for question in &case.questions {
            let (subject, request) = (made_up::holder(), question.request());
            assert!(
                !part.evaluate(&subject, &request).is_allowed()
                    || holder.evaluate(&subject, &request).is_allowed(),
                "covered, but not held: {question:?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_allowed_now_and_then() {
        let mut dice = fastrand::Rng::with_seed(1);
        let mut allowed = 0;
        for _ in 0..2000 {
            let bytes: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(1500).collect();
            let case = Case::arbitrary(&mut Unstructured::new(&bytes)).expect("enough bytes");
            let policy = policy(case.objects.iter());
            let verdicts = case
                .questions
                .iter()
                .map(|question| policy.evaluate(&question.subject(), &question.request()));
            allowed += verdicts.filter(Verdict::is_allowed).count();
        }
        assert!(allowed > 20, "{allowed}");
    }
}
