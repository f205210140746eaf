//! Laws of reviews: every input gets a response, and another way of writing a review does not allow more.

use std::hash::{DefaultHasher, Hash, Hasher};

use berth_review::Webhook;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::gate::{FakeHub, Said, ask, ask_json, now};
use crate::mutation;
use crate::rewritten::{Style, members, rewritten};

/// Number of attempts with a duplicate key.
const TWICE: usize = 4;

/// Sends the bytes to the gate as an AdmissionReview, to each of its paths.
///
/// # Panics
/// A law is broken.
pub fn review(bytes: &[u8]) {
    let said = Webhook::ALL.map(|webhook| ask(FakeHub::Sample, webhook, bytes, now()));
    let Ok(review) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut dice = Rng::with_seed(hasher.finish());
    for (webhook, said) in Webhook::ALL.into_iter().zip(said) {
        let plain = ask_json(FakeHub::Sample, webhook, &review, now());
        assert!(
            plain.allowed || !said.allowed,
            "a review that is refused in plain JSON is refused in every form"
        );
        if review["request"]["resource"]["resource"] == webhook.resource() {
            laws(webhook, &review, &mut dice);
        } else {
            assert!(
                !plain.allowed,
                "a webhook of another resource refuses the review"
            );
        }
    }
}

/// The laws of a review that is for this webhook.
pub(crate) fn laws(webhook: Webhook, review: &Value, dice: &mut Rng) {
    let [sample, open, closed, silent] = [
        FakeHub::Sample,
        FakeHub::Open,
        FakeHub::Closed,
        FakeHub::Silent,
    ]
    .map(|hub| (hub, ask_json(hub, webhook, review, now())));
    answers_decide(&sample.1, &open.1, &closed.1, &silent.1);

    // The refusing hub that allows most.
    let refusing = [&open, &sample, &closed, &silent]
        .into_iter()
        .find(|(_, said)| !said.allowed);
    if let Some((hub, _)) = refusing {
        a_rewritten_review_stays_refused(*hub, webhook, review, dice);
    }
    a_longer_name_allows_nothing(webhook, review, [&sample, &open, &closed]);
    if sample.1.reason == "undecodable" {
        return;
    }
    the_order_of_keys_does_not_matter(webhook, review, &sample.1, dice);
    irrelevant_fields_do_not_matter(webhook, review, &sample.1);
    only_changes_are_checked(webhook, review);
    if webhook.mutates() {
        for (hub, said) in [&sample, &open, &closed, &silent] {
            if said.allowed {
                mutation::laws(*hub, review, &said.patch);
            }
        }
    }
}

/// More permissions never cause a refusal, and a missing answer never allows a change that the answer could refuse.
fn answers_decide(sample: &Said, open: &Said, closed: &Said, silent: &Said) {
    let all = [sample, open, closed, silent];
    let allowed = |said: &&Said| said.allowed;
    assert!(
        open.allowed || !all.iter().any(allowed),
        "more permissions do not cause a refusal"
    );
    assert!(
        !closed.allowed || all.iter().all(allowed),
        "fewer permissions do not allow more"
    );
    assert!(
        !silent.allowed || all.iter().all(allowed),
        "a change that is allowed without answers is allowed with any answers"
    );
    assert_eq!(
        silent.code == 500,
        open.allowed && !closed.allowed,
        "a review is undecided if and only if answers decide it: {}",
        silent.json
    );
    assert_eq!(
        sample.code == 400,
        open.code == 400,
        "answers do not make an object well-formed"
    );
    assert_eq!(
        sample.code == 400,
        closed.code == 400,
        "answers do not make an object malformed"
    );
}

fn a_rewritten_review_stays_refused(
    hub: FakeHub,
    webhook: Webhook,
    review: &Value,
    dice: &mut Rng,
) {
    let members = members(review);
    let mut styles = vec![
        Style {
            unknown_fields: true,
            ..Style::default()
        },
        Style {
            shuffled: true,
            unknown_fields: true,
            ..Style::default()
        },
    ];
    styles.extend((0..TWICE).map(|_| Style {
        twice: (members > 0).then(|| dice.usize(..members)),
        ..Style::default()
    }));
    for style in styles {
        let text = rewritten(review, style, dice);
        let said = ask(hub, webhook, text.as_bytes(), now());
        assert!(
            !said.allowed,
            "a rewritten review is allowed: {style:?}: {text}"
        );
    }
}

/// A longer name, which no rule and no object of the sample hub has, does not allow more.
fn a_longer_name_allows_nothing(webhook: Webhook, review: &Value, said: [&(FakeHub, Said); 3]) {
    let suffix = "-longer".repeat(40);
    if review["request"]["object"]["spec"]["clusterSet"]
        .as_str()
        .is_some_and(|set| set.ends_with(&suffix))
    {
        return;
    }
    let mut longer = review.clone();
    for name in [
        "/request/name",
        "/request/object/metadata/name",
        "/request/oldObject/metadata/name",
    ] {
        if let Some(Value::String(name)) = longer.pointer_mut(name)
            && !name.is_empty()
        {
            name.push_str(&suffix);
        }
    }
    for (hub, before) in said {
        // A refusal because of an object on the sample hub does not apply to another name.
        let for_the_object = before.reason == "reserved-name"
            || *hub == FakeHub::Sample && !["accept", "join", "bind"].contains(&before.reason);
        if !before.allowed && !for_the_object {
            let said = ask_json(*hub, webhook, &longer, now());
            assert!(
                !said.allowed,
                "a longer name is allowed after {}",
                before.json
            );
        }
    }
}

fn the_order_of_keys_does_not_matter(
    webhook: Webhook,
    review: &Value,
    said: &Said,
    dice: &mut Rng,
) {
    let style = Style {
        shuffled: true,
        ..Style::default()
    };
    let text = rewritten(review, style, dice);
    let shuffled = ask(FakeHub::Sample, webhook, text.as_bytes(), now());
    if said.json["response"]["auditAnnotations"]["outcome"] == "malformed" {
        // Of several fields of a wrong type the first one is named.
        let of = |said: &Said| (said.allowed, said.code, said.reason);
        return assert_eq!(of(&shuffled), of(said), "the order of keys: {text}");
    }
    assert_eq!(shuffled, *said, "the order of keys: {text}");
}

/// A dry run, the version of the review, and a deletionTimestamp on the submitted object do not matter.
fn irrelevant_fields_do_not_matter(webhook: Webhook, review: &Value, said: &Said) {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut review = review.clone();
        change(&mut review);
        ask_json(FakeHub::Sample, webhook, &review, now())
    };
    let dry = !review["request"]["dryRun"].as_bool().unwrap_or_default();
    let dry_run = changed(&|review| review["request"]["dryRun"] = dry.into());
    assert_eq!(dry_run, *said, "a dry run gets the same response");

    let beta = changed(&|review| review["apiVersion"] = json!("admission.k8s.io/v1beta1"));
    assert_eq!(
        beta.json["response"], said.json["response"],
        "both versions get the same response"
    );

    if review["request"]["object"]["metadata"].is_object() {
        let claim = changed(&|review| {
            review["request"]["object"]["metadata"]["deletionTimestamp"] =
                json!("2026-11-21T12:00:00Z");
        });
        assert_eq!(
            claim, *said,
            "only the stored object says that it is being deleted"
        );
    }
}

/// An object that is written back unchanged is neither refused nor patched, and an object that is being deleted is not refused for its
/// content, except that no cluster is accepted under a reserved name.
fn only_changes_are_checked(webhook: Webhook, review: &Value) {
    let object = &review["request"]["object"];
    let mut update = review.clone();
    update["request"]["operation"] = json!("UPDATE");
    let mut unchanged = update.clone();
    unchanged["request"]["oldObject"] = object.clone();
    for hub in [FakeHub::Closed, FakeHub::Silent] {
        let said = ask_json(hub, webhook, &unchanged, now());
        assert!(
            said.reason == "undecodable" || (said.allowed && said.patch.0.is_empty()),
            "an unchanged object was refused or patched: {}",
            said.json
        );
    }
    if webhook != Webhook::ValidateBinding && update["request"]["oldObject"]["metadata"].is_object()
    {
        update["request"]["oldObject"]["metadata"]["deletionTimestamp"] =
            json!("2026-11-21T12:00:00Z");
        let said = ask_json(FakeHub::Open, webhook, &update, now());
        let accepted = |object: &str| {
            update["request"][object]["spec"]["hubAcceptsClient"] == Value::Bool(true)
        };
        let is_refused_name =
            said.reason == "reserved-name" && accepted("object") && !accepted("oldObject");
        assert!(
            said.reason == "undecodable"
                || is_refused_name
                || (said.allowed && said.patch.0.is_empty()),
            "an object that is being deleted was checked: {}",
            said.json
        );
    }
}
